"""What a client of double-blind learning can make of two broadcasts: zhang2021 Remark 1."""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


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
