"""Restricted isometries."""

import math


def proposition_1(*, d: int, b: int, k: int) -> float:
    """The δ for which b rows of an orthogonal d x d matrix are enough for δ_k <= δ, up to a constant and
    to factors log(1/δ): √(k log²k log d / b) (tang2021 Proposition 1, from Haviv and Regev)."""
    return math.sqrt(k * math.log(max(k, 2)) ** 2 * math.log(max(d, 2)) / b)
