"""The mean squared norm of desketched sketches, ‖RᵀRh‖²."""

from dataclasses import dataclass

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, NonEmptyList
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials, vectors
from sketchbench.theory import norm
from sketchbench.theory.known import Known


@dataclass(frozen=True)
class Norms(Checked):
    """Measures the squared norm of RᵀRh for unit vectors h, with a fresh R in every trial.

    Row for each h (`case`):
        squared_norm: mean of ‖RᵀRh‖²; exact: its expectation, if known; bound: 1 + a d/b (song2023 Theorem 4.2(4)), if
            the family's config claims an embedding constant a.

    Arguments:
        trials: number of operators.
        pairs: names of `vectors.pair`; h is the second vector of the pair.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    pairs: NonEmptyList[vectors.Pair]

    def run(self) -> list[Row]:
        d, b = self.family.d, self.family.b
        h = np.array([vectors.pair(name, d, self.seed)[1] for name in self.pairs])
        key = seeds.key(self.seed, task="norms", family=repr(self.family))
        squares = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, len(h)):
            back = trials.sketch_and_desketch(sketch, self.kernels.asarray(h[None]))
            squares.append((back**2).sum(axis=-1))
        measured = self.kernels.to_numpy(self.kernels.xp.concatenate(squares))
        a = self.known.embedding_constant
        rows: list[Row] = []
        for index, name in enumerate(self.pairs):
            row = Row("squared_norm", case=name)
            if self.known.norm:
                row = row.replace(exact=float(self.known.norm(h[index], b=b)))
            if a is not None:
                row = row.replace(bound=float(norm.bound(h[index], b=b, embedding_constant=a)))
            rows.append(row.mean(measured[:, index]))
        return rows
