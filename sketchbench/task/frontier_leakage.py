"""The leakage of compressed messages at a budget of bytes: attacks on the images behind them."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.attack.compressed_message import PLACES, VICTIM, Place, Round, Sight, Unseen
from sketchbench.attack.message_property import MessageProperty, Observation
from sketchbench.attack.message_scene import Scene, draw_networks, draw_scene, pixels
from sketchbench.attack.stacked_inversion import Kind, StackedAttacks, Target
from sketchbench.compressor.budget import at_budget
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor
from sketchbench.compressor.message import byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.dataset.dataset import MakeDataset
from sketchbench.kernels import Kernels
from sketchbench.measure.image import Likeness
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, Natural, NonEmptyList, Positive, Probability, Several
from sketchbench.sketch.family import SizeError
from sketchbench.task.inversion import picture_columns

CHANCE = 0.5  # area under the ROC curve of a random guess
log = logging.getLogger(__name__)
_CONTROL: dict[tuple[Any, ...], list[Likeness]] = {}  # of the last setting in this process


class Found(NamedTuple):
    """The reconstructions of the best attack from one place.

    Attributes:
        likenesses: of the reconstruction to the victim's image, in each judged trial.
        images: the reconstructions, (trials, pixels).
        columns: of all rows about them.
    """

    likenesses: list[Likeness]
    images: NDArray[np.float64]
    columns: dict[str, Value]


@dataclass(frozen=True)
class LeakageJudging(Checked):
    """The thresholds of leakage, and the budgets of the study.

    Arguments:
        least: the PSNR less that of the mean image, in dB, from which on an image counts as recovered.
        control: the same threshold for the control without compression.
        told: the area under the ROC curve from which on a message is said to reveal the property.
        pictures: the number of trials whose images are kept.
        budgets: all compressions of the study; `at_budget` refuses messages that also fit a smaller budget.
    """

    least: Positive
    control: Positive
    told: Probability
    pictures: Natural
    budgets: NonEmptyList[Positive]


@dataclass(frozen=True)
class FrontierLeakage(Checked):
    """Attacks on the messages of the first round of `clients` clients, each of which computes one gradient at freshly
    drawn weights, and sends it by `compressor` in 1/`compression` of its bytes.

    Gradient inversion: each client has a batch of a single test image, the easiest case for an attacker, who also knows
    the label, the weights, the compressor, and the training images. The clients' images have different classes, unless
    there are more clients than classes. The rows are about one attack of `StackedAttacks` (column `attack`): the one
    with the highest mean PSNR in `choosing` further trials, so that the choice does not depend on the judged trials.
    Rows by `case`, the place from which the first client's image is attacked (`server`, `sum`, `another client` or
    `eavesdropper`; see `compressed_message.Round.sight`), with `bytes_seen`:

    - `psnr` (dB), `ssim`: of the reconstruction; the case `mean image` is the mean of the training images.
    - `lead`: mean PSNR less that of the mean image, in dB; bound: 0.
    - `beyond`: mean of the lead less `judging.least`, in dB; bound: 0.
    - `leaks`: in how many trials the lead is below `judging.least`; few if the median trial leaks; bound: 1/2.
    - `hidden`: in how many trials the lead is above `judging.least`; few if the median trial hides the image; bound:
      1/2.
    - `picture`: the images of the first trials, and the server's reconstructions; the value is the PSNR.

    The column `positive_control` has the number of trials in which gradient matching recovers the image from the
    client's uncompressed message, with a lead above `judging.control`.

    Property inference (`inference`): the attacker tells whether a client's batch has images of certain classes only.
    Rows by `case`, `server` and `sum`:

    - `property_auc`: mean area under the ROC curve; exact: 1/2, the area without knowledge.
    - `untold`: in how many trials the area is below `judging.told`; bound: 1/2.

    If messages don't add up, the sum has a single row `psnr` with the status `refused`; if the compressor refuses the
    budget (see `compressor.budget`), so has the whole task.

    Arguments:
        compressor: makes the compressor from `layout` and `limit`.
        compression: bytes of the dense float32 update over bytes of the budget.
        choosing: trials that choose the attack.
        trials: trials that are judged.
    """

    compressor: MakeCompressor
    compression: Positive
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    clients: Several
    attacks: StackedAttacks
    inference: MessageProperty
    judging: LeakageJudging
    choosing: Several
    trials: Several

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.judging.pictures > self.trials:
            raise ValueError(f"pictures={self.judging.pictures} must be <= trials={self.trials}")

    def run(self) -> list[Row]:
        layout = self._scene.networks.layout
        try:
            compressor = at_budget(self.compressor, layout, self.compression, self.judging.budgets)
        except SizeError as error:
            return [Row("psnr", compression=self.compression).without_number("refused", str(error))]
        rows = [*self._inversion_rows(compressor), *self._inference_rows(compressor)]
        return [row.replace(compression=self.compression) for row in rows]

    @property
    def _setting(self) -> tuple[Any, ...]:
        """The fields that determine the scene and the attack on it without compression, beside the data."""
        return (self.seed, self.model, self.clients, self.attacks, self.choosing, self.trials)

    @cached_property
    def _scene(self) -> Scene:
        """The networks and images, the same for all compressors: first `choosing` trials, then the judged ones."""
        return draw_scene(self.dataset(), self.model, self.seed, self.clients, self.choosing + self.trials)

    @property
    def _judged(self) -> slice:
        return slice(self.choosing, None)

    def _at(self, purpose: str, trials: int) -> At:
        return At(self.kernels, seeds.key(self.seed, task="leakage", purpose=purpose), 0, trials)

    def _inversion_rows(self, compressor: Compressor) -> Iterator[Row]:
        """The rows of gradient inversion."""
        scene = self._scene
        mean = pixels(scene.prior.mean.expand(self.trials, *scene.data.shape))
        guesses = scene.likenesses(mean, self._judged)
        yield from _likenesses({"case": "mean image"}, guesses)
        yield from self._pictures("original", pixels(scene.images[self._judged, VICTIM]))
        key = (repr(self._setting), scene.data.digest, self.kernels.NAME)
        if key not in _CONTROL:  # a fifth of the time, the same for all compressors
            _CONTROL.clear()
            _CONTROL[key] = self._control()
        control = int((_leads(_CONTROL[key], guesses) > self.judging.control).sum())
        results: dict[Place, Found] = {}
        watched = self._round(compressor)
        for place in PLACES:
            if place == "eavesdropper" and not compressor.keyed:  # without a key it knows all that the server does
                results[place] = results["server"]
            else:
                try:
                    results[place] = self._attack(compressor, watched.sight(place))
                except Unseen as reason:
                    yield Row("psnr", case=place).without_number("refused", str(reason))
                    continue
            yield from self._rows(place, results[place], guesses, control)
        yield from self._pictures("server", results["server"].images)

    def _round(self, compressor: Compressor) -> Round:
        """The round of all trials, with gradients of the networks that the compressor projects."""
        at = self._at("round", len(self._scene.images))
        networks = self._scene.networks.with_projections(compressor.projections(at), self.kernels)
        return Round(compressor, at, self.kernels.asarray(self._scene.updates(networks)))

    def _target(self, compressor: Compressor, sight: Sight) -> Target:
        """The input of the attacks on a sight."""
        scene = self._scene
        networks = scene.networks.with_projections(compressor.projections(sight.at), self.kernels)
        seed = seeds.key(self.seed, attack="inversion")
        labels = scene.labels[:, sight.clients]
        return Target(sight, networks, labels, scene.prior, seed, compressor, scene.public)

    def _attack(self, compressor: Compressor, sight: Sight) -> Found:
        """Run all attacks; returns the judged reconstructions of the best attack in the `choosing` trials."""
        scene, learning = self._scene, slice(0, self.choosing)
        several = self.attacks.run(self._target(compressor, sight))
        images = {kind: pixels(one[:, VICTIM]) for kind, one in several.items()}

        def merit(kind: Kind) -> float:
            return float(np.mean([one.psnr for one in scene.likenesses(images[kind][learning], learning)]))

        best = max(images, key=merit)
        found = images[best][self._judged]
        columns: dict[str, Value] = {
            "attack": best,
            "bytes_seen": sight.nbytes,
            "observed": sight.seen.shape[1],
            "pixels": found.shape[1],
        }
        return Found(scene.likenesses(found, self._judged), found, columns)

    def _control(self) -> list[Likeness]:
        """The likenesses of gradient matching's reconstructions without compression, in the judged trials."""
        layout = self._scene.networks.layout
        plain = Plain(layout, byte_limit(layout, 1))
        target = self._target(plain, self._round(plain).sight("server"))
        found = self.attacks.match_gradients(target, self.attacks.find_most_likely(target))
        return self._scene.likenesses(pixels(found[self._judged, VICTIM]), self._judged)

    def _rows(self, place: Place, found: Found, guesses: list[Likeness], control: int) -> Iterator[Row]:
        columns: dict[str, Value] = {"case": place, **found.columns}
        leads = _leads(found.likenesses, guesses)
        log.info("%s: lead %.1f dB by %s", place, leads.mean(), found.columns["attack"])
        yield from _likenesses(columns, found.likenesses)
        columns["positive_control"] = control
        yield Row("lead", bound=0.0, **columns).mean(leads)
        yield Row("beyond", bound=0.0, **columns).mean(leads - self.judging.least)
        yield Row("leaks", bound=MEDIAN, **columns).counted((leads < self.judging.least).sum(), self.trials)
        yield Row("hidden", bound=MEDIAN, **columns).counted((leads > self.judging.least).sum(), self.trials)

    def _inference_rows(self, compressor: Compressor) -> Iterator[Row]:
        """The rows of property inference, in the networks of the judged trials."""
        data, at = self._scene.data, self._at("property", self.trials)
        networks = draw_networks(data, self.model, self.seed, range(self.choosing, self.choosing + self.trials))
        networks = networks.with_projections(compressor.projections(at), self.kernels)
        random = seeds.generator(self.seed, data="property")
        areas = self.inference.areas(Observation(compressor, networks, at, self.clients), data, random)
        for observed, values in areas.items():
            yield Row("property_auc", case=observed, exact=CHANCE).mean(values)
            missed = int((np.array(values) < self.judging.told).sum())
            yield Row("untold", case=observed, bound=MEDIAN).counted(missed, self.trials)

    def _pictures(self, case: str, images: NDArray[np.float64]) -> Iterator[Row]:
        """The rows `picture` of the first trials, from the images of all judged trials (trials, pixels)."""
        likenesses = self._scene.likenesses(images, self._judged)
        for trial in range(self.judging.pictures):
            columns = picture_columns(images[trial].reshape(self._scene.data.shape))
            yield Row("picture", case=case, trial=trial, **columns).number(likenesses[trial].psnr)


def _leads(found: list[Likeness], guesses: list[Likeness]) -> NDArray[np.float64]:
    return np.array([one.psnr - guess.psnr for one, guess in zip(found, guesses, strict=True)])


def _likenesses(columns: dict[str, Value], likenesses: list[Likeness]) -> Iterator[Row]:
    for quantity in ("psnr", "ssim"):
        yield Row(quantity, **columns).mean([getattr(one, quantity) for one in likenesses])
