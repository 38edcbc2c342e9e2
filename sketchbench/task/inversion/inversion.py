"""Gradient inversion: attacks that reconstruct a single image from a party's view of a training step."""

import base64
import dataclasses
import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sketchbench.attack.attempt import Attempt, attempt, draw_victim, pixels
from sketchbench.attack.inversion import Inversion
from sketchbench.attack.prior import Prior, learn_prior
from sketchbench.attack.victim import Victim
from sketchbench.attack.view import MakeView
from sketchbench.base import seeds
from sketchbench.base.course import WHOLE, Course
from sketchbench.base.parameters import AtLeastTwo, Checked, Natural, NonNegative, Positive
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import Dataset, MakeDataset
from sketchbench.learning.model.autograd import device_of
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.image import Likeness, likeness
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.sketch.family import Family, require
from sketchbench.task.repeated import Repeated, Values

Columns = Mapping[str, Value]  # columns of a row
log = logging.getLogger(__name__)


class Case(NamedTuple):
    """A view that is attacked in every trial."""

    name: str  # of the view, or `control`
    make: MakeView  # makes the view of a victim
    family: Family  # of the protocol's sketches
    columns: Columns  # of all rows of the case
    still: bool = False  # whether the attack stays at its start: a control without pictures and likenesses


@dataclass(frozen=True)
class Assessment(Checked):
    """The thresholds by which attempts are judged, and the number of kept images."""

    level: float  # the PSNR from which on an attempt is a success, in dB
    gain: NonNegative  # an attempt beats the mean image if its PSNR is so many dB above the mean image's
    allowed_effort: Positive  # the ratio of evaluations to the control's that an attempt may take
    matched: Positive  # the loss, relative to ‖observed‖², up to which the observation counts as matched
    pictures: Natural  # the number of trials whose images are kept

    def reached(self, attempts: Sequence[Attempt]) -> int:
        """The number of attempts that succeeded."""
        return sum(one.likeness.psnr >= self.level for one in attempts)

    def better(self, attempts: Sequence[Attempt], guesses: Sequence[Likeness]) -> int:
        """The number of attempts that are better than the mean image, whose likenesses are `guesses`."""
        pairs = zip(attempts, guesses, strict=True)
        return sum(one.likeness.psnr >= guess.psnr + self.gain for one, guess in pairs)

    def laborious(self, one: Attempt, plain: Attempt) -> bool:
        """Return whether an attempt failed, or took too many evaluations beside the control `plain`."""
        return one.likeness.psnr < self.level or one.evaluations > self.allowed_effort * plain.evaluations


