"""How far a sketch is from an isometry on sparse vectors."""

from dataclasses import dataclass

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.parameters import Checked, Count, Several
from sketchbench.sketch.family import Family
from sketchbench.task import trials
from sketchbench.theory.isometry import proposition_1


@dataclass(frozen=True)
class Isometry(Checked):
    """Measures how far R is from preserving the norm of sparse vectors.

    Every trial has a fresh R and a random support S of k coordinates.

    One row:
        isometry: mean of δ_S, the largest |‖Rx‖² - 1| of unit vectors x on S. It is at most the restricted isometry
            constant δ_k, which is the largest δ_S of all supports. Bound: the shape of tang2021 Proposition 1, whose
            constant the paper does not give.

    Arguments:
        trials: number of operators.
        k: number of coordinates in a support.

    Raises:
        ValueError: for k > d.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: Several
    k: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k > self.family.d:
            raise ValueError(f"number of nonzeros k={self.k} must satisfy k <= d={self.family.d}")

    def run(self) -> list[Row]:
        """Measure, by the eigenvalues of R_SᵀR_S; returns the one row."""
        d, b = self.family.d, self.family.b
        key = seeds.key(self.seed, task="isometry", family=repr(self.family))
        random = seeds.generator(self.seed, data="supports", d=d, k=self.k)
        constants = []
        for first, count in trials.blocks(self.trials, self.k * d):
            vectors = np.zeros((count, self.k, d))
            for t in range(count):
                vectors[t, np.arange(self.k), random.choice(d, self.k, replace=False)] = 1
            stack = self.family.draw(key, operators=count, first=first, kernels=self.kernels)
            columns = stack.sketch(self.kernels.asarray(vectors), check_finite=False)
            gram = self.kernels.to_numpy(columns @ columns.swapaxes(-1, -2))
            constants.append(abs(np.linalg.eigvalsh(gram) - 1).max(axis=-1))
        bound = proposition_1(d=d, b=b, k=self.k)
        return [Row("isometry", bound=bound).mean(np.concatenate(constants))]
