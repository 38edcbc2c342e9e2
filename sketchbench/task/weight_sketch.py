"""What a client learns of an update from sketched weights: the identities of zhang2021."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.sketch.family import Family
from sketchbench.task import trials
from sketchbench.theory import weight_sketch

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class WeightSketch:
    """Fixed weights W_old, W_new (outputs, d) and V (features, d), two fresh sketches per trial.

    With Δ = W_old - W_new and Δ̂ = W_old S_old S_oldᵀ - W_new S_new S_newᵀ, rows (all errors are
    squared Frobenius norms, as ratios to the value that the paper states, so their exact value is
    1 for a CountSketch)

    `update_error`: ‖Δ̂Vᵀ - ΔVᵀ‖² (Theorem 2); `cross_term`: the mixed term that Lemma 4 says has
    mean 0, relative to the same; `product_error`: ‖W_old S Sᵀ Vᵀ - W_old Vᵀ‖² (Lemma 5);
    `plain_error`: ‖Δ̂ - Δ‖² (Theorem 1);
    `relative_error`: ‖W_old S Sᵀ Vᵀ - W_old Vᵀ‖² / ‖W_old Vᵀ‖², whose `bound` column holds the d/s
    that Lemma 6 and Corollary 3 claim it grows like.

    Cases: centred: independent N(0, 1) entries; uncentred: N(1, 1); structured: W_old of rank one
    with entries falling like 1/k, W_new a small step from it, V sparse.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: int
    cases: list[str]
    outputs: int
    features: int

    def run(self) -> list[dict[str, Any]]:
        return [row for case in self.cases for row in self._case(case)]

    def _matrices(self, case: str) -> tuple[Matrix, Matrix, Matrix]:
        d = self.family.d
        random = seeds.generator(self.seed, data="weights", d=d, case=case)
        old = random.standard_normal((self.outputs, d))
        step = random.standard_normal((self.outputs, d))
        v = random.standard_normal((self.features, d))
        if case == "centred":
            return old, old - 0.1 * step, v
        if case == "uncentred":
            return 1 + old, 1 + old - 0.1 * step, 1 + v
        if case == "structured":
            old = old[:, :1] / np.arange(1, d + 1)
            return old, old - 0.01 * step, v * (random.random(v.shape) < 0.1)
        raise ValueError(f"case {case} is unknown; choose from centred, uncentred, structured")

    def _case(self, case: str) -> list[dict[str, Any]]:
        d, size, xp = self.family.d, self.family.b, self.kernels.xp
        old, new, v = self._matrices(case)
        axes = {"task": "weight_sketch", "family": repr(self.family), "case": case}
        sides = []
        for name, weights in (("old", old), ("new", new)):
            key = seeds.key(self.seed, weights=name, **axes)
            sides.append(trials.operators(self.family, key, self.kernels, self.trials, 2 * len(weights)))
        w_old, w_new, vt = (self.kernels.asarray(m) for m in (old, new, np.ascontiguousarray(v.T)))
        sums: dict[str, list[Any]] = {name: [] for name in ("update", "cross", "product", "plain")}
        for s_old, s_new in zip(*sides, strict=True):
            error_old = trials.desketched(s_old, w_old[None]) - w_old  # W_old (S Sᵀ - I)
            error_new = trials.desketched(s_new, w_new[None]) - w_new
            product_old, product_new = error_old @ vt, error_new @ vt
            sums["update"].append(((product_old - product_new) ** 2).sum(axis=(-1, -2)))
            sums["cross"].append(-2 * (product_old * product_new).sum(axis=(-1, -2)))
            sums["product"].append((product_old**2).sum(axis=(-1, -2)))
            sums["plain"].append(((error_old - error_new) ** 2).sum(axis=(-1, -2)))
        measured = {n: self.kernels.to_numpy(xp.concatenate(v)) for n, v in sums.items()}
        update = weight_sketch.update_error(old, new, v, size=size)
        product = weight_sketch.product_error(old, v, size=size)
        plain = weight_sketch.update_error_plain(old, new, size=size)
        whole = float(((old @ v.T) ** 2).sum())
        rows: list[dict[str, Any]] = [
            {"quantity": "update_error", "exact": 1.0, **summarize(measured["update"] / update)},
            {"quantity": "cross_term", "exact": 0.0, **summarize(measured["cross"] / update)},
            {"quantity": "product_error", "exact": 1.0, **summarize(measured["product"] / product)},
            {"quantity": "plain_error", "exact": 1.0, **summarize(measured["plain"] / plain)},
            {
                "quantity": "relative_error",
                "exact": product / whole,
                "bound": d / size,
                **summarize(measured["product"] / whole),
            },
        ]
        return [{"case": case, **row} for row in rows]
