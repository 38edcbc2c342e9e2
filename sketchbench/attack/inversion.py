"""Gradient inversion: the search for an image whose gradient matches the message (song2023 §7; Zhu et al. 2019).

All attacks minimise ‖R ∇F(x) - R g‖² over the image x, relative to ‖R g‖², and differ in the optimiser.
`attack.most_likely` also uses a prior of images.
"""

import math
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sketchbench.attack import lbfgs
from sketchbench.attack.adam import CosineAdam
from sketchbench.attack.view import View
from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count, Positive, Range, checked

Label = Literal["read", "soft"]


class Estimate(NamedTuple):
    """The result of an attack on a view."""

    image: Tensor  # (channels, height, width), in [0, 1]
    label: int  # the class of the image
    loss: float  # ‖predicted - observed‖² over ‖observed‖²
    evaluations: int  # the number of evaluations of the loss's gradient, over all starts
    starts: int  # the number of starts


@dataclass(frozen=True)
class Inversion(Checked, ABC):
    """An attack that minimises the loss from one start after another.

    Starts are images of uniform noise. The attack ends at a loss of at most `goal`, or at most twice the loss that the
    view's own noise causes, and returns the result with the smallest loss.

    `label`: `read` takes the class with the smallest entry in the gradient of the last layer's biases, the only
    negative entry for a single image (Zhao et al. 2020); `soft` optimises class probabilities with the image (Zhu et
    al. 2019). Without that gradient in the view, `read` acts like `soft`.
    """

    uses_prior: ClassVar[bool] = False  # whether the attack uses `View.prior`

    evaluations: Count  # the most evaluations of loss and gradient from each start; a line search may take a few more
    starts: Count  # the most starts
    goal: Annotated[float, Range(0, 1, open_high=True)]  # the loss, relative to ‖observed‖², at which the attack ends
    label: Label

    @checked
    def run(self, view: View, seed: int) -> Estimate:
        """Attack a view; the seed gives the same starts for every view. Raises ValueError for an observation of zeros
        only, or with an entry that is not finite."""
        size = float(view.observed.square().sum())
        if not 0 < size < math.inf:
            raise ValueError(f"‖observed‖²={size} must be > 0 and finite; there is nothing to match")
        best: Estimate | None = None
        least, total = math.inf, 0
        for start in range(self.starts):
            matching = self._start(view, seed, start)
            with suppress(GoalReached):
                self._minimise(matching)
            total += matching.evaluations
            estimate, score = matching.estimate(), matching.score()
            if best is None or score < least:
                best, least = estimate, score
            if estimate.loss <= max(self.goal, 2 * view.noise / size):
                break
        assert best is not None
        return best._replace(evaluations=total, starts=start + 1)

    @checked
    def stand_still(self, view: View, seed: int) -> Estimate:
        """Return the first start as the result: a negative control."""
        return self._start(view, seed, 0).estimate()

    def _start(self, view: View, seed: int, start: int) -> "Matching":
        """An image of uniform noise, with the label read from the view, or random logits."""
        random = seeds.generator(seed, attack="start", start=start)
        image = torch.tensor(random.random((1, *view.shape))).to(view.observed)
        return Matching(view, image, *self._label(view, random), self.goal)

    def _label(self, view: View, random: np.random.Generator) -> tuple[Tensor, bool]:
        """The label's probabilities, or random logits, (1, classes); and whether the label was read from the view."""
        label = torch.tensor(random.standard_normal((1, view.classes))).to(view.observed)
        if self.label == "soft" or view.output is None:
            return label, False
        read = torch.zeros_like(label)
        read[0, view.output.argmin()] = 1
        return read, True

    @abstractmethod
    def _minimise(self, matching: "Matching") -> None:
        """Minimise the loss over the variables, in place, with about `evaluations` evaluations at most."""


class GoalReached(Exception):  # noqa: N818 (no error)
    """The loss at the current variables is at most the goal."""


