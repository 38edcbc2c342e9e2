"""Gradient matching on losses with known constants: the assumptions of song2023 §7, and the speed of the attack."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from sketchbench.attack.gradient_matching import (
    Evaluation,
    GradientMatching,
    non_critical_excess,
    semi_smoothness_excess,
    to_numpy,
    variation_of,
)
from sketchbench.attack.matching_problem import FEATURES, MatchingProblem, bilinear, normal, perceptron, residual
from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Positive, Probability
from sketchbench.kernels import Kernels
from sketchbench.measure.row import MEDIAN, Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.task.sketches import trials
from sketchbench.theory import leakage
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)

# The derived constants and the paper's printed constants, by the suffix of a row's quantity.
NON_CRITICAL = {"": leakage.non_critical, "_printed": leakage.non_critical_printed}
NOTHING_LEFT = 1e-20  # of L(x₀); below it rounding decides the result of the next step
SEMI_SMOOTHNESS = {"": leakage.semi_smoothness, "_printed": leakage.semi_smoothness_printed}


@dataclass(frozen=True)
class AttackConvergence(Checked):
    """Gradient descent on L(x) = ‖R ∇_wF(w, x) - R ∇_wF(w, x*)‖², with a fresh operator, loss, x* and x₀ in each trial.

    Cases: `bilinear, β = ...` for every β of `lipschitz`, which meets all assumptions of §7, `network`, a perceptron on
    `batch` samples with fewer weights than inputs, and `residual`, a read-out of a residual layer (see
    `matching_problem`).

    Rows that count the trials whose largest value over all inputs exceeds the bound 1:

    - `non_critical`: the larger of ‖∇L‖² over its upper bound and its lower bound over ‖∇L‖², at `points` inputs of the
      descent and as many random inputs, with the constants of Lemma 7.7 (`non_critical_printed`: of Lemma J.5).
    - `semi_smoothness`: L(y) - L(x) - ⟨∇L(x), y - x⟩ over b‖y - x‖² + a‖y - x‖√L(x), for all pairs of these inputs, x₀,
      x* and a neighbour of x* in the steepest direction, with b = τ²β² (`semi_smoothness_printed`: τ²β). An unknown β
      becomes the largest ‖Φ‖ at these inputs, which makes the bound rather too strict.
    - `condition`, `condition_printed`: a θ₂/θ₁², with the constants of Theorem 7.4 in these two readings. Theorem 7.5
      needs it below 1, and γ₁ > 0; operators of deficient rank are left out.
    - `contraction`: for bilinear losses and operators of full rank, L(x_{t+1}) over (1 - γ) L(x_t), with the largest
      step of Theorem 7.5 for a = 0 and b = τ²β². `contraction_still`: the same for an attack that stays at x₀, a
      negative control; `contraction_twice`: with twice that step, a near miss.

    For `residual`, whose Φ varies by ω = `variation`, there are only the rows

    - `assumptions`: the largest of `non_critical`, `semi_smoothness` with a = 2ωγ₂ and b = τ²β², and ‖Φ(x) - Φ(y)‖ over
      ω, at such inputs. `assumptions_half`: the last with half of ω, a negative control.
    - `contraction`, `contraction_still`: as above, with the largest step for a = 2ωγ₂, for operators that fulfil
      Theorem 7.5 with it; until 1e-20 of L(x₀) is left. `contraction_thrice`: with three times the step.

    `slowing` counts the trials in which log L falls less than half as far in the second half of the `rounds` as in the
    first, which linear convergence rules out; bound: 1/2, for a probability.

    Rows with a mean:

    - `log_loss`, by `round`: log₁₀ L(x_t)/L(x₀), with the step of Theorem 7.5 for bilinear losses with γ₁ > 0, and else
      the safe step 1/(2β²γ₂²). For bilinear losses the row covers operators of full rank, and the bound is the
      theorem's.
    - `recovered`: for bilinear losses, 1 - ‖x_t - x*‖²/‖x₀ - x*‖² after `recovery_rounds` safe steps. No attack
      recovers the part of x* that R hides, so that the exact mean is E rank(R)/d. `recovered_still`: the same for an
      attack that stays at x₀, a negative control.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # independent attacks of each case
    lipschitz: list[Positive]  # values of β
    batch: Count  # samples in the batch of the perceptron
    rounds: Count  # of the descent
    recovery_rounds: Count  # safe steps before `recovered` is measured
    points: Count  # about how many rounds of the descent have rows
    variation: Probability  # ω of the residual layer

    def __post_init__(self) -> None:
        super().__post_init__()
        d, b = self.family.d, self.family.b
        if d % (FEATURES + 1) or not b <= d <= self.batch * FEATURES:
            raise ValueError(
                f"d={d} must be a multiple of {FEATURES + 1}, for a perceptron of {FEATURES} features, at least "
                f"b={b}, and at most the number of inputs, {self.batch * FEATURES}"
            )

    def run(self) -> list[Row]:
        key = seeds.key(self.seed, task="attack_convergence", family=repr(self.family))
        operators = self.family.draw(key, operators=self.trials, kernels=self.kernels)
        rows: list[Row] = []
        for case, problem in self._problems():
            rows += [row.replace(case=case) for row in self._rows(GradientMatching(problem, operators))]
            log.info("%s: %d attacks", case, self.trials)
        return [*rows, *(row.replace(case="residual") for row in self._residual(operators))]

    def _problems(self) -> Iterator[tuple[str, MatchingProblem]]:
        d = self.family.d
        for beta in self.lipschitz:
            problem = bilinear(self._random("bilinear"), self.trials, d, lipschitz=beta)
            yield f"bilinear, β = {beta:g}", problem
        yield "network", perceptron(self._random("network"), self.trials, d, samples=self.batch)

    def _random(self, case: str) -> torch.Generator:
        key = seeds.key(self.seed, data="attack_convergence", case=case, d=self.family.d)
        return torch.Generator().manual_seed(key % 2**63)

    def _rows(self, attack: GradientMatching) -> Iterator[Row]:
        problem = attack.problem
        private = attack.evaluate(problem.private)
        special = [private, attack.steepest_neighbour(private), attack.evaluate(problem.start)]
        descent = attack.descent(attack.constants(special))
        path = list(attack.descend(descent.step, self.rounds))
        shown = trials.shown_rounds(self.rounds, self.points)
        inputs = [path[t][0] for t in shown]
        random = self._random("points")
        inputs += [normal(random, *problem.start.shape).to(problem.start.device) for _ in range(self.points)]
        points = [attack.evaluate(x) for x in inputs]
        constants = attack.constants([*special, *points])
        yield from self._non_critical(attack, points)
        yield from self._semi_smoothness([*special, *points], constants)
        yield from self._condition(constants, attack.full_rank)
        losses = np.stack([to_numpy(loss) for _, loss in path])
        logs = {t: np.log10(losses[t] / losses[0]) for t in shown}
        early, late = (np.log(losses[t] / losses[t + self.rounds // 2]) for t in (0, self.rounds // 2))
        yield Row("slowing", bound=MEDIAN).counted((late < early / 2).sum(), self.trials)
        if problem.lipschitz is None:
            yield from (Row("log_loss", round=t).mean(values) for t, values in logs.items())
            return
        kept = attack.full_rank
        for t, values in logs.items():
            bound = t * float(np.log10(1 - descent.rate[kept]).mean())
            yield Row("log_loss", round=t, bound=bound).mean(values[kept])
        twice = np.stack([to_numpy(loss) for _, loss in attack.descend(2 * descent.step, self.rounds)])
        for quantity, of in (("contraction", losses), ("contraction_twice", twice)):
            allowed = of[:-1] * (1 - descent.rate)
            judged = (allowed > 0) & np.isfinite(allowed)  # not after the loss has vanished, or run away
            ratios = np.divide(of[1:], allowed, out=np.zeros_like(allowed), where=judged)
            yield Row(quantity).exceedances(ratios.max(axis=0)[kept], 1.0)
        yield Row("contraction_still").exceedances(1 / (1 - descent.rate[kept]), 1.0)
        *_, (last, _) = attack.descend(descent.safe, self.recovery_rounds)
        yield self._recovery_row("recovered", attack, last)
        yield self._recovery_row("recovered_still", attack, problem.start)

    def _non_critical(self, attack: GradientMatching, points: Sequence[Evaluation]) -> Iterator[Row]:
        for suffix, between in NON_CRITICAL.items():
            excesses = [non_critical_excess(point, *between(attack.constants([point]))) for point in points]
            yield Row(f"non_critical{suffix}").exceedances(np.max(excesses, axis=0), 1.0)

    def _semi_smoothness(self, points: Sequence[Evaluation], constants: leakage.LeakageConstants) -> Iterator[Row]:
        for suffix, allowed in SEMI_SMOOTHNESS.items():
            a, b = allowed(constants)
            excesses = [semi_smoothness_excess(x, y, a, b) for x in points for y in points if x is not y]
            yield Row(f"semi_smoothness{suffix}").exceedances(np.max(excesses, axis=0), 1.0)

    def _condition(self, constants: leakage.LeakageConstants, full_rank: np.ndarray) -> Iterator[Row]:
        a, _ = leakage.semi_smoothness(constants)
        for suffix, between in NON_CRITICAL.items():
            low, high = between(constants)
            values = leakage.condition_7_5(low[full_rank], high[full_rank], a[full_rank])
            yield Row(f"condition{suffix}").exceedances(values, 1.0)

    def _residual(self, operators: Sketch) -> Iterator[Row]:
        random = self._random("residual")
        problem = residual(random, self.trials, self.family.d, variation=self.variation)
        attack = GradientMatching(problem, operators)
        constants = attack.constants([])
        descent = attack.descent(constants)
        kept = descent.rate > 0
        log.info("residual: %d of %d operators fulfil the theorem", kept.sum(), self.trials)
        private = attack.evaluate(attack.problem.private)
        inputs = [attack.problem.start, *(normal(random, *problem.start.shape) for _ in range(self.points))]
        points = [private, attack.steepest_neighbour(private), *(attack.evaluate(x.to(private.x)) for x in inputs)]
        pairs = [(x, y) for x in points for y in points if x is not y]
        turned = np.max([variation_of(x, y) for x, y in pairs], axis=0) / self.variation
        critical = [non_critical_excess(x, *leakage.non_critical(constants)) for x in points[1:]]
        smooth = [semi_smoothness_excess(x, y, *attack.semi_smoothness(constants)) for x, y in pairs]
        yield Row("assumptions").exceedances(np.max([turned, *critical, *smooth], axis=0), 1.0)
        yield Row("assumptions_half").exceedances(2 * turned, 1.0)
        if not kept.any():
            return
        for name, factor in (("contraction", 1), ("contraction_thrice", 3)):
            losses = np.stack([to_numpy(loss) for _, loss in attack.descend(factor * descent.step, self.rounds)])
            left = losses[1:] / np.maximum(losses[:-1], NOTHING_LEFT * losses[0]) / (1 - descent.rate)
            yield Row(name).exceedances(left.max(axis=0)[kept], 1.0)
        yield Row("contraction_still").exceedances(1 / (1 - descent.rate[kept]), 1.0)

    def _recovery_row(self, quantity: str, attack: GradientMatching, x: torch.Tensor) -> Row:
        row, spectrum = Row(quantity), self.known.spectrum
        if spectrum is not None:
            row = row.replace(exact=float(spectrum(d=self.family.d, b=self.family.b).rank / self.family.d))
        return row.mean(attack.recovered_share(x))
