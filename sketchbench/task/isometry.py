"""How far a sketch is from an isometry on sparse vectors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.parameters import Checked, Count, Several
from sketchbench.sketch.family import Family
from sketchbench.task import trials
from sketchbench.theory.isometry import proposition_1

KINDS = 3  # of supports


@dataclass(frozen=True)
class Isometry(Checked):
    """Measures how far R is from preserving the norm of sparse vectors.

    Every trial has a fresh R and three supports S of k coordinates: random ones, a block, and an arithmetic progression
    as wide as d allows, which rows of a transform that are not random enough can't tell apart. δ_S is the largest
    |‖Rx‖² - 1| of unit vectors x on S. It is at most the restricted isometry constant δ_k, the largest δ_S of all.

    Rows:
        isometry: mean of δ_S of the random supports. Bound: the shape of tang2021 Proposition 1, whose constant the
            paper does not give.
        constant: mean of the largest of the three δ_S, over that shape: a lower bound of the constant.

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
        """Measure, by the eigenvalues of R_SᵀR_S; returns the two rows."""
        d, b = self.family.d, self.family.b
        key = seeds.key(self.seed, task="isometry", family=repr(self.family))
        random = seeds.generator(self.seed, data="supports", d=d, k=self.k)
        starts = seeds.generator(self.seed, data="starts", d=d, k=self.k)
        constants = []
        for first, count in trials.blocks(self.trials, KINDS * self.k * d):
            vectors = np.zeros((count, KINDS, self.k, d))
            for t in range(count):
                for kind, support in enumerate(self._supports(random, starts)):
                    vectors[t, kind, np.arange(self.k), support] = 1
            stack = self.family.draw(key, operators=count, first=first, kernels=self.kernels)
            flat = self.kernels.asarray(vectors.reshape(count, KINDS * self.k, d))
            columns = stack.sketch(flat, check_finite=False).reshape(count, KINDS, self.k, b)
            gram = self.kernels.to_numpy(columns @ columns.swapaxes(-1, -2))
            constants.append(abs(np.linalg.eigvalsh(gram) - 1).max(axis=-1))
        bound = proposition_1(d=d, b=b, k=self.k)
        found = np.concatenate(constants)
        return [
            Row("isometry", bound=bound).mean(found[:, 0]),
            Row("constant").mean(found.max(axis=1) / bound),
        ]

    def _supports(self, random: np.random.Generator, starts: np.random.Generator) -> Iterator[np.ndarray]:
        """A random support, a block and a progression, (k,) each."""
        d = self.family.d
        yield random.choice(d, self.k, replace=False)
        for stride in (1, d // self.k):
            yield (starts.integers(d) + stride * np.arange(self.k)) % d
