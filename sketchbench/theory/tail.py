"""Tail bounds for |gᵀRᵀRh - gᵀh| / (‖g‖‖h‖): the threshold that the papers' lemmas name.

Every function takes the failure probability δ, the dimension d (n in the paper) and the sketch size
b. The lemmas say that the threshold is exceeded with probability Θ(δ), read here as at most 2δ.
"""

import math


def dense(delta: float, *, d: int, b: int) -> float:
    """log^1.5(d/δ)/√b: SRHT and AMS (song2023 Lemma D.23), Gaussian (Lemma D.24)."""
    return math.log(d / delta) ** 1.5 / math.sqrt(b)


def count_sketch(delta: float, *, d: int, b: int) -> float:
    """log(1/δ): CountSketch (song2023 Lemma D.25); does not shrink with b."""
    return math.log(1 / delta)


def count_sketch_chebyshev(delta: float, *, d: int, b: int) -> float:
    """1/√(bδ): CountSketch (song2023 Lemma D.26). Chebyshev with variance 2/b, hence exactly 2δ."""
    return 1 / math.sqrt(b * delta)


def sparse(delta: float, *, d: int, b: int, s: int) -> float:
    """log^1.5(d/δ)/√s: sparse embeddings (song2023 Lemma D.27)."""
    return math.log(d / delta) ** 1.5 / math.sqrt(s)


def uniform_sampling(delta: float, *, d: int, b: int) -> float:
    """1 + d/b, never exceeded, whatever δ: uniform sampling (song2023 Lemma D.28)."""
    return 1 + d / b
