"""How far a sketch is from an isometry on sparse vectors."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.sketch.family import Family
from sketchbench.task import trials
from sketchbench.theory.isometry import proposition_1


@dataclass(frozen=True)
class Isometry:
    """For a fresh operator and a fresh random support S of k coordinates in each trial, rows

    `isometry`: δ_S, the largest |‖Rx‖² - 1| over unit vectors x on S, from the eigenvalues of R_SᵀR_S;
    a lower bound on the restricted isometry constant δ_k, which is the largest over all supports.
    Its bound is the shape of tang2021 Proposition 1 only, without the constant.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: int
    k: int

    def run(self) -> list[dict[str, Any]]:
        d, b = self.family.d, self.family.b
        if not 1 <= self.k <= d:
            raise ValueError(f"number of nonzeros k={self.k} must satisfy 1 <= k <= d={d}")
        key = seeds.key(self.seed, task="isometry", family=repr(self.family))
        random = seeds.generator(self.seed, data="supports", d=d, k=self.k)
        deltas = []
        for first, count in trials.blocks(self.trials, self.k * d):
            vectors = np.zeros((count, self.k, d))
            for t in range(count):
                vectors[t, np.arange(self.k), random.choice(d, self.k, replace=False)] = 1
            stack = self.family.draw(key, operators=count, first=first, kernels=self.kernels)
            columns = stack.sketch(self.kernels.asarray(vectors), check_finite=False)
            gram = self.kernels.to_numpy(columns @ columns.swapaxes(-1, -2))
            deltas.append(abs(np.linalg.eigvalsh(gram) - 1).max(axis=-1))
        bound = proposition_1(d=d, b=b, k=self.k)
        return [{"quantity": "isometry", "bound": bound, **summarize(np.concatenate(deltas))}]
