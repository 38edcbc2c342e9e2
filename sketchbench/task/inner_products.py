"""The largest inner product of two different columns of a sketch."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import exceeding
from sketchbench.measure.summary import summarize
from sketchbench.sketch.family import Family
from sketchbench.task import trials
from sketchbench.theory.known import Known


@dataclass(frozen=True)
class InnerProducts:
    """With M = max over i ≠ j of |⟨R_i, R_j⟩| in every draw, rows

    `largest`: M, against a bound that holds in every draw, where one is known;
    `scaled`: M √b / √(log d), which the scaling √(log d / b) keeps bounded;
    `exceedance`: per reading of the lemma and δ, how often M reaches the threshold, against 2δ;
    `constant`: per reading and δ, the smallest factor on the threshold that M exceeds in a share δ
    of the draws only (as `mean`; one number, from all draws).
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: int
    deltas: list[float]

    def run(self) -> list[dict[str, Any]]:
        trials.check_deltas(self.deltas)
        d, b, xp = self.family.d, self.family.b, self.kernels.xp
        if d < 2:
            raise ValueError(f"inner products of two columns need d >= 2, not d={d}")
        key = seeds.key(self.seed, task="inner_products", family=repr(self.family))
        diagonal = xp.arange(d)
        maxima = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, d):
            matrix = sketch.materialize()
            gram = abs(matrix.swapaxes(-1, -2) @ matrix)
            gram[:, diagonal, diagonal] = 0.0
            maxima.append(gram.max(axis=(-1, -2)))
        measured = self.kernels.to_numpy(xp.concatenate(maxima))
        sure = self.known.inner_products.get("always")
        scaled = measured * math.sqrt(b / math.log(d))
        rows: list[dict[str, Any]] = [
            {
                "quantity": "largest",
                "bound": sure() if sure else None,
                "count": exceeding(measured, sure()) if sure else None,
                **summarize(measured),
            },
            {"quantity": "scaled", **summarize(scaled)},
        ]
        for reading, threshold in self.known.inner_products.items():
            for delta in self.deltas if reading != "always" else []:
                level = threshold(delta, d=d, b=b)
                shared = {"case": reading, "delta": delta, "threshold": level}
                rows.append(
                    {
                        "quantity": "exceedance",
                        **shared,
                        "count": int((measured >= level).sum()),
                        "trials": measured.size,
                        "bound": 2 * delta,
                    }
                )
                factor = float(np.quantile(measured, 1 - delta, method="higher")) / level
                rows.append({"quantity": "constant", **shared, "mean": factor})
        return rows
