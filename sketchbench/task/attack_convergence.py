"""Gradient matching on losses whose constants are known: what song2023 §7 assumes, and how fast the attack is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.model import autograd
from sketchbench.model.autograd import device_of
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.spectrum import rank, singular_values
from sketchbench.task import trials
from sketchbench.theory import leakage
from sketchbench.theory.known import Known

CONDITION = 2.0  # θ₂/θ₁ of the bilinear loss
FEATURES = 3  # of each of the network's samples
NEARBY = 1e-3  # how far from x* the worst direction is tried
Loss = Callable[..., Tensor]  # F(w, x, data) of one trial
Numbers = NDArray[np.float64]


class Problem(NamedTuple):
    """One attack in each of T trials: F, its weights (T, d), what it knows (T, ...), the private input and where
    the attacker starts, both (T, m); β where it is known."""

    loss: Loss
    w: Tensor
    data: Tensor
    private: Tensor
    start: Tensor
    lipschitz: Numbers | None


class Points(NamedTuple):
    """Inputs (T, m), with L, ∇L, and Φ, (T, d, m), there."""

    x: Tensor
    loss: Tensor
    slope: Tensor
    pseudo_hessian: Tensor


@dataclass(frozen=True)
class AttackConvergence:
    """L(x) = ‖R ∇_wF(w, x) - R ∇_wF(w, x*)‖² by gradient descent, with a fresh operator, loss, x* and x₀ in each
    trial; slopes are autograd's, through the sketch. Cases: `bilinear`, F = wᵀA x with d inputs and the singular
    values of A from β/2 to β, for every β of `lipschitz`, where all that §7 assumes is true; and `network`, a
    perceptron with tanh units and the logistic loss on a batch of `batch` samples of 3 features, whose d weights are
    fewer than its inputs.

    Rows, each with the largest value of a trial over all points, and how many trials exceed the bound 1:
    `non_critical`: ‖∇L‖² over its upper bound, or its lower bound over it, in `points` of the `rounds` of a descent and
    at as many random points, with the constants of Lemma 7.7 (`_printed`: of Lemma J.5).
    `semi_smoothness`: L(y) - L(x) - ⟨∇L(x), y - x⟩ over b‖y - x‖² + a‖y - x‖√L(x), for all pairs of these points,
    and of x* and a neighbour in the steepest direction, with b = τ²β² (`_printed`: τ²β). Where β is not known it is
    the largest ‖Φ‖ at the points, so that the bound is rather too strict.
    `condition`, `condition_printed`: a θ₂/θ₁², with the constants of Theorem 7.4, its two readings as above; Theorem
    7.5 needs it below 1, and γ₁ > 0, so that draws of deficient rank are left out.
    `contraction`: of bilinear losses, L(x_{t+1}) over (1 - γ) L(x_t), for the largest step of Theorem 7.5 with a = 0
    and b = τ²β²; the same draws.

    The descent takes these steps; for the network, and where γ₁ = 0, steps of 1/(2β²γ₂²).
    `log_loss`: log₁₀ L(x_t)/L(x₀); of bilinear losses for the same draws, with what the theorem promises as bound.
    `recovered`: of bilinear losses, 1 - ‖x_t - x*‖²/‖x₀ - x*‖² after `recovery_rounds` of steps of 1/(2β²γ₂²). What R
    hides is not found: the exact mean is that of rank(R)/d.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: int
    lipschitz: list[float]
    batch: int
    rounds: int
    recovery_rounds: int
    points: int

    def run(self) -> list[dict[str, Any]]:
        d, b = self.family.d, self.family.b
        if d % (FEATURES + 1) or not b <= d <= self.batch * FEATURES:
            raise ValueError(
                f"d={d} must be a multiple of {FEATURES + 1}, for a perceptron of {FEATURES} features, at least "
                f"b={b}, and at most the number of inputs, {self.batch * FEATURES}"
            )
        key = seeds.key(self.seed, task="attack_convergence", family=repr(self.family))
        operators = self.family.draw(key, operators=self.trials, kernels=self.kernels)
        cases = {f"bilinear, β = {beta:g}": self._bilinear(beta) for beta in self.lipschitz}
        cases["network"] = self._network()
        return [
            {"case": case, **row} for case, problem in cases.items() for row in _Attack(self, problem, operators).rows()
        ]

    def _random(self, case: str) -> torch.Generator:
        key = seeds.key(self.seed, data="attack_convergence", case=case, d=self.family.d)
        return torch.Generator().manual_seed(key % 2**63)

    def _bilinear(self, beta: float) -> Problem:
        if not beta > 0:
            raise ValueError(f"lipschitz={beta} must be > 0")
        d, random = self.family.d, self._random("bilinear")
        left, right = (torch.linalg.qr(_normal(random, self.trials, d, d))[0] for _ in range(2))
        values = torch.logspace(0, -1, d, base=CONDITION, dtype=torch.float64)
        matrix = beta * left * values @ right
        w, private, start = (_normal(random, self.trials, d) for _ in range(3))
        known = np.full(self.trials, beta)
        return Problem(lambda w, x, A: w @ A @ x, w, matrix, private, start, known)

    def _network(self) -> Problem:
        d, random = self.family.d, self._random("network")
        units = d // (FEATURES + 1)

        def loss(w: Tensor, x: Tensor, labels: Tensor) -> Tensor:
            hidden = torch.tanh(x.view(-1, FEATURES) @ w[units:].view(FEATURES, units))
            return torch.nn.functional.softplus(-labels * (hidden @ w[:units])).mean()

        w = _normal(random, self.trials, d)
        private, start = (_normal(random, self.trials, self.batch * FEATURES) for _ in range(2))
        labels = _normal(random, self.trials, self.batch).sign()
        return Problem(loss, w, labels, private, start, None)


