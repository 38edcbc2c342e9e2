"""Semi-smoothness of functions: song2023 Definition 7.2, Table 2, Lemmas I.8 and I.9, and Facts C.4 and C.5."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count
from sketchbench.kernels import Kernels
from sketchbench.measure.row import MEDIAN, Row, exceeding
from sketchbench.sketch.family import Family
from sketchbench.theory import semi_smooth
from sketchbench.theory.semi_smooth import FUNCTIONS, POWER, Numbers, allowed_by_lemma_i_9, remainder

log = logging.getLogger(__name__)

SCALES = (1e-2, 10.0)  # the smallest and largest scale of pairs
APART = 0.1  # least distance of a pair, relative to its scale, so that rounding does not matter


@dataclass(frozen=True)
class SemiSmoothness(Checked):
    """Measures the semi-smoothness of functions L on `trials` sets of `pairs` random pairs of inputs (x, y). Pairs have
    scales between 1/100 and 10. The fields family and kernels are not used.

    Rows by `case`, the function of u = wᵀx with ‖w‖ = 1 (`theory.semi_smooth`), with the largest value over the pairs
    of a trial, and the number of trials in which it exceeds the bound 1:

    - `curvature`: L(y) - L(x) - L'(x)(y - x) over (y - x)², which is at most 1 if L is (0, 1, p)-semi-smooth.
      `contained` counts the trials in which it is at most 1; bound: 1/2, for a probability.
    - `lemma_I_8`: for functions with a β-Lipschitz gradient, the curvature over the lemma's b = β/2. `lemma_I_8_half`:
      over half of b, a negative control.
    - `lemma_I_9`: for 1 + |u|^(3/2), whose gradient is semi-Lipschitz with p = 1/2, L(y) - L(x) - L'(x)(y - x) over the
      lemma's bound. `lemma_I_9_third`: over a third of it, a negative control.
    - `contained_gradient`, `contained_convexity`, `contained_critical`: the number of trials in which all pairs keep
      the other columns of Table 2, with constants of 1 and 2 and some p of 0, 1/2 and 1; bound: 1/2, for a probability.
      `broken_gradient`, `broken_convexity`, `broken_critical`: the number of trials in which some pair does not.
    - `fact_C_4`, `fact_C_5`: for convex and strongly convex functions, the fact's left side over its bound.
      `fact_C_4_half`, `fact_C_5_double`: with half of L and twice μ, negative controls.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    pairs: Count

    def run(self) -> list[Row]:
        rows: list[Row] = []
        for case in FUNCTIONS:
            rows += [row.replace(case=case) for row in self._of(case)]
        x, y = self._points("power")
        ratio = (remainder(POWER, x, y) / allowed_by_lemma_i_9(x, y)).max(axis=1)
        for name, factor in (("lemma_I_9", 1), ("lemma_I_9_third", 3)):
            rows.append(Row(name, case="1 + |u|^(3/2)").exceedances(factor * ratio, 1.0))
        return [*rows, *self._columns(), *self._facts()]

    def _of(self, case: str) -> Iterator[Row]:
        function = FUNCTIONS[case]
        x, y = self._points(case)
        if function.positive:
            x, y = np.exp(x / 2), np.exp(y / 2)
        curvature = (remainder(function, x, y) / (y - x) ** 2).max(axis=1)
        log.info("%s: %d trials, largest curvature %.3g", case, self.trials, curvature.max())
        yield Row("curvature").exceedances(curvature, 1.0)
        yield Row("contained", bound=MEDIAN).counted(self.trials - exceeding(curvature, 1.0), self.trials)
        if function.smoothness:
            for name, factor in (("lemma_I_8", 2), ("lemma_I_8_half", 4)):
                yield Row(name).exceedances(factor * curvature / function.smoothness, 1.0)

    def _columns(self) -> Iterator[Row]:
        for case, function in semi_smooth.ROWS.items():
            x, y = self._points(case)
            for name, kept in semi_smooth.COLUMNS.items():
                trials = [kept(function, x, y, p).all(axis=1) for p in semi_smooth.POWERS]
                count = int(np.any(trials, axis=0).sum())
                yield Row(f"contained_{name}", case=case, bound=MEDIAN).counted(count, self.trials)
                yield Row(f"broken_{name}", case=case, bound=MEDIAN).counted(self.trials - count, self.trials)

    def _facts(self) -> Iterator[Row]:
        for case in semi_smooth.SMOOTH:
            yield from _fact("fact_C_4", "half", case, semi_smooth.fact_c_4(case, *self._points(case)))
        for case in semi_smooth.STRONGLY_CONVEX:
            yield from _fact("fact_C_5", "double", case, semi_smooth.fact_c_5(case, self._points(case)[0]))

    def _points(self, case: str) -> tuple[Numbers, Numbers]:
        """Random pairs x and y, each (trials, pairs), with a random scale for each pair."""
        random = seeds.generator(self.seed, task="semi_smoothness", case=case)
        scale = np.exp(random.uniform(np.log(SCALES[0]), np.log(SCALES[1]), (self.trials, self.pairs)))
        x, move = random.standard_normal((2, self.trials, self.pairs))
        return scale * x, scale * (x + move + APART * np.sign(move))


def _fact(name: str, worse: str, case: str, ratio: Numbers) -> Iterator[Row]:
    """The rows of a fact and of its negative control, for the ratios of all pairs, (trials, pairs)."""
    largest = ratio.max(axis=1)
    yield Row(name, case=case).exceedances(largest, 1.0)
    yield Row(f"{name}_{worse}", case=case).exceedances(2 * largest, 1.0)
