"""Gradient matching by gradient descent, and measurements of the constants of song2023 §7.

An attacker who knows w, R and R ∇_wF(w, x*) minimises L(x) = ‖R ∇_wF(w, x) - R ∇_wF(w, x*)‖². Autograd computes all
derivatives, through the sketch.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.door import check_axes, check_tensor
from sketchbench.attack.matching_problem import MatchingProblem
from sketchbench.base.parameters import Natural, checked
from sketchbench.learning.model import autograd
from sketchbench.measure.numbers import Finite, NonNegatives, Positives
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.spectrum import rank, singular_values
from sketchbench.theory import leakage

NEARBY = 1e-3  # distance of the neighbour from x*, in the direction in which L grows fastest
Numbers = NDArray[np.float64]


class Evaluation(NamedTuple):
    """L and its derivatives at one input of each of T trials."""

    x: Tensor  # the inputs, (T, m)
    loss: Tensor  # L(x), (T,)
    slope: Tensor  # ∇L(x), (T, m)
    pseudo_hessian: Tensor  # Φ(x) = ∂∇_wF/∂x, (T, d, m)


class MatchingDescent(NamedTuple):
    """Step lengths of gradient descent on L, each (T,)."""

    safe: Numbers  # 1/(2β²γ₂²), a step with which L never grows
    step: Numbers  # the largest step of song2023 Theorem 7.5 with a = 2ωγ₂ if the theorem applies, else the safe step
    rate: Numbers  # γ of the theorem's guarantee L(x_{t+1}) <= (1 - γ) L(x_t); 0 if the theorem does not apply


class GradientMatching:
    """The attack on T independent problems, each through one of T stacked operators of d entries.

    Attributes:
        problem: the problem, on the operators' device.
        full_rank: whether R has rank b, that is γ₁ > 0, (T,).
    """

    def __init__(self, problem: MatchingProblem, operators: Sketch) -> None:
        self._check(problem, operators)
        self.problem = problem.to(autograd.device_of(operators.kernels))
        values = singular_values(operators)
        self.full_rank = rank(values, operators) == operators.b
        self._operators, self._gammas = operators, (values[:, 0], values[:, -1])
        by_weights = torch.func.grad(problem.loss)
        self._gradient = torch.func.vmap(by_weights)
        self._pseudo_hessian = torch.func.vmap(torch.func.jacrev(by_weights, argnums=1))
        self._observed = self.view(self.problem.private)

    @staticmethod
    def _check(problem: MatchingProblem, operators: Sketch) -> None:
        """Raise TypeError or ValueError unless problems and operators match in number and size."""
        trials = len(problem.w)
        check_tensor("w", problem.w, trials, operators.d)
        check_tensor("private", problem.private, trials, "m")
        check_tensor("start", problem.start, *problem.private.shape)
        if operators.operators != trials:
            raise ValueError(f"{operators.operators} operators must be one for each of {trials} problems")
        if bool((problem.start == problem.private).all(dim=1).any()):
            raise ValueError("a start is the private input itself, and there is nothing to recover")

    def gradient(self, x: Tensor) -> Tensor:
        """∇_wF(w, x) at inputs (T, m): (T, d)."""
        check_axes("x", x, *self.problem.private.shape)
        return self._gradient(self.problem.w, x, self.problem.data)

    def view(self, x: Tensor) -> Tensor:
        """R ∇_wF(w, x) at inputs (T, m): (T, b)."""
        return autograd.sketch(self._operators, self.gradient(x)[:, None])[:, 0]

    def loss(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """L and ∇L at inputs (T, m): (T,) and (T, m)."""
        check_axes("x", x, *self.problem.private.shape)
        x = x.detach().requires_grad_()
        loss = ((self.view(x) - self._observed) ** 2).sum(dim=1)
        (slope,) = torch.autograd.grad(loss.sum(), x)
        return loss.detach(), slope

    def evaluate(self, x: Tensor) -> Evaluation:
        """L, ∇L and Φ at inputs (T, m). O(T d m) memory."""
        check_axes("x", x, *self.problem.private.shape)
        pseudo_hessian = self._pseudo_hessian(self.problem.w, x, self.problem.data)
        return Evaluation(x, *self.loss(x), pseudo_hessian)

    @checked
    def descend(self, step: Finite, rounds: Natural) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield x_t and L(x_t) for t = 0 to `rounds`, with steps of length (T,)."""
        if np.shape(step) != (len(self.problem.start),):
            raise ValueError(f"step of shape {np.shape(step)} must be one for each of {len(self.problem.start)} trials")
        x = self.problem.start
        rate = torch.from_numpy(step)[:, None].to(x.device)
        for _ in range(rounds + 1):
            loss, slope = self.loss(x)
            yield x, loss
            x = x - rate * slope

    def constants(self, evaluations: Sequence[Evaluation]) -> leakage.LeakageConstants:
        """The constants of §7 for each trial: over all inputs if the problem states them, else over `evaluations`. An
        unknown β becomes the largest ‖Φ‖ of the evaluations."""
        problem = self.problem
        if problem.least is not None and problem.lipschitz is not None:
            return leakage.LeakageConstants(problem.least, problem.lipschitz, problem.lipschitz, *self._gammas)
        if not evaluations:
            raise ValueError("evaluations is empty, and must have one input at least")
        values = np.stack([_singular_values(evaluation) for evaluation in evaluations])
        low, high = values[..., 0].min(axis=0), values[..., -1].max(axis=0)
        beta = high if problem.lipschitz is None else problem.lipschitz
        return leakage.LeakageConstants(low, high, beta, *self._gammas)

    def steepest_neighbour(self, private: Evaluation) -> Evaluation:
        """Evaluate at a neighbour of x*, in the direction of fastest growth of L."""
        sketched = autograd.sketch(self._operators, private.pseudo_hessian.swapaxes(1, 2))
        direction = torch.linalg.svd(sketched.swapaxes(1, 2), full_matrices=False).Vh[:, 0]
        return self.evaluate(private.x + NEARBY * direction)

    def descent(self, constants: leakage.LeakageConstants) -> MatchingDescent:
        """The step lengths of song2023 §7 for these constants. Theorem 7.5, with a = 2ωγ₂ (see `semi_smoothness`),
        applies if γ₁ > 0, β and ω are known, and θ₁² > aθ₂."""
        safe = 1 / (2 * (constants.lipschitz * constants.gamma_2) ** 2)
        low, high = leakage.non_critical(constants)
        a, b = self.semi_smoothness(constants)
        known = self.problem.lipschitz is not None
        applies = self.full_rank & known & (low**2 > a * high)
        step = np.where(applies, leakage.step_7_5(low, high, a, b), safe)
        return MatchingDescent(safe, step, np.where(applies, leakage.rate_7_5(low, high, a, step), 0.0))

    def semi_smoothness(self, constants: leakage.LeakageConstants) -> tuple[Numbers, Numbers]:
        """The constants (a, b) of semi-smoothness for a known ω, each (T,): a = 2ωγ₂ and b = γ₂²β². This a replaces
        that of Lemma J.4, since R ∇_wF(y) - R ∇_wF(x) is RΦ(x)ᵀ(y - x) up to γ₂ω‖y - x‖."""
        _, b = leakage.semi_smoothness(constants)
        return 2 * self.problem.variation * constants.gamma_2, b

    def recovered_share(self, x: Tensor) -> Numbers:
        """1 - ‖x - x*‖²/‖x₀ - x*‖² at inputs (T, m), (T,): 1 at the private input, 0 at the start."""
        private, start = self.problem.private, self.problem.start
        check_axes("x", x, *private.shape)
        return to_numpy(1 - ((x - private) ** 2).sum(dim=1) / ((start - private) ** 2).sum(dim=1))


