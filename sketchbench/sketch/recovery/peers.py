"""Decoders for comparison with FIHT, each within a budget of applications of Φ and Φᵀ.

They work on a stored matrix, but the budget counts products with Φ and Φᵀ, which an algorithm needs if Φ is a fast
transform. Two implementations are scikit-learn's.

Every decoder takes Φ (b, d), y (b,), k, the number of nonzeros, 1 <= k <= d, and `applications`, the budget, >= 1; it
returns x (d,). It works on y in the unit of its largest entry, so that estimates scale with y from the smallest to the
largest number: scikit-learn's stopping rules have absolute thresholds. Wrong arguments raise ValueError or TypeError;
an estimate that exceeds float64 raises OverflowError.
"""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count, Positive, checked
from sketchbench.measure.numbers import Finite, Sample

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Decoder = Callable[[Matrix, Vector, int, int], Vector]
TINY = 2.0**-900  # a penalty that makes no difference
CG_STEPS = 3  # of conjugate gradients for each least squares problem (Needell and Tropp 2009)


@checked
def orthogonal_matching_pursuit(phi: Finite, y: Sample, k: Count, applications: Count) -> Vector:
    """scikit-learn's OMP. Each nonzero takes two applications: Φᵀ of the residual, and the new column of Φ."""
    from sklearn.linear_model import orthogonal_mp

    y, exponent = _in_own_unit(phi, y, k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # for stopping early, when the residual vanishes
        x = orthogonal_mp(phi, y, n_nonzero_coefs=max(1, min(k, applications // 2)), precompute=False)
    return _in_unit(np.asarray(x), exponent)


@checked
def cosamp(phi: Finite, y: Sample, k: Count, applications: Count) -> Vector:
    """CoSaMP (Needell and Tropp 2009). An iteration solves least squares, by three steps of conjugate gradients, on the
    union of the last support and the 2k largest entries of Φᵀ residual, and keeps the k largest entries of the
    solution. An iteration takes nine applications: for the residual, for its Φᵀ, before the steps, and two for each
    step."""
    y, exponent = _in_own_unit(phi, y, k)
    x = np.zeros(phi.shape[1])
    for _ in range(applications // (2 * CG_STEPS + 3)):
        proxy = phi.T @ (y - phi @ x)
        support = np.union1d(np.flatnonzero(x), np.argsort(-abs(proxy))[: 2 * k])
        estimate = np.zeros_like(x)
        estimate[support] = _least_squares(phi[:, support], y, x[support])
        x = np.zeros_like(x)
        kept = np.argsort(-abs(estimate))[:k]
        x[kept] = estimate[kept]
    return _in_unit(x, exponent)


@checked
def lasso(phi: Finite, y: Sample, k: Count, applications: Count, *, penalty: Positive) -> Vector:
    """The k largest entries of argmin ½‖y - Φx‖² + penalty ‖x‖₁, by scikit-learn's coordinate descent. The penalty has
    the unit of y, and must be scaled with y. A sweep over the coordinates takes two applications: it uses every column
    of Φ twice, for the inner product with the residual and for its update."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    y, exponent = _in_own_unit(phi, y, k)
    sweeps = max(1, applications // 2)
    with np.errstate(over="ignore", under="ignore"):  # beyond any slope, or none
        penalty = float(np.clip(np.ldexp(penalty, -exponent), TINY, 1 / TINY))
    model = Lasso(penalty / len(y), fit_intercept=False, max_iter=sweeps, tol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the budget ends before convergence
        x = np.array(model.fit(phi, y).coef_)
    x[np.argsort(-abs(x))[k:]] = 0
    return _in_unit(x, exponent)


def _in_own_unit(phi: Matrix, y: Vector, k: int) -> tuple[Vector, int]:
    """y / 2^e, whose largest magnitude is from 1/2 to 1, and e; raises ValueError for shapes that don't fit."""
    if phi.ndim != 2 or y.shape != phi.shape[:1] or k > phi.shape[1]:
        raise ValueError(f"phi of shape {phi.shape} must be (b, d), y of shape {y.shape} be (b,), and k={k} <= d")
    exponent = int(np.frexp(abs(y).max())[1])
    return np.ldexp(y, -exponent), exponent


def _in_unit(x: Vector, exponent: int) -> Vector:
    with np.errstate(over="ignore"):
        x = np.ldexp(x, exponent)
    if not np.isfinite(x).all():
        raise OverflowError("the estimate exceeds float64, which ends at 1.8e+308; scale the measurements down")
    return x


def _least_squares(phi: Matrix, y: Vector, start: Vector) -> Vector:
    """CG_STEPS steps of conjugate gradients for min ‖y - Φx‖₂, from `start`."""
    x = start.copy()
    residual = y - phi @ x
    slope = phi.T @ residual
    direction, squared = slope, float(slope @ slope)
    for _ in range(CG_STEPS):
        rise = phi @ direction
        curvature = float(rise @ rise)
        if curvature == 0.0:
            break
        step = squared / curvature
        x += step * direction
        residual -= step * rise
        slope = phi.T @ residual
        before, squared = squared, float(slope @ slope)
        direction = slope + squared / before * direction
    return x
