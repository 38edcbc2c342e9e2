"""Decoders that FIHT is compared with, on a stored matrix, each within a number of applications of Φ and Φᵀ.

What is counted is what an algorithm needs where Φ is a fast transform, which is not stored: products with Φ and Φᵀ.
Two of the implementations are scikit-learn's.
"""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Decoder = Callable[[Matrix, Vector, int, int], Vector]
CG_STEPS = 3  # of a least squares problem (Needell and Tropp 2009)


def orthogonal_matching_pursuit(phi: Matrix, y: Vector, k: int, applications: int) -> Vector:
    """scikit-learn's. Each entry takes two applications: Φᵀ of the residual, and the new column of Φ.

    Arguments of all decoders are Φ (b, d), y (b,), the number of entries, and that of applications; they return x (d,).
    """
    from sklearn.linear_model import orthogonal_mp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it stops early where the residual vanishes
        found = orthogonal_mp(phi, y, n_nonzero_coefs=max(1, min(k, applications // 2)), precompute=False)
    return np.asarray(found)


def cosamp(phi: Matrix, y: Vector, k: int, applications: int) -> Vector:
    """CoSaMP (Needell and Tropp 2009): least squares, by three steps of conjugate gradients, on the union of the last
    support and the 2k largest entries of Φᵀ residual; of the solution the k largest are kept.

    An iteration takes the proxy, two applications for each step and one before them, and the residual: nine.
    """
    x = np.zeros(phi.shape[1])
    for _ in range(applications // (2 * CG_STEPS + 3)):
        proxy = phi.T @ (y - phi @ x)
        support = np.union1d(np.flatnonzero(x), np.argsort(-abs(proxy))[: 2 * k])
        estimate = np.zeros_like(x)
        estimate[support] = _least_squares(phi[:, support], y, x[support])
        x = np.zeros_like(x)
        kept = np.argsort(-abs(estimate))[:k]
        x[kept] = estimate[kept]
    return x


def lasso(phi: Matrix, y: Vector, k: int, applications: int, *, penalty: float) -> Vector:
    """scikit-learn's LASSO by coordinate descent, argmin ½‖y - Φx‖² + penalty ‖x‖₁, of which the k largest are kept.

    A sweep takes every column of Φ twice, for its inner product with the residual and for the change of that, so two
    applications.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    sweeps = max(1, applications // 2)
    model = Lasso(penalty / len(y), fit_intercept=False, max_iter=sweeps, tol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is to stop before
        x = np.array(model.fit(phi, y).coef_)
    x[np.argsort(-abs(x))[k:]] = 0
    return x


def _least_squares(phi: Matrix, y: Vector, start: Vector) -> Vector:
    """A few steps of conjugate gradients for min ‖y - Φx‖₂, from a start."""
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
