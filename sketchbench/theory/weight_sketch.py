"""Mean squared errors of sketched weight matrices (zhang2021 §5.2, Appendix C). S = Rᵀ has shape (d, s), `size` is s.
Shapes are (n, d) for A, (m, d) for B, (d_out, d) for W_old and W_new, and (r, d) for V."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sketchbench.base.parameters import Count, checked
from sketchbench.measure.numbers import Matrix


@checked
def product_error(a: Matrix, b: Matrix, *, size: Count) -> float:
    """E‖ASSᵀBᵀ - ABᵀ‖² for CountSketch, exact (zhang2021 Lemma 5): (1/s) Σ_ij Σ_{k≠l} (a_ik² b_jl² + a_ik b_jk a_il
    b_jl), computed as sums over all k and l minus k = l. O(n m d)."""
    _check_columns(a=a, b=b)
    all_pairs = (a**2).sum() * (b**2).sum() + ((a @ b.T) ** 2).sum()
    same = 2 * ((a**2).sum(axis=0) * (b**2).sum(axis=0)).sum()
    return float(all_pairs - same) / size


@checked
def product_variance(a: Matrix, b: Matrix, second_moment: Callable[..., Any], *, size: Count) -> float:
    """E‖ASSᵀBᵀ - ABᵀ‖² for an unbiased sketch, exact: the sum of the variances of all entries; ours.
    `second_moment` is a function of (g, h, b=size), as in `theory.second_moment`; it is evaluated at n m pairs."""
    _check_columns(a=a, b=b)
    total = 0.0
    for row in a:
        total += float((second_moment(np.broadcast_to(row, b.shape), b, b=size) - (b @ row) ** 2).sum())
    return total


@checked
def update_error(old: Matrix, new: Matrix, v: Matrix, *, size: Count) -> float:
    """E‖Δ̂Vᵀ - ΔVᵀ‖² for independent CountSketches of the old and new weights (zhang2021 Theorem 2)."""
    _check_columns(old=old, new=new, v=v)
    return product_error(old, v, size=size) + product_error(new, v, size=size)


@checked
def update_error_plain(old: Matrix, new: Matrix, *, size: Count) -> float:
    """E‖Δ̂ - Δ‖² = ((d - 1)/s)(‖W_old‖² + ‖W_new‖²): the case V = I (zhang2021 Theorem 1, here exact)."""
    _check_columns(old=old, new=new)
    return float((old.shape[-1] - 1) / size * ((old**2).sum() + (new**2).sum()))


def _check_columns(**matrices: Matrix) -> None:
    shapes = {name: matrix.shape for name, matrix in matrices.items()}
    if len({columns for _, columns in shapes.values()}) > 1:
        raise ValueError(f"the matrices have shapes {shapes}, which must have the same number of columns, d")