class Matching:
    """The loss to minimise, its variables, and a counter of evaluations.

    Arguments:
        image: (1, channels, height, width), or coordinates (1, ...) that a subclass maps to an image.
        label: probabilities if `known`, else logits, which become variables, too.
        goal: the misfit at which the attack ends.
    """

    def __init__(self, view: View, image: Tensor, label: Tensor, known: bool, goal: float) -> None:
        self.view, self.label = view, label
        self.variables = [image] if known else [image, label]
        for variable in self.variables:
            variable.requires_grad_()
        self.evaluations = 0
        self._known, self._goal = known, goal
        self._size = view.observed.square().sum()

    @property
    def image(self) -> Tensor:
        """The image at the current variables."""
        return self.variables[0]

    def misfit(self) -> Tensor:
        """‖predicted - observed‖² over ‖observed‖²."""
        shares = self.label if self._known else self.label.softmax(dim=-1)
        predicted, observed = self.view.predicted(self.image, shares), self.view.observed
        if predicted.shape != observed.shape:
            raise ValueError(
                f"predicted {tuple(predicted.shape)} must have the shape of observed {tuple(observed.shape)}"
            )
        difference = predicted - observed
        return difference.square().sum() / self._size

    def estimate(self) -> Estimate:
        """The result at the current variables, counted as one start."""
        image = self.image.detach()[0].nan_to_num().clamp(0, 1)
        misfit = float(self.misfit().detach())
        return Estimate(image, int(self.label.argmax()), misfit, self.evaluations, 1)

    def loss(self, misfit: Tensor) -> Tensor:
        """The loss to minimise, from the misfit: here the misfit itself."""
        return misfit

    def score(self) -> float:
        """The score of a start; the start with the lowest score is the best."""
        return float(self.misfit().detach())

    def differentiate(self) -> Tensor:
        """Compute the loss, and set the gradients of the variables. Raise GoalReached at the goal."""
        self.evaluations += 1
        misfit = self.misfit()
        if misfit <= self._goal:
            raise GoalReached
        value = self.loss(misfit)
        for v, slope in zip(self.variables, torch.autograd.grad(value, self.variables), strict=True):
            v.grad = slope
        return value.detach()

    def state(self) -> tuple[list[Tensor], list[Tensor]]:
        """Copies of the variables and of their gradients."""
        slopes = [v.grad.clone() for v in self.variables if v.grad is not None]
        return [v.detach().clone() for v in self.variables], slopes


@dataclass(frozen=True)
class LBFGS(Inversion):
    """L-BFGS as in PyTorch, with a memory of `history` steps and a line search for the strong Wolfe conditions."""

    history: Count

    def _minimise(self, matching: Matching) -> None:
        self._steps(matching, self.evaluations)

    def _steps(self, matching: Matching, evaluations: int) -> None:
        lbfgs.minimise(matching.variables, matching.differentiate, evaluations, self.history)


@dataclass(frozen=True)
class Adam(Inversion):
    """Adam with a learning rate that falls from `rate` to zero along a cosine."""

    rate: Positive

    def _minimise(self, matching: Matching) -> None:
        adam = CosineAdam(matching.variables, self.rate, self.evaluations)
        for _ in range(self.evaluations):
            matching.differentiate()
            adam.step([v.grad for v in matching.variables if v.grad is not None])


@dataclass(frozen=True)
class GradientDescent(Inversion):
    """Gradient descent x ← x - η ∇L(x) (song2023 §7.1). η starts at `rate`. It is halved if the loss would not fall,
    and grows by a tenth otherwise."""

    rate: Positive

    def _minimise(self, matching: Matching) -> None:
        variables = matching.variables
        rate, lowest = self.rate, matching.differentiate()
        best, slopes = matching.state()
        while matching.evaluations < self.evaluations:
            with torch.no_grad():
                for v, value, slope in zip(variables, best, slopes, strict=True):
                    v.copy_(value - rate * slope)
            loss = matching.differentiate()
            if loss < lowest:
                rate, lowest = 1.1 * rate, loss
                best, slopes = matching.state()
            else:
                rate /= 2
        with torch.no_grad():
            for v, value in zip(variables, best, strict=True):
                v.copy_(value)