@checked
def non_critical_excess(evaluation: Evaluation, low: NonNegatives, high: Positives) -> Numbers:
    """The larger of ‖∇L‖²/(high² L) and low² L/‖∇L‖², (T,): at most 1 if both bounds hold. low and high, (T,), are θ₁
    and θ₂ of a non-critical point (song2023 Lemma 7.7)."""
    square, loss = to_numpy((evaluation.slope**2).sum(dim=1)), to_numpy(evaluation.loss)
    return np.maximum(square / (high**2 * loss), low**2 * loss / square)


@checked
def semi_smoothness_excess(x: Evaluation, y: Evaluation, a: NonNegatives, b: NonNegatives) -> Numbers:
    """L(y) - L(x) - ⟨∇L(x), y - x⟩ over b‖y - x‖² + a‖y - x‖√L(x), (T,). It is at most 1 if L is semi-smooth with
    constants a and b, (T,) (song2023 Definition 7.2)."""
    move = y.x - x.x
    distance = to_numpy(move.norm(dim=1))
    linear = x.loss + (x.slope * move).sum(dim=1)
    allowed = b * distance**2 + a * distance * np.sqrt(to_numpy(x.loss))
    return np.asarray(to_numpy(y.loss - linear) / allowed)


def variation_of(x: Evaluation, y: Evaluation) -> Numbers:
    """‖Φ(x) - Φ(y)‖, the largest singular value: (T,)."""
    return to_numpy(torch.linalg.matrix_norm(x.pseudo_hessian - y.pseudo_hessian, ord=2))


def to_numpy(values: Tensor) -> Numbers:
    """A tensor on any device as a NumPy array."""
    return np.asarray(values.cpu())


def _singular_values(evaluation: Evaluation) -> Numbers:
    """The singular values of Φ in ascending order, (T, d)."""
    return to_numpy(torch.linalg.svdvals(evaluation.pseudo_hessian).flip(-1))
