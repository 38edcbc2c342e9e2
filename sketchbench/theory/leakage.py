"""Attacks by gradient matching: constants, rates, and singular values of sketches (song2023 §7, Appendices I-M).
F(w, x) is a loss with d weights w and an input x of m entries, G(x) = ∇_wF its gradient, and Φ(x) = ∇_x∇_wF its
pseudo-Hessian, (m, d). An attacker who sees R G(x*) minimises L(x) = ‖R G(x) - R G(x*)‖². Semi-smoothness has p = 1/2
everywhere. Functions of arrays of constants work entry by entry."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count, checked
from sketchbench.measure.numbers import NonNegatives, Positives, check_not_negative

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class LeakageConstants:
    """Constants of the loss at a point, and of the sketch: θ₁ <= θ₂, the extreme singular values of Φ; β (`lipschitz`),
    the Lipschitz constant of G, the largest θ₂ over all x; γ₁ <= γ₂ = τ, the extreme singular values of Rᵀ."""

    theta_1: Numbers
    theta_2: Numbers
    lipschitz: Numbers
    gamma_1: Numbers
    gamma_2: Numbers

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_not_negative(name, value)
        for name in ("theta", "gamma"):
            if np.any(getattr(self, f"{name}_1") > getattr(self, f"{name}_2")):
                raise ValueError(f"{name}_1 must be <= {name}_2, and is larger in an entry")


@dataclass(frozen=True)
class ExpectedSpectrum:
    """Means over draws of the singular values of Rᵀ: `largest`, E‖R‖, and `smallest`, E γ₁, which are upper and lower
    bounds unless `exact`; the mean `rank`; and the probability `deficient` of a rank below b."""

    largest: float
    smallest: float
    rank: float
    deficient: float
    exact: bool


MakeSpectrum = Callable[..., ExpectedSpectrum]  # `spectrum` of a sketch's config, a function of d and b


def semi_smoothness_printed(c: LeakageConstants) -> tuple[Numbers, Numbers]:
    """(a, b) of semi-smoothness as Theorem 7.4 and Lemma 7.6 print them: 2(τβ + θ₂γ₂) and τ²β."""
    return 2 * c.gamma_2 * (c.lipschitz + c.theta_2), c.gamma_2**2 * c.lipschitz


def semi_smoothness(c: LeakageConstants) -> tuple[Numbers, Numbers]:
    """(a, b) of semi-smoothness with b = τ²β², as the proof of Lemma J.4 shows."""
    a, b = semi_smoothness_printed(c)
    return a, b * c.lipschitz


def non_critical_printed(c: LeakageConstants) -> tuple[Numbers, Numbers]:
    """(θ₁γ₁, θ₂γ₂): the non-critical constants θ₁ and θ₂ of Lemma J.5 and Theorem 7.4, extended to a sketch."""
    return c.theta_1 * c.gamma_1, c.theta_2 * c.gamma_2


def non_critical(c: LeakageConstants) -> tuple[Numbers, Numbers]:
    """(2θ₁γ₁, 2θ₂γ₂), bounds of ‖∇L‖/√L (Lemma 7.7): ∇L = 2Φ Rᵀ(R G(x) - R G(x*)) has a factor 2."""
    low, high = non_critical_printed(c)
    return 2 * low, 2 * high


@checked
def condition_7_5(low: Positives, high: Positives, a: NonNegatives) -> Numbers:
    """a θ₂/θ₁² for the non-critical constants θ₁ (`low`) and θ₂ (`high`); Theorem 7.5 needs it below 1. With the
    constants of Theorem 7.4 it is 2(β + θ₂)θ₂/θ₁² >= 4, since β >= θ₂ >= θ₁; with doubled θ it is >= 2."""
    return np.asarray(a * high / low**2)


@checked
def step_7_5(low: NonNegatives, high: Positives, a: NonNegatives, b: Positives) -> Numbers:
    """The largest step η that Theorem 7.5 allows: (θ₁² - a θ₂)/(2 b θ₂²)."""
    return np.asarray((low**2 - a * high) / (2 * b * high**2))


@checked
def rate_7_5(low: NonNegatives, high: Positives, a: NonNegatives, step: NonNegatives) -> Numbers:
    """γ = η(θ₁² - a θ₂)/2, with which L(x_{t+1}) <= (1 - γ) L(x_t) (Theorem 7.5)."""
    return np.asarray(step * (low**2 - a * high) / 2)


@checked
def gaussian_spectrum(*, d: Count, b: Count) -> ExpectedSpectrum:
    """For independent N(0, 1/b) entries and b <= d: E‖R‖ <= √(d/b) + 1 and E γ₁ >= √(d/b) - 1 (Gordon); rank b."""
    _check_rows(d, b)
    return ExpectedSpectrum((d / b) ** 0.5 + 1, (d / b) ** 0.5 - 1, b, 0.0, exact=False)


@checked
def orthogonal_spectrum(*, d: Count, b: Count) -> ExpectedSpectrum:
    """For orthogonal rows of norm √(d/b) and b <= d: all singular values are √(d/b)."""
    _check_rows(d, b)
    root = (d / b) ** 0.5
    return ExpectedSpectrum(root, root, b, 0.0, exact=True)


@checked
def hadamard_spectrum(*, d: Count, b: Count) -> ExpectedSpectrum:
    """For SRHT with rows without replacement: all singular values are √(d/b). ValueError for a d that needs padding."""
    if d & (d - 1):
        raise ValueError(f"d={d} must be a power of two: with padding, rows of an SRHT are not orthogonal")
    return orthogonal_spectrum(d=d, b=b)


@checked
def count_sketch_spectrum(*, d: Count, b: Count) -> ExpectedSpectrum:
    """For CountSketch, exact: R Rᵀ is diagonal with the numbers of columns in the b buckets. O(d² log b) for each
    likely size of the fullest and the emptiest bucket, whose distributions it uses.

    >>> spectrum = count_sketch_spectrum(d=2, b=2)  # the two columns meet with probability 1/2
    >>> round(spectrum.deficient, 9), round(spectrum.rank, 9), round(spectrum.smallest, 9)
    (0.5, 1.5, 0.5)
    """
    roots = np.sqrt(np.arange(d + 2))
    largest = smallest = 0.0
    for k in range(d + 1):  # E √M = Σ_k (√(k+1) - √k) P(M > k)
        above = 1 - _all_within(0, k, d, b)
        largest += (roots[k + 1] - roots[k]) * above
        if k > d / b and above < 1e-14:
            break
    for k in range(1, d // b + 1):
        smallest += (roots[k] - roots[k - 1]) * _all_within(k, d, d, b)
    rank = b * -np.expm1(d * np.log1p(-1 / b)) if b > 1 else 1.0
    deficient = 1 - _all_within(1, d, d, b)
    return ExpectedSpectrum(float(largest), float(smallest), float(rank), deficient, exact=True)


def _check_rows(d: int, b: int) -> None:
    if b > d:
        raise ValueError(f"b={b} must be <= d={d}: with more rows than columns, Rᵀ has fewer singular values than b")


def _all_within(low: int, high: int, d: int, b: int) -> float:
    """The probability that each of b buckets has `low` to `high` of d columns: Poisson numbers, given their sum d."""
    counts = np.arange(d + 1)
    weights = _poisson(counts, d / b) * ((counts >= low) & (counts <= high))
    power, base, left = np.eye(1, d + 1)[0], weights, b
    while left:
        if left % 2:
            power = np.convolve(power, base)[: d + 1]
        base, left = np.convolve(base, base)[: d + 1], left // 2
    return min(1.0, float(power[d] / _poisson(counts[d:], d)[0]))


def _poisson(counts: NDArray[np.int64], mean: float) -> Numbers:
    from scipy import special  # 0.2 s that every run would pay

    return np.asarray(np.exp(counts * np.log(mean) - mean - special.gammaln(counts + 1)))
