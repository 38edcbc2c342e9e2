"""Gradient inversion: what attacks recover of single images from what a party sees."""

import base64
import dataclasses
import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.attack.attempt import Attempt, attempt, draw_victim, pixels
from sketchbench.attack.inversion import Inversion
from sketchbench.attack.prior import Prior, learnt
from sketchbench.attack.victim import Victim
from sketchbench.attack.view import MakeView
from sketchbench.dataset.dataset import MakeDataset
from sketchbench.kernels import Kernels
from sketchbench.measure.image import Likeness, likeness
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.model.autograd import device_of
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, Natural, NonNegative, Positive, Several
from sketchbench.sketch.family import Family, require

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
class ImageInversion(Checked):
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

    def __post_init__(self) -> None:
        super().__post_init__()
        d, b = self.family.d, self.family.b
        require(b <= d, f"sketch size b={b} must be <= d={d}: b/d is the share of what is seen")
        if self.assessment.pictures > self.trials:
            raise ValueError(f"pictures={self.assessment.pictures} must be <= trials={self.trials}")

    def run(self) -> list[Row]:
        data = self.dataset()
        victims = [draw_victim(data, self.model, self.kernels, self.seed, trial=trial) for trial in range(self.trials)]
        truths = [pixels(victim.samples.images[0]) for victim in victims]
        mean = data.features(data.train).mean(axis=0).reshape(data.shape)
        guesses = [likeness(mean, truth) for truth in truths]
        rows: list[Row] = []
        pictures = [
            *self._pictures({"case": "original"}, truths, [likeness(t, t) for t in truths]),
            *self._pictures({"case": "mean image"}, [mean] * self.trials, guesses),
        ]
        control: list[Attempt] = []
        for case in (Case("control", self.control, self.family, {}), *self._cases(victims)):
            columns, attempts = self._attempts(case, victims)
            control = control or attempts
            rows += self._judged(columns, attempts, control, guesses)
            if case.still:
                continue
            rows += self._measured(columns, attempts)
            images, close = [one.image for one in attempts], [one.likeness for one in attempts]
            pictures += self._pictures(columns, images, close)
            median = np.median([one.psnr for one in close])
            log.info("%s %s: median PSNR %.1f dB", case.name, dict(case.columns), median)
        rows += _likenesses({"case": "mean image"}, guesses)
        return [*rows, *self._further(victims), *pictures]

    @functools.cached_property
    def _prior(self) -> Prior | None:
        """What the attacker knows of images, from the training images, which none of the victims' is among."""
        if not self.attack.uses_prior:
            return None
        data = self.dataset()
        images = data.features(data.train).reshape(-1, *data.shape)
        return learnt(images, torch.zeros(1, dtype=torch.float64, device=device_of(self.kernels)))

    def _cases(self, victims: list[Victim]) -> Iterator[Case]:
        """What is attacked beside the control."""
        for name, make in self.views.items():
            yield Case(name, make, self.family, {})

    def _further(self, victims: list[Victim]) -> list[Row]:
        """Further rows about the same trials."""
        return []

    def _attempts(self, case: Case, victims: list[Victim]) -> tuple[Columns, list[Attempt]]:
        """What all rows of the case have in common, and one attempt for each victim."""
        views, attempts = [], []
        for trial, victim in enumerate(victims):
            axes: dict[str, int | str] = {"trial": trial, "family": repr(case.family), "case": case.name}
            view = case.make(victim, case.family, self.kernels, seeds.key(self.seed, **axes))
            start = seeds.key(self.seed, attack="inversion", trial=trial)
            view = dataclasses.replace(view, prior=self._prior)
            attempts.append(attempt(self.attack, view, victim, start, still=case.still))
            views.append(view)
        sizes = {
            "observed": views[0].observed.numel(),
            "pixels": int(np.prod(views[0].shape)),
            "bytes_seen": views[0].nbytes,
        }
        return {"case": case.name, **case.columns, **views[0].facts, **sizes}, attempts

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
            "failure": self.trials - judge.reached(attempts),
            "better": better,
            "hidden": self.trials - better,
            "effort": sum(judge.laborious(one, plain) for one, plain in efforts),
            "unmatched": sum(one.loss > judge.matched for one in attempts),
        }
        for quantity, count in counts.items():
            row = Row(quantity, **columns, bound=MEDIAN, positive_control=judge.reached(control))
            yield row.counted(count, self.trials)

    def _pictures(
        self, columns: Columns, images: Sequence[NDArray[np.float64]], likenesses: list[Likeness]
    ) -> Iterator[Row]:
        for trial in range(self.assessment.pictures):
            levels = np.round(255 * images[trial]).astype(np.uint8)
            shape, picture = "x".join(map(str, levels.shape)), base64.b64encode(levels.tobytes()).decode()
            yield Row("picture", **columns, trial=trial, shape=shape, picture=picture).number(likenesses[trial].psnr)


def _likenesses(columns: Columns, likenesses: list[Likeness]) -> Iterator[Row]:
    for quantity in Likeness._fields:
        yield Row(quantity, **columns).mean([getattr(one, quantity) for one in likenesses])
