"""Errors of sketched weight matrices (zhang2021 §5.2, Appendix C). S = Rᵀ has shape (d, s).

A and B have shapes (n, d) and (m, d); W_old and W_new (d_out, d) and V (r, d).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def product_error(a: Matrix, b: Matrix, *, size: int) -> float:
    """E‖ASSᵀBᵀ - ABᵀ‖² for a CountSketch of `size` buckets (zhang2021 Lemma 5, an identity).

    (1/s) Σ_ij Σ_{k≠l} (a_ik² b_jl² + a_ik b_jk a_il b_jl), summed here as whole squares less the
    terms with k = l. O((n + m) d + n m d).
    """
    all_pairs = (a**2).sum() * (b**2).sum() + ((a @ b.T) ** 2).sum()
    same = 2 * ((a**2).sum(axis=0) * (b**2).sum(axis=0)).sum()
    return float(all_pairs - same) / size


def product_variance(a: Matrix, b: Matrix, second_moment: Callable[..., Any], *, size: int) -> float:
    """E‖ASSᵀBᵀ - ABᵀ‖² for any unbiased sketch: the sum of the variances of all entries; ours.

    second_moment: as in theory.second_moment. O(n m) times what it costs.
    """
    total = 0.0
    for row in a:
        total += float((second_moment(np.broadcast_to(row, b.shape), b, b=size) - (b @ row) ** 2).sum())
    return total


def update_error(old: Matrix, new: Matrix, v: Matrix, *, size: int) -> float:
    """E‖Δ̂Vᵀ - ΔVᵀ‖² for independent sketches of the old and new weights (zhang2021 Theorem 2)."""
    return product_error(old, v, size=size) + product_error(new, v, size=size)


def update_error_plain(old: Matrix, new: Matrix, *, size: int) -> float:
    """E‖Δ̂ - Δ‖² = ((d - 1)/s)(‖W_old‖² + ‖W_new‖²): V = I (zhang2021 Theorem 1, made exact)."""
    return float((old.shape[-1] - 1) / size * ((old**2).sum() + (new**2).sum()))
