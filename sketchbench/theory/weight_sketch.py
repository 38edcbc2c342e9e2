"""Mean squared errors of sketched weight matrices (zhang2021 §5.2, Appendix C). S = Rᵀ has shape (d, s).

Shapes are (n, d) for A, (m, d) for B, (d_out, d) for W_old and W_new, and (r, d) for V; `size` is s.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def product_error(a: Matrix, b: Matrix, *, size: int) -> float:
    """E‖ASSᵀBᵀ - ABᵀ‖² for CountSketch, exact (zhang2021 Lemma 5). O(n m d).

    It is (1/s) Σ_ij Σ_{k≠l} (a_ik² b_jl² + a_ik b_jk a_il b_jl), computed as sums over all k and l minus those with
    k = l.
    """
    all_pairs = (a**2).sum() * (b**2).sum() + ((a @ b.T) ** 2).sum()
    same = 2 * ((a**2).sum(axis=0) * (b**2).sum(axis=0)).sum()
    return float(all_pairs - same) / size


def product_variance(a: Matrix, b: Matrix, second_moment: Callable[..., Any], *, size: int) -> float:
    """E‖ASSᵀBᵀ - ABᵀ‖² for an unbiased sketch, exact: the sum of the variances of all entries; ours.

    `second_moment` is a function of (g, h, b=size), as in `theory.second_moment`; it is evaluated at n m pairs.
    """
    total = 0.0
    for row in a:
        total += float((second_moment(np.broadcast_to(row, b.shape), b, b=size) - (b @ row) ** 2).sum())
    return total


def update_error(old: Matrix, new: Matrix, v: Matrix, *, size: int) -> float:
    """E‖Δ̂Vᵀ - ΔVᵀ‖² for independent CountSketches of the old and new weights (zhang2021 Theorem 2)."""
    return product_error(old, v, size=size) + product_error(new, v, size=size)


def update_error_plain(old: Matrix, new: Matrix, *, size: int) -> float:
    """E‖Δ̂ - Δ‖² = ((d - 1)/s)(‖W_old‖² + ‖W_new‖²), which is V = I (zhang2021 Theorem 1, here exact)."""
    return float((old.shape[-1] - 1) / size * ((old**2).sum() + (new**2).sum()))
