"""The mean squared norm of a desketched sketch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.sketch.family import Family
from sketchbench.task import trials, vectors
from sketchbench.theory import norm
from sketchbench.theory.known import Known


@dataclass(frozen=True)
class Norms:
    """One row per vector h of norm 1, the second of its pair: `squared_norm`, E‖RᵀRh‖², with the
    exact value where it is known and the bound 1 + a d/b (song2023 Theorem 4.2(4)).
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: int
    pairs: list[str]

    def run(self) -> list[dict[str, Any]]:
        d, b = self.family.d, self.family.b
        h = np.array([vectors.pair(name, d, self.seed)[1] for name in self.pairs])
        key = seeds.key(self.seed, task="norms", family=repr(self.family))
        squares = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, len(h)):
            back = trials.desketched(sketch, self.kernels.asarray(h[None]))
            squares.append((back**2).sum(axis=-1))
        measured = self.kernels.to_numpy(self.kernels.xp.concatenate(squares))
        a = self.known.embedding_constant
        rows: list[dict[str, Any]] = []
        for index, name in enumerate(self.pairs):
            exact = self.known.norm(h[index], b=b) if self.known.norm else None
            bound = None if a is None else norm.bound(h[index], b=b, embedding_constant=a)
            rows.append(
                {
                    "quantity": "squared_norm",
                    "case": name,
                    "exact": None if exact is None else float(exact),
                    "bound": None if bound is None else float(bound),
                    **summarize(measured[:, index]),
                }
            )
        return rows
