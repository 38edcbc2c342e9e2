"""Gradient inversion: what attacks recover of single images from what a party sees."""

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

from sketchbench import seeds
from sketchbench.attack.attempt import Attempt, attempt, draw_victim, pixels
from sketchbench.attack.inversion import Inversion
from sketchbench.attack.prior import Prior, learn_prior
from sketchbench.attack.victim import Victim
from sketchbench.attack.view import MakeView
from sketchbench.dataset.dataset import Dataset, MakeDataset
from sketchbench.kernels import Kernels
from sketchbench.measure.image import Likeness, likeness
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.model.autograd import device_of
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, Natural, NonNegative, Positive, Several
from sketchbench.run.course import WHOLE, Course
from sketchbench.sketch.family import Family, require
from sketchbench.task.repeated import Repeated, Values

Columns = Mapping[str, Value]  # of a row
log = logging.getLogger(__name__)


class Case(NamedTuple):
    """What is attacked in every trial.

    Attributes:
        name: of the view, or `control`.
        make: makes the view of a victim.
        family: the sketches of the protocol.
        columns: of all rows of the case.
        still: whether nothing is done: a negative control, of which nothing is shown.
    """

    name: str
    make: MakeView
    family: Family
    columns: Columns
    still: bool = False


@dataclass(frozen=True)
class Assessment(Checked):
    """How the recovered images are judged, and how many are kept.

    Arguments:
        level: PSNR of a success, in dB.
        gain: PSNR over that of the mean image, in dB, from which on an image is better than that.
        allowed_effort: evaluations relative to those of the control.
        matched: loss relative to ‖observed‖², up to which what was seen is matched.
        pictures: the number of trials whose images are kept.
    """

    level: float
    gain: NonNegative
    allowed_effort: Positive
    matched: Positive
    pictures: Natural

    def reached(self, attempts: Sequence[Attempt]) -> int:
        """How many attempts succeeded."""
        return sum(one.likeness.psnr >= self.level for one in attempts)

    def better(self, attempts: Sequence[Attempt], guesses: Sequence[Likeness]) -> int:
        """How many attempts are better than the mean image."""
        pairs = zip(attempts, guesses, strict=True)
        return sum(one.likeness.psnr >= guess.psnr + self.gain for one, guess in pairs)

    def laborious(self, one: Attempt, plain: Attempt) -> bool:
        """Whether an attempt took too many evaluations for what it reached, beside the control's."""
        return one.likeness.psnr < self.level or one.evaluations > self.allowed_effort * plain.evaluations


