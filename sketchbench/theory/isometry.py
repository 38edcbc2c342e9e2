"""Restricted isometry constants of subsampled orthogonal matrices."""

import math

from sketchbench.base.parameters import Count, checked


@checked
def proposition_1(*, d: Count, b: Count, k: Count) -> float:
    """√(k log²k log d / b), the restricted isometry constant δ_k of b rows of an orthogonal d × d matrix, up to a
    constant and factors log(1/δ) (tang2021 Proposition 1, from Haviv and Regev)."""
    return math.sqrt(k * math.log(max(k, 2)) ** 2 * math.log(max(d, 2)) / b)
