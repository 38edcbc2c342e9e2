"""The deviation of sketches from isometries on sparse vectors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials
from sketchbench.theory.isometry import proposition_1

KINDS = 3  # kinds of supports


@dataclass(frozen=True)
class Isometry(Checked):
    """Measures how much R changes the norm of sparse vectors.

    δ_S is the largest |‖Rx‖² - 1| of unit vectors x on a support S. The restricted isometry constant δ_k is the largest
    δ_S of all supports of k coordinates. Every trial has a fresh R and three supports of k coordinates: a random
    support, a block, and an arithmetic progression over all d, which poorly randomised rows of a transform can't tell
    apart. Raises ValueError for k > d.

    Rows:
        isometry: mean of δ_S of random supports; bound: the formula of tang2021 Proposition 1, with the constant 1, as
            the paper gives none.
        constant: mean of the largest of the three δ_S over that formula, a lower bound of its constant.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of operators
    k: Count  # number of coordinates in a support

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k > self.family.d:
            raise ValueError(f"number of nonzeros k={self.k} must satisfy k <= d={self.family.d}")

    def run(self) -> list[Row]:
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
        largest = np.concatenate(constants)
        return [
            Row("isometry", bound=bound).mean(largest[:, 0]),
            Row("constant").mean(largest.max(axis=1) / bound),
        ]

    def _supports(self, random: np.random.Generator, starts: np.random.Generator) -> Iterator[np.ndarray]:
        """A random support, a block, and an arithmetic progression: the coordinates of each, (k,)."""
        d = self.family.d
        yield random.choice(d, self.k, replace=False)
        for stride in (1, d // self.k):
            yield (starts.integers(d) + stride * np.arange(self.k)) % d
