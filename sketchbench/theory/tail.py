"""Thresholds of |gᵀRᵀRh - gᵀh| / (‖g‖‖h‖) in the papers' tail bounds, with failure probability δ. Functions take δ
(`delta`), the dimension d (n in the paper) and the sketch size b. The lemmas say that the threshold is exceeded with
probability Θ(δ); claims read this as at most 2δ."""

import math

from sketchbench.base.parameters import Count, Probability, checked


@checked
def dense(delta: Probability, *, d: Count, b: Count) -> float:
    """log^1.5(d/δ)/√b: SRHT and AMS (song2023 Lemma D.23), Gaussian (Lemma D.24)."""
    return math.log(d / delta) ** 1.5 / math.sqrt(b)


@checked
def count_sketch(delta: Probability, *, d: Count, b: Count) -> float:
    """log(1/δ): CountSketch (song2023 Lemma D.25); it does not decrease with b."""
    return math.log(1 / delta)


@checked
def count_sketch_chebyshev(delta: Probability, *, d: Count, b: Count) -> float:
    """1/√(bδ): CountSketch (song2023 Lemma D.26); by Chebyshev with variance 2/b the probability is at most 2δ."""
    return 1 / math.sqrt(b * delta)


@checked
def sparse(delta: Probability, *, d: Count, b: Count, s: Count) -> float:
    """log^1.5(d/δ)/√s: sparse embeddings (song2023 Lemma D.27)."""
    return math.log(d / delta) ** 1.5 / math.sqrt(s)


@checked
def uniform_sampling(delta: Probability, *, d: Count, b: Count) -> float:
    """1 + d/b for every δ, never exceeded: uniform sampling (song2023 Lemma D.28)."""
    return 1 + d / b