class _Attack:
    """The attacks on one problem; `operators` is a stack with one for each trial."""

    def __init__(self, task: AttackConvergence, problem: Problem, operators: Sketch) -> None:
        device = device_of(operators.kernels)
        problem = problem._replace(
            w=problem.w.to(device),
            data=problem.data.to(device),
            private=problem.private.to(device),
            start=problem.start.to(device),
        )
        self._task, self._problem, self._operators = task, problem, operators
        values = singular_values(operators)
        self._gammas = values[:, 0], values[:, -1]
        self._full = rank(values, operators) == operators.b
        by_weights = torch.func.grad(problem.loss)
        self._gradient = torch.func.vmap(by_weights)
        self._pseudo_hessian = torch.func.vmap(torch.func.jacrev(by_weights, argnums=1))
        self._seen = self._view(problem.private)

    def _view(self, x: Tensor) -> Tensor:
        """R ∇_wF(w, x): (T, b)."""
        gradient = self._gradient(self._problem.w, x, self._problem.data)
        return autograd.sketch(self._operators, gradient[:, None])[:, 0]

    def _matched(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """L and ∇L at x."""
        x = x.detach().requires_grad_()
        loss = ((self._view(x) - self._seen) ** 2).sum(dim=1)
        (slope,) = torch.autograd.grad(loss.sum(), x)
        return loss.detach(), slope

    def _at(self, x: Tensor) -> Points:
        phi = self._pseudo_hessian(self._problem.w, x, self._problem.data)
        return Points(x, *self._matched(x), phi)

    def _descent(self, step: Numbers, rounds: int) -> Iterator[tuple[Tensor, Tensor]]:
        """x_t and L(x_t) for t = 0 to `rounds`."""
        x = self._problem.start
        rate = torch.from_numpy(step)[:, None].to(x.device)
        for _ in range(rounds + 1):
            loss, slope = self._matched(x)
            yield x, loss
            x = x - rate * slope

    def rows(self) -> Iterator[dict[str, Any]]:
        task, problem = self._task, self._problem
        bilinear = problem.lipschitz is not None
        private = self._at(problem.private)
        known = [private, self._steepest(private), self._at(problem.start)]
        first = self._constants(known)
        safe = 1 / (2 * (first.lipschitz * first.gamma_2) ** 2)
        low, high = leakage.non_critical(first)
        _, b = leakage.semi_smoothness(first)
        # the theorem has a step where γ₁ > 0 and a = 0
        promising = self._full if bilinear else np.zeros_like(self._full)
        step = np.where(promising, leakage.step_7_5(low, high, 0.0, b), safe)
        rate = np.where(promising, leakage.rate_7_5(low, high, 0.0, step), 0.0)
        path = list(self._descent(step, task.rounds))
        losses = np.stack([_numbers(loss) for _, loss in path])
        shown = trials.shown_rounds(task.rounds, task.points)
        random = task._random("points")
        tried = [path[t][0] for t in shown]
        shape, device = problem.start.shape, problem.start.device
        tried += [_normal(random, *shape).to(device) for _ in range(task.points)]
        points = [self._at(x) for x in tried]
        constants = self._constants([*known, *points])
        yield from self._non_critical(points)
        yield from self._semi_smoothness([*known, *points], constants)
        yield from self._condition(constants)
        kept = self._full if bilinear else slice(None)
        for t in shown:
            row: dict[str, Any] = {"quantity": "log_loss", "round": t}
            if bilinear:
                row["bound"] = t * float(np.log10(1 - rate[kept]).mean())
            yield {**row, **summarize(np.log10(losses[t] / losses[0])[kept])}
        if bilinear:
            ratios = losses[1:] / (losses[:-1] * (1 - rate))
            yield {"quantity": "contraction", **trials.exceedances(ratios.max(axis=0)[kept], 1.0)}
            yield self._recovered(safe)

    def _constants(self, points: list[Points]) -> leakage.Constants:
        """Over all these points, of each trial; (T,)."""
        values = np.stack([_singular(point) for point in points])
        low, high = values[..., 0].min(axis=0), values[..., -1].max(axis=0)
        beta = high if self._problem.lipschitz is None else self._problem.lipschitz
        return leakage.Constants(low, high, beta, *self._gammas)

    def _steepest(self, private: Points) -> Points:
        """A neighbour of x* in the direction in which L grows fastest."""
        seen = autograd.sketch(self._operators, private.pseudo_hessian.swapaxes(1, 2))
        direction = torch.linalg.svd(seen.swapaxes(1, 2), full_matrices=False).Vh[:, 0]
        return self._at(private.x + NEARBY * direction)

    def _non_critical(self, points: list[Points]) -> Iterator[dict[str, Any]]:
        for name, between in (
            ("non_critical", leakage.non_critical),
            ("non_critical_printed", leakage.non_critical_printed),
        ):
            worst = np.zeros(self._task.trials)
            for point in points:
                low, high = between(self._constants([point]))
                square = _numbers((point.slope**2).sum(dim=1))
                loss = _numbers(point.loss)
                found = np.maximum(square / (high**2 * loss), low**2 * loss / square)
                worst = np.maximum(worst, found)
            yield {"quantity": name, **trials.exceedances(worst, 1.0)}

    def _semi_smoothness(self, points: list[Points], constants: leakage.Constants) -> Iterator[dict[str, Any]]:
        for name, allowed in (
            ("semi_smoothness", leakage.semi_smoothness),
            ("semi_smoothness_printed", leakage.semi_smoothness_printed),
        ):
            a, b = allowed(constants)
            found = [_remainder(x, y, a, b) for x in points for y in points if x is not y]
            yield {"quantity": name, **trials.exceedances(np.max(found, axis=0), 1.0)}

    def _condition(self, constants: leakage.Constants) -> Iterator[dict[str, Any]]:
        a, _ = leakage.semi_smoothness(constants)
        for name, between in (
            ("condition", leakage.non_critical),
            ("condition_printed", leakage.non_critical_printed),
        ):
            low, high = between(constants)
            found = leakage.condition_7_5(low[self._full], high[self._full], a[self._full])
            yield {"quantity": name, **trials.exceedances(found, 1.0)}

    def _recovered(self, step: Numbers) -> dict[str, Any]:
        *_, (last, _) = self._descent(step, self._task.recovery_rounds)
        private, start = self._problem.private, self._problem.start
        left = ((last - private) ** 2).sum(dim=1) / ((start - private) ** 2).sum(dim=1)
        row = {"quantity": "recovered", **summarize(_numbers(1 - left))}
        if self._task.known.spectrum is None:
            return row
        d, b = self._task.family.d, self._task.family.b
        return {**row, "exact": self._task.known.spectrum(d=d, b=b).rank / d}


def _normal(random: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=random, dtype=torch.float64)


def _singular(point: Points) -> Numbers:
    """The singular values of Φ, ascending: (T, d)."""
    return _numbers(torch.linalg.svdvals(point.pseudo_hessian).flip(-1))


def _remainder(x: Points, y: Points, a: Numbers, b: Numbers) -> Numbers:
    """What L(y) exceeds its linear part at x by, over what semi-smoothness allows (song2023 Definition 7.2)."""
    move = y.x - x.x
    distance = _numbers(move.norm(dim=1))
    linear = x.loss + (x.slope * move).sum(dim=1)
    allowed = b * distance**2 + a * distance * _numbers(x.loss.sqrt())
    return np.asarray(_numbers(y.loss - linear) / allowed)


def _numbers(values: Tensor) -> Numbers:
    return np.asarray(values.cpu())
