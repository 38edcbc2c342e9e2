"""Double-blind learning: what a client can make of two broadcasts (zhang2021 Remark 1), and sketching as a regulariser
(§5.3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


def missed(before: Matrix, after: Matrix, update: Matrix) -> float:
    """min ‖before Z₁ - after Z₂ - update‖² over Z₁ and Z₂, over ‖update‖² (zhang2021 Remark 1).

    Arguments:
        before: the sketched weights W_old S_old, (d_out, s).
        after: W_new S_new, (d_out, s).
        update: Δ, (d_out, d_in).

    What is missed is outside of the span of the 2s columns; that of generic weights is all of R^d_out for
    d_out <= 2s, and then nothing is. By the singular value decomposition; O(d_out² s + d_out s d_in).

    >>> missed(np.array([[1.0], [0.0]]), np.array([[2.0], [0.0]]), np.array([[3.0], [4.0]]))
    0.64
    """
    left, values, _ = np.linalg.svd(np.hstack([before, -after]), full_matrices=False)
    span = left[:, values > 1e-10 * values.max()]
    rest = update - span @ (span.T @ update)
    return float((rest**2).sum() / (update**2).sum())


def penalty(features: Matrix, weights: Vector, second_moment: Callable[..., Any], *, size: int) -> float:
    """What an unbiased sketch adds to the squared loss Σ (x_jᵀw - y_j)²/2n of a linear model: half the mean variance
    of x_jᵀSSᵀw (zhang2021 Eq. (5) less Eq. (4), for this loss; ours). It doesn't depend on the labels.

    Arguments:
        features: (n, d).
        weights: (d,).
        second_moment: as in theory.second_moment.
        size: of the sketch.
    """
    plain = features @ weights
    moments = second_moment(features, np.broadcast_to(weights, features.shape), b=size)
    return float((moments - plain**2).mean() / 2)


def dropout_penalty(features: Matrix, weights: Vector, *, kept: float) -> float:
    """What dropout adds to that loss where each feature is kept, and scaled by 1/kept, with the probability `kept`,
    independently: (1 - kept)/kept · Σ_i w_i² mean_j(x_ji²)/2 (Wager, Wang and Liang 2013).

    >>> dropout_penalty(np.array([[2.0, 0.0]]), np.array([1.0, 5.0]), kept=0.5)
    2.0
    """
    return float((1 - kept) / kept * (features**2 @ weights**2).mean() / 2)
