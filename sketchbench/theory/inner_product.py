"""Upper bounds, with failure probability δ, of the largest inner product max |⟨R_i, R_j⟩| of two columns of a sketch.
Functions take δ (`delta`), the dimension d (n in the paper) and the sketch size b, and return a threshold. `printed`
thresholds are the lemmas', with the constant 1. `derived` thresholds follow from the proofs before their last step; the
union bound over all pairs costs log n²."""

import math

from sketchbench.base.parameters import Count, Probability, checked


@checked
def printed(delta: Probability, *, d: Count, b: Count) -> float:
    """√(log(n/δ))/√b (song2023 Lemmas D.18, D.19, D.20): too small; see the `derived` thresholds."""
    return math.sqrt(math.log(d / delta) / b)


@checked
def printed_sparse(delta: Probability, *, d: Count, b: Count, s: Count) -> float:
    """√(log(n/δ))/√s (song2023 Lemma D.22, without its factor c, whose value the paper does not give)."""
    return math.sqrt(math.log(d / delta) / s)


@checked
def derived_gaussian(delta: Probability, *, d: Count, b: Count) -> float:
    """The smallest t with n²·2exp(-b/4·min(t², t)) ≤ δ (proof of song2023 Lemma D.18)."""
    needed = 4 * math.log(2 * d**2 / delta) / b
    return max(math.sqrt(needed), needed)


@checked
def derived_hadamard(delta: Probability, *, d: Count, b: Count) -> float:
    """√(8 log(4n²/δ)/b), from the matrix Chernoff bound in the proof of song2023 Lemma D.19."""
    return math.sqrt(8 * math.log(4 * d**2 / delta) / b)


@checked
def derived_ams(delta: Probability, *, d: Count, b: Count) -> float:
    """√(2 log(2n²/δ)/b), from Hoeffding's bound in the proof of song2023 Lemma D.20."""
    return math.sqrt(2 * math.log(2 * d**2 / delta) / b)


@checked
def derived_sparse(delta: Probability, *, d: Count, b: Count, s: Count) -> float:
    """√(2 log(2n²/δ)/s), from Hoeffding's bound in the proof of song2023 Lemma D.22."""
    return math.sqrt(2 * math.log(2 * d**2 / delta) / s)


def count_sketch() -> float:
    """1, which no draw of CountSketch exceeds (song2023 Lemma D.21)."""
    return 1.0
