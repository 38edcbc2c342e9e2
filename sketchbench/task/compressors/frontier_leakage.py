"""The leakage of compressed messages at a budget of bytes: attacks on the images behind them."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sketchbench.attack.compressed_message import PLACES, VICTIM, Place, Sight, WatchedRounds
from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.attack.labels import read_labels
from sketchbench.attack.lens import Unseen
from sketchbench.attack.message_property import MessageProperty, Observation, Updates
from sketchbench.attack.message_scene import Scene, draw_networks, draw_scene, pixels
from sketchbench.attack.stacked_inversion import CLASS_MEAN, KNOWS, Kind, StackedAttacks
from sketchbench.attack.target import Target
from sketchbench.base import seeds
from sketchbench.base.kept import Kept
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Natural, NonEmptyList, Positive, Probability
from sketchbench.compressor import traits
from sketchbench.compressor.budget import at_budget
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.dataset.dataset import Dataset, MakeDataset
from sketchbench.learning.model.networks import MakeModel, initialise
from sketchbench.measure.image import Likeness
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.sketch.family import SizeError
from sketchbench.task.inversion.inversion import picture_columns

PICTURED: tuple[Place, ...] = ("server", "sum")  # the places whose reconstructions are kept
CHANCE = 0.5  # area under the ROC curve of a random guess
log = logging.getLogger(__name__)


class Found(NamedTuple):
    """The reconstructions of the best attack from one place, after some rounds. The lead of an attack is its PSNR minus
    that of the class mean, in dB."""

    images: NDArray[np.float64]  # the reconstructions, (trials, pixels)
    leads: dict[Kind, NDArray[np.float64]]  # of each attack in each judged trial
    read_rightly: NDArray[np.bool_]  # whether the messages show the label of a single image, (trials,)
    columns: dict[str, Value]  # of all rows about them

    @property
    def lead(self) -> NDArray[np.float64]:
        """Lead of the best attack in dB, (trials,)."""
        return self.leads[cast(Kind, self.columns["attack"])]


class Shared(NamedTuple):
    """The parts common to all compressors, made once in a process: nearly half of the time. The scene has first
    `choosing` trials, then the judged trials; none of them was seen while the attacks were developed."""

    scene: Scene  # the networks and images
    networks: DenseNetworks  # of property inference, in the judged trials
    updates: Updates  # of property inference
    control: int  # the judged trials with an uncompressed lead above `judging.control`


_SHARED = Kept[tuple[str, str, str], Shared](1)


@dataclass(frozen=True)
class LeakageJudging(Checked):
    """The thresholds of leakage, and the budgets of the study."""

    least: Positive  # the lead over the class mean, in dB, from which on an image counts as visible
    control: Positive  # the same threshold for the control without compression
    told: Probability  # the area under the ROC curve from which on a message reveals the property
    pictures: Natural  # the number of trials whose images are kept
    budgets: NonEmptyList[Positive]  # all compressions of the study; `at_budget` refuses any that fit a smaller budget


@dataclass(frozen=True)
class FrontierLeakage(Checked):
    """Attacks on the messages of the first rounds of `clients` clients. Each client computes one gradient at random
    weights, the same in each round, and sends it by `compressor` in 1/`compression` of its bytes.

    Gradient inversion: each client has a batch of a single test image, the easiest case for an attacker, who also knows
    the label, the weights, the compressor, and the training images. The clients' images have different classes, unless
    there are more clients than classes. Without a message, the attacker knows the class mean: the mean training image
    of the label's class. The lead of an attack is its PSNR minus that of the class mean. The rows are about one attack
    of `StackedAttacks` (column `attack`): the attack with the highest mean PSNR in `choosing` further trials, so the
    choice does not depend on the judged trials. Rows by `case`, the place from which the first client's image is
    attacked (`server`, `sum`, `another client` or `eavesdropper`; see `WatchedRounds.sights`), and by `round`, the
    number of observed rounds, with `bytes_seen`:

    - `psnr` (dB), `ssim`: of the reconstruction, after one round; the cases `mean image` and `class mean` are guesses.
    - `lead`: mean lead, in dB; bound: 0.
    - `beyond`: mean of the lead minus `judging.least`, in dB; bound: 0.
    - `own_lead`: the mean lead of each attack.
    - `hidden`: the number of trials in which the image has not been visible, with a lead of `judging.least`, after this
      or any smaller number of rounds; few if it is visible in the median trial; bound: 1/2.
    - `visible`: the number of trials in which it has been visible; few if it is not in the median trial; bound: 1/2.
    - `visible_unlabelled`: the same for a server that reads the label from the messages, by `read_labels`. An image
      whose label is read wrongly does not count as visible, so the number is a lower bound.
    - `until`: the median of the rounds until the image is visible; `unfinished` if it is not within the most `rounds`.
    - `picture`: the images of the first trials, and the reconstructions by the server and from the sum; the value is
      the PSNR.

    An attack ends when all images have been visible, or messages repeat: `hidden` and `visible` then stay constant.

    The column `positive_control` has the number of trials in which the most likely image of its class, given the
    client's uncompressed message, has a lead above `judging.control`.

    Property inference (`inference`): the attacker decides whether a client's batch has images of certain classes only.
    Rows by `case`, `server` and `sum`:

    - `property_auc`: mean area under the ROC curve; exact: 1/2, the area without knowledge.
    - `untold`: the number of trials with an area below `judging.told`; bound: 1/2.

    If messages don't add up, the sum has a single row `psnr` with the status `refused`; if the compressor refuses the
    budget (see `compressor.budget`), so has the whole task.
    """

    compressor: MakeCompressor  # makes the compressor from `layout` and `limit`
    compression: Positive  # bytes of the dense float32 update over bytes of the budget
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    clients: AtLeastTwo
    attacks: StackedAttacks
    inference: MessageProperty
    judging: LeakageJudging
    rounds: dict[str, list[Count]]  # by place, the numbers of observed rounds, ascending from 1
    choosing: AtLeastTwo  # trials that choose the attack
    trials: AtLeastTwo  # judged trials

    def __post_init__(self) -> None:
        super().__post_init__()
        for place in PLACES:
            several = self.rounds.get(place, [])
            if several != sorted({1, *several}):
                raise ValueError(f"rounds={dict(self.rounds)} must ascend from 1 for {place}")
        if self.judging.pictures > self.trials:
            raise ValueError(f"pictures={self.judging.pictures} must be <= trials={self.trials}")

    def run(self) -> list[Row]:
        layout = self._layout
        try:
            compressor = at_budget(self.compressor, layout, self.compression, self.judging.budgets)
        except SizeError as error:
            return [Row("psnr", compression=self.compression).without_number("refused", str(error))]
        rows = [*self._inversion_rows(compressor), *self._inference_rows(compressor)]
        return [row.replace(compression=self.compression) for row in rows]

    @cached_property
    def _data(self) -> Dataset:
        return self.dataset()

    @property
    def _layout(self) -> Layout:
        network = initialise(lambda: self.model(shape=self._data.shape, classes=self._data.classes), 0)
        return DenseNetworks([network]).layout

    @cached_property
    def _shared(self) -> Shared:
        setting = (self.seed, self.model, self.clients, self.attacks, self.choosing, self.trials, self.judging)
        return _SHARED.of((repr((*setting, self.inference)), self._data.digest, self.kernels.NAME), self._share)

    def _share(self) -> Shared:
        seed = seeds.key(self.seed, task="leakage", trials="judged")
        scene = draw_scene(self._data, self.model, seed, self.clients, self.choosing + self.trials)
        networks = draw_networks(self._data, self.model, self.seed, range(self.choosing, self.choosing + self.trials))
        return Shared(scene, networks, self._updates(networks), self._control(scene))

    @property
    def _scene(self) -> Scene:
        return self._shared.scene

    @property
    def _judged(self) -> slice:
        return slice(self.choosing, None)

    def _at(self, purpose: str, trials: int) -> At:
        return At(self.kernels, seeds.key(self.seed, task="leakage", purpose=purpose), 0, trials)

    def _inversion_rows(self, compressor: Compressor) -> Iterator[Row]:
        scene, control = self._scene, self._shared.control
        yield from _likenesses({"case": "mean image"}, scene.likenesses(self._mean_images, self._judged))
        yield from _likenesses({"case": "class mean"}, scene.likenesses(self._class_means, self._judged))
        yield from self._pictures({"case": "original"}, pixels(scene.images[self._judged, VICTIM]))
        watched, rows = self._watch(scene, compressor), dict[Place, list[Row]]()
        for place in PLACES:
            if place == "eavesdropper" and not traits.keyed(compressor):  # it knows as much as the server
                own = ("picture", "visible_unlabelled")  # of the server alone
                rows[place] = [row.replace(case=place) for row in rows["server"] if row["quantity"] not in own]
            else:
                try:
                    rows[place] = list(self._place_rows(compressor, watched, place, control))
                except Unseen as reason:
                    rows[place] = [Row("psnr", case=place).without_number("refused", str(reason))]
            yield from rows[place]

    def _place_rows(self, compressor: Compressor, watched: WatchedRounds, place: Place, control: int) -> Iterator[Row]:
        """The rows of one place, from the first round to the last."""
        until, unlabelled = np.full((2, self.trials), np.inf)
        found, seen, done = None, 0, False
        for number in self.rounds[place]:
            if not done:
                sights = watched.sights(place, number)
                done = found is not None and len(sights) == seen and place != "another client"
                seen = len(sights)
            if not done:
                found = self._attack(compressor, sights)
                now = found.lead >= self.judging.least
                until = np.where(now, np.minimum(until, number), until)
                unlabelled = np.where(now & found.read_rightly, np.minimum(unlabelled, number), unlabelled)
                done = bool(np.isfinite(until).all())
                yield from self._rows(place, number, found, control)
                log.info("%s, %d rounds: lead %.1f dB by %s", place, number, found.lead.mean(), found.columns["attack"])
            columns: dict[str, Value] = {"case": place, "round": number, "positive_control": control}
            visible = int((until <= number).sum())
            yield Row("hidden", bound=MEDIAN, **columns).counted(self.trials - visible, self.trials)
            yield Row("visible", bound=MEDIAN, **columns).counted(visible, self.trials)
            if place == "server":
                count = int((unlabelled <= number).sum())
                yield Row("visible_unlabelled", **columns).counted(count, self.trials)
        median = float(np.sort(until)[(self.trials - 1) // 2])
        row, most = Row("until", case=place), self.rounds[place][-1]
        reason = f"not visible in the median trial after {most} rounds"
        yield row.number(median) if median <= most else row.without_number("unfinished", reason, self.trials)

    def _networks(self, networks: DenseNetworks, compressor: Compressor, at: At) -> DenseNetworks:
        """The networks that compute a round's gradients: the same object if the compressor projects nothing."""
        projections = traits.projections(compressor, at)
        if all(one is None for one in projections):
            return networks
        return networks.with_projections(projections, self.kernels)

    def _watch(self, scene: Scene, compressor: Compressor) -> WatchedRounds:
        made: dict[int, Array] = {}  # once if nothing is projected

        def updates(at: At) -> Array:
            networks = self._networks(scene.networks, compressor, at)
            if networks is not scene.networks:
                return self.kernels.asarray(scene.updates(networks))
            if not made:
                made[0] = self.kernels.asarray(scene.updates(networks))
            return made[0]

        return WatchedRounds(compressor, self._at("round", len(scene.images)), updates)

    def _target(self, scene: Scene, compressor: Compressor, sights: list[Sight]) -> Target:
        networks = [self._networks(scene.networks, compressor, sight.at) for sight in sights]
        labels, seed = scene.labels[:, sights[0].clients], seeds.key(self.seed, attack="inversion")
        return Target(sights, networks, labels, scene.prior, scene.classes, seed, compressor, scene.public)

    @cached_property
    def _mean_images(self) -> NDArray[np.float64]:
        """The mean training image for each judged trial."""
        scene = self._scene
        return pixels(scene.prior.mean.expand(self.trials, *scene.data.shape))

    @cached_property
    def _class_means(self) -> NDArray[np.float64]:
        """The mean training image of the class, for each judged trial."""
        return self._guesses(self._scene)

    def _guesses(self, scene: Scene) -> NDArray[np.float64]:
        return pixels(scene.classes.means[scene.labels[self._judged, VICTIM]])

    def _leads(self, images: NDArray[np.float64]) -> NDArray[np.float64]:
        """The leads of the reconstructions (trials, pixels) in the judged trials, in dB."""
        return self._scene.psnrs(images, self._judged) - self._guess

    @cached_property
    def _guess(self) -> NDArray[np.float64]:
        """The PSNRs of the class means, in the judged trials."""
        return self._scene.psnrs(self._class_means, self._judged)

    def _attack(self, compressor: Compressor, sights: list[Sight]) -> Found:
        """Run all attacks; return the judged reconstructions of the best attack in the `choosing` trials."""
        scene, learning = self._scene, slice(0, self.choosing)
        target, truth = self._target(scene, compressor, sights), scene.images[:, sights[0].clients]
        several = self.attacks.run(target)
        failed = target.failed(several.values(), truth)[self._judged]
        read = np.zeros(self.trials, dtype=bool)
        if target.labels.shape[1] == 1:
            read = (read_labels(target) == target.labels)[self._judged, VICTIM].numpy()
        images = {kind: pixels(one[:, VICTIM]) for kind, one in several.items()}

        def merit(kind: Kind) -> float:
            return float(scene.psnrs(images[kind][learning], learning).mean())

        best = max(images, key=merit)
        found = images[best][self._judged]
        columns: dict[str, Value] = {
            "attack": best,
            "knows": KNOWS[best],
            "bytes_seen": sum(sight.nbytes for sight in sights),
            "observed": sum(sight.seen.shape[1] for sight in sights),
            "pixels": found.shape[1],
            "optimiser_failed": int(failed.sum()),
        }
        leads = {kind: self._leads(one[self._judged]) for kind, one in images.items()}
        return Found(found, leads, read, columns)

    def _control(self, scene: Scene) -> int:
        """Count the judged trials in which the uncompressed attack's lead exceeds `judging.control`."""
        layout = scene.networks.layout
        plain = Plain(layout, byte_limit(layout, 1))
        target = self._target(scene, plain, self._watch(scene, plain).sights("server", 1))
        found = self.attacks.find_most_likely(target, target.classes.of(target.labels))
        judged = pixels(found[self._judged, VICTIM])
        leads = scene.psnrs(judged, self._judged) - scene.psnrs(self._guesses(scene), self._judged)
        return int((leads > self.judging.control).sum())

    def _rows(self, place: Place, number: int, found: Found, control: int) -> Iterator[Row]:
        columns: dict[str, Value] = {"case": place, "round": number, **found.columns}
        if number == 1:
            yield from _likenesses(columns, self._scene.likenesses(found.images, self._judged))
        yield Row("lead", bound=0.0, **columns, positive_control=control).mean(found.lead)
        yield Row("beyond", bound=0.0, **columns, positive_control=control).mean(found.lead - self.judging.least)
        for kind, leads in found.leads.items():
            if kind != CLASS_MEAN:
                yield Row("own_lead", case=place, round=number, attack=kind, knows=KNOWS[kind]).mean(leads)
        if place in PICTURED:
            yield from self._pictures({"case": place, "round": number}, found.images)

    def _inference_rows(self, compressor: Compressor) -> Iterator[Row]:
        at, networks = self._at("property", self.trials), self._shared.networks
        projected = self._networks(networks, compressor, at)
        updates = self._shared.updates if projected is networks else self._updates(projected)
        areas = self.inference.areas(Observation(compressor, at), updates)
        for observed, values in areas.items():
            yield Row("property_auc", case=observed, exact=CHANCE).mean(values)
            missed = int((np.array(values) < self.judging.told).sum())
            yield Row("untold", case=observed, bound=MEDIAN).counted(missed, self.trials)

    def _updates(self, networks: DenseNetworks) -> Updates:
        """Updates for property inference, with the same batches for all networks."""
        random = seeds.generator(self.seed, data="property")
        return self.inference.updates(networks, self.clients, self._data, random)

    def _pictures(self, setting: dict[str, Value], images: NDArray[np.float64]) -> Iterator[Row]:
        """The rows `picture` of the first trials, from the images of all judged trials (trials, pixels)."""
        psnrs = self._scene.psnrs(images, self._judged)
        for trial in range(self.judging.pictures):
            columns = picture_columns(images[trial].reshape(self._scene.data.shape))
            yield Row("picture", trial=trial, **setting, **columns).number(float(psnrs[trial]))


def _likenesses(columns: dict[str, Value], likenesses: list[Likeness]) -> Iterator[Row]:
    for quantity in ("psnr", "ssim"):
        yield Row(quantity, **columns).mean([getattr(one, quantity) for one in likenesses])