@dataclass(frozen=True)
class ImageInversion(Checked, Repeated):
    """`attack` on `views` of `trials` training steps, each of freshly drawn weights on a test image, and on `control`,
    a view of the same steps without a defence.

    Rows by `case`, the name of the view or `control`:

    - `mse`, `psnr` (dB), `ssim` of the recovered image; `evaluations` of the gradient over all starts, `starts`, and
      `seconds`, which are those of the machine.
    - `failure`: in how many trials the PSNR is below `assessment.level`; `better`: in how many it is above that of the
      mean training image, a guess that needs no view, by at least `assessment.gain`, and `hidden`: in how many it is
      not; `effort`: in how many the attack took more than `assessment.allowed_effort` times the evaluations of the
      control, or failed; `unmatched`: in how many its loss is above `assessment.matched`. The bound of each is 1/2:
      they are about the median trial. The column `positive_control` has the number of the same trials in which the
      control reached the level, without which a verdict on a defence would mean nothing.
    - `picture`: the images of the first trials as bytes in base64; the value is the PSNR. Among the cases are
      `original` and `mean image`.

    A trial is the smallest part of it that a time limit can divide: an attack on a victim is not stopped in between.
    """

    family: Family
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    attack: Inversion
    control: MakeView
    views: dict[str, MakeView]
    trials: Several
    assessment: Assessment
    course: Course = field(default=WHOLE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        d, b = self.family.d, self.family.b
        require(b <= d, f"sketch size b={b} must be <= d={d}: b/d is the share of what is seen")
        if self.assessment.pictures > self.trials:
            raise ValueError(f"pictures={self.assessment.pictures} must be <= trials={self.trials}")

    def trial(self, number: int) -> Values:
        """The attempts of all cases, what they are compared with, and the images of a trial that is shown."""
        data = self._data
        victim = draw_victim(data, self.model, self.kernels, self.seed, trial=number)
        truth = pixels(victim.samples.images[0])
        mean = data.features(data.train).mean(axis=0).reshape(data.shape)
        guess = likeness(mean, truth)
        return {
            "cases": [self._attacked(case, victim, number) for case in self._cases(victim)],
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
            rows += self._judged(columns, attempts, control, guesses)
            if not case["still"]:
                rows += self._measured(columns, attempts)
                pictures += _pictures(columns, position, values)
        rows += _likenesses({"case": "mean image"}, guesses)
        return [*rows, *self._further_rows(values), *pictures]

    @functools.cached_property
    def _data(self) -> Dataset:
        return self.dataset()

    @functools.cached_property
    def _prior(self) -> Prior | None:
        """What the attacker knows of images, from the training images, which none of the victims' is among."""
        if not self.attack.uses_prior:
            return None
        data = self._data
        images = data.features(data.train).reshape(-1, *data.shape)
        return learn_prior(images, torch.zeros(1, dtype=torch.float64, device=device_of(self.kernels)))

    def _cases(self, victim: Victim) -> Iterator[Case]:
        """What is attacked: the control first."""
        yield Case("control", self.control, self.family, {})
        yield from self._defended(victim)

    def _defended(self, victim: Victim) -> Iterator[Case]:
        """What is attacked beside the control."""
        for name, make in self.views.items():
            yield Case(name, make, self.family, {})

    def _further(self, victim: Victim, number: int) -> Values:
        """Further values of the same trial."""
        return {}

    def _further_rows(self, values: Sequence[Values]) -> list[Row]:
        """Further rows of these."""
        return []

    def _attacked(self, case: Case, victim: Victim, number: int) -> Values:
        """One attempt, and the columns of all rows of the case."""
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

    def _measured(self, columns: Columns, attempts: list[Attempt]) -> Iterator[Row]:
        yield from _likenesses(columns, [one.likeness for one in attempts])
        for quantity in ("evaluations", "starts", "seconds"):
            yield Row(quantity, **columns).mean([getattr(one, quantity) for one in attempts])

    def _judged(
        self, columns: Columns, attempts: list[Attempt], control: list[Attempt], guesses: list[Likeness]
    ) -> Iterator[Row]:
        judge = self.assessment
        efforts = zip(attempts, control, strict=True)
        better = judge.better(attempts, guesses)
        counts = {
            "failure": len(attempts) - judge.reached(attempts),
            "better": better,
            "hidden": len(attempts) - better,
            "effort": sum(judge.laborious(one, plain) for one, plain in efforts),
            "unmatched": sum(one.loss > judge.matched for one in attempts),
        }
        for quantity, count in counts.items():
            row = Row(quantity, **columns, bound=MEDIAN, positive_control=judge.reached(control))
            yield row.counted(count, len(attempts))

    def _picture(self, image: NDArray[np.float64], number: int) -> Values:
        """The columns that show an image, where this trial is shown."""
        if number >= self.assessment.pictures:
            return {}
        levels = np.round(255 * image).astype(np.uint8)
        picture = base64.b64encode(levels.tobytes()).decode()
        return {"picture": {"trial": number, "shape": "x".join(map(str, levels.shape)), "picture": picture}}


def _attempts(values: Sequence[Values], position: int) -> list[Attempt]:
    """One for each trial, of the case at this position."""
    found = [one["cases"][position] for one in values]
    plain = [{name: case[name] for name in Attempt._fields} for case in found]
    return [Attempt(**{**one, "likeness": Likeness(*one["likeness"])}) for one in plain]


def _pictures(columns: Columns, place: str | int, values: Sequence[Values]) -> Iterator[Row]:
    """The images of a case, by its position, or of `original` or `mean image`, in the trials that are shown."""
    for one in values:
        shown = one["cases"][place] if isinstance(place, int) else one[place]
        if "picture" in shown:
            yield Row("picture", **columns, **shown["picture"]).number(Likeness(*shown["likeness"]).psnr)


def _likenesses(columns: Columns, likenesses: list[Likeness]) -> Iterator[Row]:
    for quantity in Likeness._fields:
        yield Row(quantity, **columns).mean([getattr(one, quantity) for one in likenesses])
