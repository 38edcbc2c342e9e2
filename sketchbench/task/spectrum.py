"""The singular values of sketches, which decide what an attacker sees of a gradient."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.sketch.family import Family
from sketchbench.sketch.spectrum import rank, singular_values
from sketchbench.task import trials
from sketchbench.theory.known import Known

EXPECTED = 25  # draws of deficient rank, and others, that must be expected for a judgement


@dataclass(frozen=True)
class Spectrum:
    """For a fresh operator R in each trial, rows

    `norm`: ‖R‖ = γ₂, in the case `printed` against the 1 that song2023 gives to typical sketches (Appendix M), in the
    case `derived` against its exact mean, or a bound of it.
    `gamma_1`: the smallest singular value of Rᵀ, against its exact mean; where there is only a bound from
    below, `gamma_1_missing`: by how much it stays below that.
    `lost_rows`: b less the rank of R, with the number of draws where there is any; `deficient`: whether there
    is, against the exact probability. Neither this nor γ₁ has an exact value beside it where the draws of deficient
    rank, or the others, are too rare to be judged.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: int

    def run(self) -> list[dict[str, Any]]:
        d, b = self.family.d, self.family.b
        if b > d:
            raise ValueError(f"sketch size b={b} must be <= d={d} for Rᵀ to have b singular values")
        if self.known.spectrum is None:
            raise ValueError("the sketch's config needs a spectrum under `theory`")
        return list(self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        assert self.known.spectrum is not None
        d, b = self.family.d, self.family.b
        expected = self.known.spectrum(d=d, b=b)
        key = seeds.key(self.seed, task="spectrum", family=repr(self.family))
        values, ranks = [], []
        for stack in trials.operators(self.family, key, self.kernels, self.trials, d):
            values.append(singular_values(stack))
            ranks.append(rank(values[-1], stack))
        found, lost = np.concatenate(values), b - np.concatenate(ranks)
        smallest, norm = found[:, 0], found[:, -1]
        yield {"quantity": "norm", "case": "printed", "exact": 1.0, **summarize(norm)}
        derived = {"case": "derived"}
        kind = "exact" if expected.exact else "bound"
        yield {"quantity": "norm", **derived, kind: expected.largest, **summarize(norm)}
        often = self.trials * min(expected.deficient, 1 - expected.deficient) >= EXPECTED
        settled = expected.exact and (often or expected.deficient == 0)
        exact = {"exact": expected.smallest} if settled else {}
        yield {"quantity": "gamma_1", **derived, **exact, **summarize(smallest)}
        if not expected.exact:
            missing = summarize(expected.smallest - smallest)
            yield {"quantity": "gamma_1_missing", **derived, "bound": 0.0, **missing}
        exact = {"exact": expected.deficient} if often else {}
        yield {"quantity": "deficient", **derived, **exact, **summarize(lost > 0)}
        # fewer than one row is none
        yield {"quantity": "lost_rows", **trials.exceedances(lost.astype(float), 0.5)}
