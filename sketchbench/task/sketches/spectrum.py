"""The singular values of sketches, which determine an attacker's view of a gradient."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.spectrum import rank, singular_values
from sketchbench.task.sketches import trials
from sketchbench.theory.known import Known
from sketchbench.theory.leakage import ExpectedSpectrum

EXPECTED = 25  # the least expected number of draws of deficient rank, and of full rank, for a judgement


@dataclass(frozen=True)
class Spectrum(Checked):
    """Measures the singular values of Rᵀ, of shape (d, b), with a fresh R in every trial.

    γ₁ is the smallest and γ₂ = ‖R‖ the largest singular value (song2023 Theorem 7.8). For some families their means are
    known exactly, for others there are only bounds. Raises ValueError for b > d, or a sketch whose config states no
    spectrum.

    Rows:
        norm (case `printed`): mean of γ₂; exact: 1, the value of song2023 Appendix M for typical sketches.
        norm (case `derived`): mean of γ₂; exact or bound: its expectation, or the bound of it, as derived here.
        gamma_1: mean of γ₁; exact: its expectation, if it is known and can be judged.
        gamma_1_missing: for a family with only a lower bound of E γ₁, mean of that bound minus γ₁; bound: 0.
        deficient: share of the draws whose rank is below b; exact: its probability, if it can be judged.
        lost_rows: the largest b minus the rank of R, and the number of draws in which it is at least 1 (bound: 0.5).

    γ₁ and `deficient` can be judged if at least 25 draws of deficient rank, and as many of full rank, are expected, and
    γ₁ also if no deficient rank is possible.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of operators

    def __post_init__(self) -> None:
        super().__post_init__()
        d, b = self.family.d, self.family.b
        if b > d:
            raise ValueError(f"sketch size b={b} must be <= d={d} for Rᵀ to have b singular values")
        if self.known.spectrum is None:
            raise ValueError("the sketch's config needs a spectrum under `theory`")

    def run(self) -> list[Row]:
        """Draw the operators, and measure their singular values. O(trials d b²)."""
        assert self.known.spectrum is not None
        expected = self.known.spectrum(d=self.family.d, b=self.family.b)
        key = seeds.key(self.seed, task="spectrum", family=repr(self.family))
        values, ranks = [], []
        for stack in trials.operators(self.family, key, self.kernels, self.trials, self.family.d):
            values.append(singular_values(stack))
            ranks.append(rank(values[-1], stack))
        return list(self._rows(expected, np.concatenate(values), self.family.b - np.concatenate(ranks)))

    def _rows(self, expected: ExpectedSpectrum, values: NDArray[np.float64], lost: NDArray[np.int64]) -> Iterator[Row]:
        """The rows, from the singular values (trials, b) in ascending order, and b minus the rank (trials,)."""
        smallest, norm = values[:, 0], values[:, -1]
        judged = self.trials * min(expected.deficient, 1 - expected.deficient) >= EXPECTED
        settled = expected.exact and (judged or expected.deficient == 0)
        derived = "exact" if expected.exact else "bound"
        yield Row("norm", case="printed", exact=1.0).mean(norm)
        yield Row("norm", case="derived", **{derived: expected.largest}).mean(norm)
        yield Row("gamma_1", case="derived", exact=expected.smallest if settled else None).mean(smallest)
        if not expected.exact:
            yield Row("gamma_1_missing", case="derived", bound=0.0).mean(expected.smallest - smallest)
        yield Row("deficient", case="derived", exact=expected.deficient if judged else None).mean(lost > 0)
        yield Row("lost_rows").exceedances(lost, 0.5)  # any bound between none and one