@dataclass(frozen=True)
class ImageInversion(Checked, Repeated):
    """An attack on views of `trials` training steps, each with random weights and a test image, and on `control`. The
    control is a view of the same steps without a defence.

    Rows by `case`, the name of the view or `control`:

    - `mse`, `psnr` (dB), `ssim`: means over the reconstructions; also of the mean training image (case `mean image`).
    - `evaluations`, `starts`: mean numbers of gradient evaluations over all starts, and of starts.
    - `seconds`: mean run time on this machine.
    - `picture`: the images of the first trials as bytes in base64, also of the cases `original` and `mean image`; the
      value is the PSNR.

    Counts of trials, with the bound 1/2, for a probability, as they are about the median trial:

    - `failure`: the PSNR is below `assessment.level`.
    - `better`: the PSNR exceeds that of the mean training image, a guess without a view, by at least `assessment.gain`.
      `hidden`: it does not.
    - `effort`: the attack failed, or took more than `assessment.allowed_effort` times the evaluations of the control.
    - `unmatched`: the loss is above `assessment.matched`.

    Their column `positive_control` has the number of trials in which the attack on the control reaches the level, or,
    for `better` and `hidden`, is better than the mean image: if it is small, the attack is too weak to judge a defence.

    A run can stop between trials when its time limit has passed, but not within a trial.
    """

    family: Family  # of the protocols' sketches
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    attack: Inversion
    control: MakeView  # makes the view without a defence
    views: dict[str, MakeView]  # make the views, by name
    trials: AtLeastTwo  # number of training steps
    assessment: Assessment  # the thresholds of the counts
    course: Course = field(default=WHOLE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        d, b = self.family.d, self.family.b
        require(b <= d, f"sketch size b={b} must be <= d={d}: b/d is the share of what is seen")
        if self.assessment.pictures > self.trials:
            raise ValueError(f"pictures={self.assessment.pictures} must be <= trials={self.trials}")

    def trial(self, number: int) -> Values:
        """Attack all cases of a trial; return the attempts, the likeness of the mean image, and the kept images."""
        data = self._data
        victim = draw_victim(data, self.model, self.kernels, self.seed, trial=number)
        truth = pixels(victim.samples.images[0])
        mean = data.features(data.train).mean(axis=0).reshape(data.shape)
        guess = likeness(mean, truth)
        return {
            "cases": [self._attack(case, victim, number) for case in self._cases(victim)],
            "mean image": {"likeness": [*guess], **self._picture(mean, number)},
            "original": {"likeness": [*likeness(truth, truth)], **self._picture(truth, number)},
            **self._further(victim, number),
        }

    def rows(self, values: Sequence[Values]) -> list[Row]:
        guesses = [Likeness(*one["mean image"]["likeness"]) for one in values]
        pictures = [row for case in ("original", "mean image") for row in _pictures({"case": case}, case, values)]
        control = _attempts(values, 0)
        rows: list[Row] = []
        for position, case in enumerate(values[0]["cases"]):
            columns, attempts = case["columns"], _attempts(values, position)
            rows += self._counts(columns, attempts, control, guesses)
            if not case["still"]:
                rows += self._means(columns, attempts)
                pictures += _pictures(columns, position, values)
        rows += _likenesses({"case": "mean image"}, guesses)
        return [*rows, *self._further_rows(values), *pictures]

    @functools.cached_property
    def _data(self) -> Dataset:
        return self.dataset()

    @functools.cached_property
    def _prior(self) -> Prior | None:
        """The attacker's prior, learnt from the training images; victims have test images."""
        if not self.attack.uses_prior:
            return None
        data = self._data
        images = data.features(data.train).reshape(-1, *data.shape)
        return learn_prior(images, torch.zeros(1, dtype=torch.float64, device=device_of(self.kernels)))

    def _cases(self, victim: Victim) -> Iterator[Case]:
        yield Case("control", self.control, self.family, {})
        yield from self._defences(victim)

    def _defences(self, victim: Victim) -> Iterator[Case]:
        """The cases beside the control."""
        for name, make in self.views.items():
            yield Case(name, make, self.family, {})

    def _further(self, victim: Victim, number: int) -> Values:
        """Further values of a trial, which subclasses measure."""
        return {}

    def _further_rows(self, values: Sequence[Values]) -> list[Row]:
        return []

    def _attack(self, case: Case, victim: Victim, number: int) -> Values:
        """Attack one case; return the attempt, and the columns of all rows of the case."""
        axes: dict[str, int | str] = {"trial": number, "family": repr(case.family), "case": case.name}
        view = case.make(victim, case.family, self.kernels, seeds.key(self.seed, **axes))
        start = seeds.key(self.seed, attack="inversion", trial=number)
        view = dataclasses.replace(view, prior=self._prior)
        one = attempt(self.attack, view, victim, start, still=case.still)
        log.info("trial %d: %s %s: PSNR %.1f dB", number, case.name, dict(case.columns), one.likeness.psnr)
        sizes = {
            "observed": view.observed.numel(),
            "pixels": int(np.prod(view.shape)),
            "bytes_seen": view.nbytes,
        }
        assert one.image is not None
        return {
            "columns": {"case": case.name, **case.columns, **view.facts, **sizes},
            "still": case.still,
            **one._replace(image=None)._asdict(),
            "likeness": [*one.likeness],
            **self._picture(one.image, number),
        }

    def _means(self, columns: Columns, attempts: list[Attempt]) -> Iterator[Row]:
        yield from _likenesses(columns, [one.likeness for one in attempts])
        for quantity in ("evaluations", "starts", "seconds"):
            yield Row(quantity, **columns).mean([getattr(one, quantity) for one in attempts])

    def _counts(
        self, columns: Columns, attempts: list[Attempt], control: list[Attempt], guesses: list[Likeness]
    ) -> Iterator[Row]:
        judge = self.assessment
        efforts = zip(attempts, control, strict=True)
        better = judge.better(attempts, guesses)
        reaches, sees = judge.reached(control), judge.better(control, guesses)
        counts = {
            "failure": (len(attempts) - judge.reached(attempts), reaches),
            "better": (better, sees),
            "hidden": (len(attempts) - better, sees),
            "effort": (sum(judge.laborious(one, plain) for one, plain in efforts), reaches),
            "unmatched": (sum(one.loss > judge.matched for one in attempts), reaches),
        }
        for quantity, (count, works) in counts.items():
            yield Row(quantity, **columns, bound=MEDIAN, positive_control=works).counted(count, len(attempts))

    def _picture(self, image: NDArray[np.float64], number: int) -> Values:
        """The columns of the row `picture`, if the images of this trial are kept."""
        if number >= self.assessment.pictures:
            return {}
        return {"picture": {"trial": number, **picture_columns(image)}}


def picture_columns(image: NDArray[np.float64]) -> dict[str, str]:
    """The columns of an image (channels, height, width) in [0, 1]: its shape, and its pixels as bytes in base64."""
    levels = np.round(255 * image).astype(np.uint8)
    picture = base64.b64encode(levels.tobytes()).decode()
    return {"shape": "x".join(map(str, levels.shape)), "picture": picture}


def _attempts(values: Sequence[Values], position: int) -> list[Attempt]:
    cases = [one["cases"][position] for one in values]
    plain = [{name: case[name] for name in Attempt._fields} for case in cases]
    return [Attempt(**{**one, "likeness": Likeness(*one["likeness"])}) for one in plain]


def _pictures(columns: Columns, place: str | int, values: Sequence[Values]) -> Iterator[Row]:
    """The rows `picture` of a case: `place` is its position, or `original` or `mean image`."""
    for one in values:
        shown = one["cases"][place] if isinstance(place, int) else one[place]
        if "picture" in shown:
            yield Row("picture", **columns, **shown["picture"]).number(Likeness(*shown["likeness"]).psnr)


def _likenesses(columns: Columns, likenesses: list[Likeness]) -> Iterator[Row]:
    for quantity in Likeness._fields:
        yield Row(quantity, **columns).mean([getattr(one, quantity) for one in likenesses])
