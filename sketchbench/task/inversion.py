"""Gradient inversion: what attacks recover of single images from what a party sees."""

import base64
import functools
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from sketchbench import seeds
from sketchbench.attack.inversion import Inversion
from sketchbench.attack.victim import Victim
from sketchbench.attack.view import MakeView, View
from sketchbench.dataset.dataset import Dataset, MakeDataset
from sketchbench.kernels import Kernels
from sketchbench.measure.image import Likeness, likeness
from sketchbench.measure.summary import summarize
from sketchbench.model.autograd import device_of
from sketchbench.model.classification import Samples
from sketchbench.model.networks import MakeModel, initialised
from sketchbench.sketch.family import Family

log = logging.getLogger(__name__)
Row = dict[str, Any]
MEDIAN = 0.5  # what happens in at most half of all trials, happens beyond their median


class Case(NamedTuple):
    """name: of the view; make: of it, for sketches of this family; columns: what is told of it."""

    name: str
    make: MakeView
    family: Family
    columns: Row


class Attacked(NamedTuple):
    """One trial: the recovered image, how it was found, and how close it is."""

    image: np.ndarray
    evaluations: int
    starts: int
    seconds: float
    likeness: Likeness


@dataclass(frozen=True)
class ImageInversion:
    """`attack` on `views` of `trials` steps, each of freshly drawn weights on a test image, and on the `control`, a
    view of the same steps without a defence. Rows by `case`, the name of the view or `control`:

    `mse`, `psnr` (dB), `ssim` of the recovered image; `evaluations` of the gradient, over all starts, `starts`,
    and `seconds`, which are those of the machine;
    `failure`: the `count` of trials with a PSNR below `level`; `better`: of those with a smaller error than the
    mean training image, a guess that nothing needs to be seen for; `effort`: of those that took more than
    `allowed_effort` times the evaluations of the control. The bound is 1/2 for each: they are about the median
    trial. `control`: in how many of the same trials the control reached the level, without which a verdict on
    a defence would mean nothing;
    `picture`: the images of the first `pictures` trials as bytes in base64, of (channels, height, width); their
    `value` is the PSNR. Among the cases are `original` and `mean image`.
    """

    family: Family
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    attack: Inversion
    control: MakeView
    views: dict[str, MakeView]
    trials: int
    level: float
    allowed_effort: float
    pictures: int

    def run(self) -> list[Row]:
        if self.trials < 2 or not 0 <= self.pictures <= self.trials:
            raise ValueError(f"trials={self.trials} must be >= 2, and pictures={self.pictures} from 0 to as many")
        data = self.dataset()
        victims = [self._victim(data, trial) for trial in range(self.trials)]
        truths = [self._pixels(victim.samples.images[0]) for victim in victims]
        guess = data.features(data.train).mean(axis=0).reshape(data.shape)
        guesses = [likeness(guess, truth) for truth in truths]
        rows: list[Row] = []
        pictures = [
            *self._pictures("original", truths, [likeness(t, t) for t in truths], {}),
            *self._pictures("mean image", [guess] * self.trials, guesses, {}),
        ]
        control: list[Attacked] = []
        for case in (Case("control", self.control, self.family, {}), *self._cases(victims)):
            made = [self._attacked(case, victim, trial) for trial, victim in enumerate(victims)]
            views, found = [view for view, _ in made], [result for _, result in made]
            control = control or found
            columns = {**case.columns, **views[0].facts, **self._size(data, views[0])}
            rows += self._rows(case.name, columns, found, control, guesses)
            images, close = [one.image for one in found], [one.likeness for one in found]
            pictures += self._pictures(case.name, images, close, columns)
            log.info(
                "%s %s: median PSNR %.1f dB",
                case.name,
                case.columns,
                np.median([result.likeness.psnr for result in found]),
            )
        rows += self._likeness("mean image", guesses, {})
        return [*rows, *self._more(victims), *pictures]

    def _cases(self, victims: list[Victim]) -> Iterator[Case]:
        """What is attacked beside the control."""
        for name, make in self.views.items():
            yield Case(name, make, self.family, {})

    def _more(self, victims: list[Victim]) -> list[Row]:
        """Further rows about the same trials."""
        return []

    def _victim(self, data: Dataset, trial: int) -> Victim:
        """Two test images, and a network with weights of its own."""
        random = seeds.generator(self.seed, data="victims", trial=trial)
        chosen = random.choice(len(data.test.labels), 2, replace=False)
        device = device_of(self.kernels)
        images = torch.tensor(data.test.images[chosen] / data.white, device=device)
        labels = torch.tensor(data.test.labels[chosen], device=device)
        weights = seeds.key(self.seed, weights="network", trial=trial)

        def network(family: Family | None) -> torch.nn.Module:
            make = functools.partial(self.model, data.shape, data.classes, family)
            return initialised(make, weights).to(device, torch.float64)

        return Victim(network, Samples(images, labels), data.classes)

    def _attacked(self, case: Case, victim: Victim, trial: int) -> tuple[View, Attacked]:
        """The attack sees the view, and nothing else of the victim; every view has the same starts."""
        axes: dict[str, int | str] = {
            "trial": trial,
            "family": repr(case.family),
            "case": case.name,
        }
        view = case.make(victim, case.family, self.kernels, seeds.key(self.seed, **axes))
        start = time.perf_counter()
        found = self.attack.run(view, seeds.key(self.seed, attack="inversion", trial=trial))
        seconds = time.perf_counter() - start
        image = self._pixels(found.image)
        close = likeness(image, self._pixels(victim.samples.images[0]))
        return view, Attacked(image, found.evaluations, found.starts, seconds, close)

    def _size(self, data: Dataset, view: View) -> Row:
        return {
            "observed": view.observed.numel(),
            "pixels": int(np.prod(data.shape)),
            "bytes_seen": view.nbytes,
        }

    def _rows(
        self,
        name: str,
        columns: Row,
        found: list[Attacked],
        control: list[Attacked],
        guesses: list[Likeness],
    ) -> Iterator[Row]:
        yield from self._likeness(name, [result.likeness for result in found], columns)
        for quantity in ("evaluations", "starts", "seconds"):
            values = [getattr(result, quantity) for result in found]
            yield {"quantity": quantity, "case": name, **columns, **summarize(values)}
        pairs = list(zip(found, control, guesses, strict=True))
        counts = {
            "failure": sum(not self._reached(result) for result in found),
            "better": sum(result.likeness.mse < guess.mse for result, _, guess in pairs),
            "effort": sum(result.evaluations > self.allowed_effort * plain.evaluations for result, plain, _ in pairs),
        }
        for quantity, count in counts.items():
            yield {
                "quantity": quantity,
                "case": name,
                **columns,
                "count": count,
                "trials": self.trials,
                "bound": MEDIAN,
                "control": sum(map(self._reached, control)),
            }

    def _reached(self, result: Attacked) -> bool:
        return result.likeness.psnr >= self.level

    def _likeness(self, name: str, close: list[Likeness], columns: Row) -> Iterator[Row]:
        for quantity in Likeness._fields:
            values = [getattr(one, quantity) for one in close]
            yield {"quantity": quantity, "case": name, **columns, **summarize(values)}

    def _pictures(self, name: str, images: list[np.ndarray], close: list[Likeness], columns: Row) -> Iterator[Row]:
        for trial in range(self.pictures):
            pixels = np.round(255 * images[trial]).astype(np.uint8)
            yield {
                "quantity": "picture",
                "case": name,
                **columns,
                "trial": trial,
                "shape": "x".join(map(str, pixels.shape)),
                "picture": base64.b64encode(pixels.tobytes()).decode(),
                "value": close[trial].psnr,
            }

    def _pixels(self, image: torch.Tensor) -> np.ndarray:
        return image.cpu().numpy()
