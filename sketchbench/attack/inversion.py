"""Gradient inversion: the image whose gradient would have been seen (song2023 §7; Zhu et al. 2019).

All attacks minimise ‖R ∇F(x) - R g‖² over the image x, here relative to ‖R g‖², and differ in how.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from sketchbench import seeds
from sketchbench.attack.view import View

Label = Literal["read", "soft"]


class Found(NamedTuple):
    """image: (channels, height, width), in [0, 1]. label: its class. loss: ‖predicted - observed‖² over
    ‖observed‖². evaluations: of the gradient of the loss, over all `starts`."""

    image: Tensor
    label: int
    loss: float
    evaluations: int
    starts: int


@dataclass(frozen=True)
class Inversion(ABC):
    """A way to minimise, and how often it starts.

    evaluations: of loss and gradient from each start; a line search may take some more. starts: images of
    uniform noise that it starts from, one after the other until the loss is below `goal`; the result with the
    smallest loss is kept. label: `read` takes the class with the smallest entry in the gradient of the last
    layer's biases, the only negative one for a single image (Zhao et al. 2020), and `soft` optimises
    probabilities along with the image (Zhu et al. 2019); where that gradient isn't seen, `read` does so, too.
    """

    evaluations: int
    starts: int
    goal: float
    label: Label

    def __post_init__(self) -> None:
        if self.evaluations < 1 or self.starts < 1:
            raise ValueError(
                f"evaluations={self.evaluations} and starts={self.starts} must be >= 1"
            )
        if not 0 <= self.goal < 1:
            raise ValueError(f"goal={self.goal} must satisfy 0 <= goal < 1, relative to no match")
        if self.label not in get_args(Label):
            known = ", ".join(get_args(Label))
            raise ValueError(f"label={self.label} is unknown; choose one of {known}")

    def run(self, view: View, seed: int) -> Found:
        """Attack a view; seed: of the starts. Raises ValueError for a view of nothing."""
        size = float(view.observed.square().sum())
        if not 0 < size < math.inf:
            raise ValueError(f"‖observed‖²={size} must be > 0 and finite; there is nothing to match")
        best: Found | None = None
        total = 0
        for start in range(self.starts):
            image, label, known = self._start(view, seed, start)

            def loss() -> Tensor:
                shares = label if known else label.softmax(dim=-1)
                return (view.predicted(image, shares) - view.observed).square().sum() / size

            matching = _Matching(loss, [image] if known else [image, label], self.goal)
            with suppress(_Reached):
                self._minimise(matching)
            total += matching.evaluations
            last = float(loss().detach())
            if best is None or last < best.loss:
                clean = image.detach()[0].nan_to_num().clamp(0, 1)
                best = Found(clean, int(label.argmax()), last, 0, 0)
            if last <= self.goal:
                break
        assert best is not None  # after a start
        return best._replace(evaluations=total, starts=start + 1)

    def _start(self, view: View, seed: int, start: int) -> tuple[Tensor, Tensor, bool]:
        """An image of uniform noise, a label, and whether it is known."""
        like = {"dtype": view.observed.dtype, "device": view.observed.device}
        random = seeds.generator(seed, attack="start", start=start)
        image = torch.tensor(random.random((1, *view.shape)), **like).requires_grad_()
        if self.label == "read" and view.output is not None:
            label = torch.zeros(1, view.classes, **like)
            label[0, view.output.argmin()] = 1
            return image, label, True
        logits = torch.tensor(random.standard_normal((1, view.classes)), **like)
        return image, logits.requires_grad_(), False

    @abstractmethod
    def _minimise(self, matching: "_Matching") -> None:
        """Change the variables in place, with about `evaluations` evaluations at most."""


class _Reached(Exception):  # noqa: N818 (no error)
    """The goal is reached, by the variables as they are."""


class _Matching:
    """What is minimised, and over what; it counts."""

    def __init__(self, loss: Callable[[], Tensor], variables: list[Tensor], goal: float) -> None:
        self.variables = variables
        self.evaluations = 0
        self._loss, self._goal = loss, goal

    def differentiated(self) -> Tensor:
        """The loss, with the gradients of the variables set. Raises _Reached at the goal."""
        self.evaluations += 1
        value = self._loss()
        if value <= self._goal:
            raise _Reached
        for v, slope in zip(self.variables, torch.autograd.grad(value, self.variables), strict=True):
            v.grad = slope
        return value.detach()


@dataclass(frozen=True)
class LBFGS(Inversion):
    """PyTorch's L-BFGS with a line search that keeps the strong Wolfe conditions."""

    history: int

    def _minimise(self, matching: _Matching) -> None:
        optimiser = torch.optim.LBFGS(
            matching.variables,
            max_iter=self.evaluations,
            max_eval=self.evaluations,
            history_size=self.history,
            tolerance_grad=1e-14,
            tolerance_change=1e-16,
            line_search_fn="strong_wolfe",
        )
        optimiser.step(matching.differentiated)


@dataclass(frozen=True)
class Adam(Inversion):
    """Adam with a rate that falls to zero along a cosine."""

    rate: float

    def _minimise(self, matching: _Matching) -> None:
        optimiser = torch.optim.Adam(matching.variables, lr=self.rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.evaluations)
        for _ in range(self.evaluations):
            matching.differentiated()
            optimiser.step()
            schedule.step()


@dataclass(frozen=True)
class GradientDescent(Inversion):
    """x ← x - η ∇L(x), as in song2023 §7.1, with a step η that is halved where the loss would not fall, and
    else grows by a tenth."""

    rate: float

    def _minimise(self, matching: _Matching) -> None:
        variables = matching.variables
        rate, before = self.rate, matching.differentiated()
        while matching.evaluations < self.evaluations:
            kept = [(v.detach().clone(), v.grad) for v in variables]
            with torch.no_grad():
                for v in variables:
                    v.sub_(v.grad, alpha=rate)
            after = matching.differentiated()
            if after < before:
                rate, before = 1.1 * rate, after
                continue
            rate /= 2
            with torch.no_grad():
                for v, (value, slope) in zip(variables, kept, strict=True):
                    v.copy_(value)
                    v.grad = slope
