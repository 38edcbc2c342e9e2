"""How often gᵀRᵀRh strays far from gᵀh."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import exceeding
from sketchbench.measure.summary import summarize
from sketchbench.sketch.family import Family
from sketchbench.task import trials, vectors
from sketchbench.theory.known import Known


@dataclass(frozen=True)
class Tails:
    """For pairs (g, h) of unit norm and the error |gᵀRᵀRh - gᵀh|, rows

    `exceedance`: per lemma and δ, how often the error reaches the lemma's threshold, against 2δ;
    `largest_error`: per sure lemma, the errors, against the threshold that none may exceed;
    `tail`: the empirical tail, how often the error reaches each of `points` thresholds from 0.02 to
    1 + d/b, the largest error that a sound sampling of coordinates can make.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: int
    pairs: list[str]
    deltas: list[float]
    points: int

    def run(self) -> list[dict[str, Any]]:
        trials.check_deltas(self.deltas)
        d = self.family.d
        pairs = [vectors.pair(name, d, self.seed) for name in self.pairs]
        g, h = (self.kernels.asarray(np.array(side)) for side in zip(*pairs, strict=True))
        inner = (g * h).sum(axis=-1)
        key = seeds.key(self.seed, task="tails", family=repr(self.family))
        errors = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, len(pairs)):
            products = (trials.desketched(sketch, h[None]) * g).sum(axis=-1)
            errors.append(abs(products - inner))
        measured = self.kernels.to_numpy(self.kernels.xp.concatenate(errors))
        return [row for index, name in enumerate(self.pairs) for row in self._rows(name, measured[:, index])]

    def _rows(self, name: str, errors: Any) -> list[dict[str, Any]]:
        sizes = {"d": self.family.d, "b": self.family.b}
        rows: list[dict[str, Any]] = []
        for lemma, threshold in self.known.tails.items():
            for delta in self.deltas:
                level = threshold(delta, **sizes)
                rows.append(
                    {
                        "quantity": "exceedance",
                        "case": name,
                        "lemma": lemma,
                        "delta": delta,
                        "threshold": level,
                        "count": int((errors >= level).sum()),
                        "trials": errors.size,
                        "bound": 2 * delta,
                    }
                )
        for lemma, threshold in self.known.always.items():
            level = threshold(min(self.deltas), **sizes)
            rows.append(
                {
                    "quantity": "largest_error",
                    "case": name,
                    "lemma": lemma,
                    "bound": level,
                    "count": exceeding(errors, level),
                    **summarize(errors),
                }
            )
        for level in np.geomspace(0.02, 1 + self.family.d / self.family.b, self.points):
            rows.append(
                {
                    "quantity": "tail",
                    "case": name,
                    "threshold": float(level),
                    "count": int((errors >= level).sum()),
                    "trials": errors.size,
                }
            )
        return rows
