"""Double-blind learning: updates that a client can express (zhang2021 Remark 1), and sketching as a penalty (§5.3)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sketchbench.base.parameters import Count, Share, checked
from sketchbench.measure.numbers import Finite, Matrix


@checked
def unreachable_share(before: Matrix, after: Matrix, update: Matrix) -> float:
    """The share of an update's energy that a client cannot express by two broadcasts (zhang2021 Remark 1).

    It is min ‖before Z₁ - after Z₂ - update‖² / ‖update‖² over Z₁ and Z₂: the part of Δ outside the span of the 2s
    columns. For generic weights with d_out <= 2s that span is all of R^d_out, and the share is 0. By singular value
    decomposition, O(d_out² s + d_out s d_in).

    Arguments:
        before: sketched weights W_old S_old, (d_out, s).
        after: sketched weights W_new S_new, (d_out, s).
        update: Δ, (d_out, d_in).

    >>> unreachable_share(np.array([[1.0], [0.0]]), np.array([[2.0], [0.0]]), np.array([[3.0], [4.0]]))
    0.64
    """
    if not len(before) == len(after) == len(update):
        raise ValueError(
            f"before, after and update have {len(before)}, {len(after)} and {len(update)} rows, which must be equal"
        )
    if not update.any():
        raise ValueError("the update is zero, so its energy share is undefined")
    left, values, _ = np.linalg.svd(np.hstack([before, -after]), full_matrices=False)
    span = left[:, values > 1e-10 * values.max()]
    rest = update - span @ (span.T @ update)
    return float((rest**2).sum() / (update**2).sum())


@checked
def penalty(features: Matrix, weights: Finite, second_moment: Callable[..., Any], *, size: Count) -> float:
    """The mean increase of a linear model's squared loss Σ (x_jᵀw - y_j)²/2n by an unbiased sketch S of its inputs:
    half the mean variance of x_jᵀSSᵀw, for any labels y (zhang2021 Eq. (5) minus Eq. (4), for this loss; ours).
    Features are rows x_j, (n, d), weights w, (d,); `second_moment` is one of `theory.second_moment`."""
    _check_weights(features, weights)
    plain = features @ weights
    moments = second_moment(features, np.broadcast_to(weights, features.shape), b=size)
    return float((moments - plain**2).mean() / 2)


@checked
def dropout_penalty(features: Matrix, weights: Finite, *, kept: Share) -> float:
    """The mean increase of the loss of `penalty` by dropout: (1 - kept)/kept · Σ_i w_i² mean_j(x_ji²)/2. Dropout keeps
    each feature with probability `kept`, independently, scaled by 1/kept (Wager, Wang and Liang 2013).

    >>> dropout_penalty(np.array([[2.0, 0.0]]), np.array([1.0, 5.0]), kept=0.5)
    2.0
    """
    _check_weights(features, weights)
    return float((1 - kept) / kept * (features**2 @ weights**2).mean() / 2)


def _check_weights(features: Matrix, weights: Finite) -> None:
    if np.shape(weights) != features.shape[1:]:
        raise ValueError(
            f"weights of shape {np.shape(weights)} must be one for each column of features {features.shape}"
        )
