"""A client's estimates of an update from sketched weights: the identities of zhang2021."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials
from sketchbench.theory import weight_sketch
from sketchbench.theory.known import Known

Matrix = NDArray[np.float64]
Case = Literal["centred", "uncentred", "structured"]


@dataclass(frozen=True)
class WeightSketch(Checked):
    """Measures the errors of products and updates that are computed from sketched weights.

    The weights W_old and W_new (outputs, d) and the features V (features, d) are fixed, and every trial draws two fresh
    sketches S = Rᵀ. With Δ = W_old - W_new and Δ̂ = W_old S_old S_oldᵀ - W_new S_new S_newᵀ, all errors are squared
    Frobenius norms over the paper's value, so that 1 is exact for a CountSketch.

    Rows for each case and `reading`; exact: 1 for the reading `printed`, the paper's value; for `family`, the value
    that follows from the family's second moments, if these are known:
        update_error: mean of ‖Δ̂Vᵀ - ΔVᵀ‖² over the value of Theorem 2.
        product_error: mean of ‖W_old S Sᵀ Vᵀ - W_old Vᵀ‖² over the value of Lemma 5.
        plain_error: mean of ‖Δ̂ - Δ‖² over the value of Theorem 1.

    Further rows for each case:
        cross_term: mean of the mixed term of ‖Δ̂Vᵀ - ΔVᵀ‖² over the value of Theorem 2; exact: 0 (Lemma 4).
        relative_error: mean of ‖W_old S Sᵀ Vᵀ - W_old Vᵀ‖² / ‖W_old Vᵀ‖²; exact: from Lemma 5; bound: d/s, its order by
            Lemma 6 and Corollary 3.
        plain_relative: mean of ‖Δ̂ - Δ‖² / (‖W_old‖² + ‖W_new‖²); bound: d/s, its order by Theorem 1. Case `zero` is
            the estimate of zero, a negative control.

    Arguments:
        trials: number of pairs of sketches.
        cases: the kinds of matrices.
            centred: independent N(0, 1) entries, W_new a small step from W_old.
            uncentred: the same with N(1, 1) entries.
            structured: W_old of rank one with entries falling like 1/k, W_new a smaller step from it, V sparse.
        outputs: rows of the weight matrices.
        features: rows of V.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    cases: NonEmptyList[Case]
    outputs: Count
    features: Count

    def run(self) -> list[Row]:
        made = {case: self._matrices(case) for case in self.cases}
        old, new, _ = made[self.cases[0]]
        nothing = np.full(self.trials, ((old - new) ** 2).sum() / ((old**2).sum() + (new**2).sum()))
        zero = Row("plain_relative", case="zero", bound=self.family.d / self.family.b).mean(nothing)
        return [*(row for case in self.cases for row in self._rows(case, *made[case])), zero]

    def _matrices(self, case: Case) -> tuple[Matrix, Matrix, Matrix]:
        d = self.family.d
        random = seeds.generator(self.seed, data="weights", d=d, case=case)
        old = random.standard_normal((self.outputs, d))
        step = random.standard_normal((self.outputs, d))
        v = random.standard_normal((self.features, d))
        match case:
            case "centred":
                return old, old - 0.1 * step, v
            case "uncentred":
                return 1 + old, 1 + old - 0.1 * step, 1 + v
            case "structured":
                old = old[:, :1] / np.arange(1, d + 1)
                return old, old - 0.01 * step, v * (random.random(v.shape) < 0.1)

    def _rows(self, case: Case, old: Matrix, new: Matrix, v: Matrix) -> list[Row]:
        d, size = self.family.d, self.family.b
        measured = self._errors(case, old, new, v)
        update = weight_sketch.update_error(old, new, v, size=size)
        product = weight_sketch.product_error(old, v, size=size)
        plain = weight_sketch.update_error_plain(old, new, size=size)
        whole = float(((old @ v.T) ** 2).sum())
        relative = Row("relative_error", case=case, exact=product / whole, bound=d / size)
        rows = [
            Row("cross_term", case=case, exact=0.0).mean(measured["cross"] / update),
            relative.mean(measured["product"] / whole),
            Row("plain_relative", case=case, bound=d / size).mean(
                measured["plain"] / ((old**2).sum() + (new**2).sum())
            ),
        ]
        moment, eye = self.known.second_moment, np.eye(d)
        for name, printed, pairs in (
            ("update", update, [(old, v), (new, v)]),
            ("product", product, [(old, v)]),
            ("plain", plain, [(old, eye), (new, eye)]),
        ):
            row = Row(f"{name}_error", case=case).mean(measured[name] / printed)
            rows.append(row.replace(reading="printed", exact=1.0))
            if moment is not None:
                exact = sum(weight_sketch.product_variance(a, b, moment, size=size) for a, b in pairs)
                rows.append(row.replace(reading="family", exact=exact / printed))
        return rows

    def _errors(self, case: Case, old: Matrix, new: Matrix, v: Matrix) -> dict[str, NDArray[np.float64]]:
        """The squared errors of every trial, (trials,), by name."""
        axes = {"task": "weight_sketch", "family": repr(self.family), "case": case}
        sides = []
        for name, weights in (("old", old), ("new", new)):
            key = seeds.key(self.seed, weights=name, **axes)
            sides.append(trials.operators(self.family, key, self.kernels, self.trials, 2 * len(weights)))
        w_old, w_new, vt = (self.kernels.asarray(m) for m in (old, new, np.ascontiguousarray(v.T)))
        update, cross, product, plain = [], [], [], []
        for s_old, s_new in zip(*sides, strict=True):
            error_old = trials.sketch_and_desketch(s_old, w_old[None]) - w_old  # W_old (S Sᵀ - I)
            error_new = trials.sketch_and_desketch(s_new, w_new[None]) - w_new
            product_old, product_new = error_old @ vt, error_new @ vt
            update.append(((product_old - product_new) ** 2).sum(axis=(-1, -2)))
            cross.append(-2 * (product_old * product_new).sum(axis=(-1, -2)))
            product.append((product_old**2).sum(axis=(-1, -2)))
            plain.append(((error_old - error_new) ** 2).sum(axis=(-1, -2)))
        errors = {"update": update, "cross": cross, "product": product, "plain": plain}
        return {name: self.kernels.to_numpy(self.kernels.xp.concatenate(e)) for name, e in errors.items()}
