"""Attacks by gradient matching: constants, rates, and the singular values of sketches (song2023 §7, App. I-M).

G(x) = ∇_wF(w, x) is the gradient by d weights of a loss with an input x of m entries, Φ(x) = ∇_x∇_wF its pseudo-
Hessian, (m, d), and L(x) = ‖R G(x) - R G(x*)‖² what an attacker minimises who has seen R G(x*). Arrays of constants
are taken entry by entry. Semi-smoothness is meant with p = 1/2 everywhere.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Constants:
    """theta_1, theta_2: θ₁ and θ₂, the extreme singular values of Φ; lipschitz: β of G, which is the largest θ₂
    over all x; gamma_1, gamma_2: γ₁ and γ₂, the extreme singular values of Rᵀ. τ, the Lipschitz constant of R, is γ₂.
    """

    theta_1: Numbers
    theta_2: Numbers
    lipschitz: Numbers
    gamma_1: Numbers
    gamma_2: Numbers


@dataclass(frozen=True)
class ExpectedSpectrum:
    """Singular values of Rᵀ in the mean over draws: `largest` is E‖R‖, `smallest` E γ₁, `rank` the mean rank,
    and `deficient` the probability that it is below b. Where not `exact`, the first two are bounds, from above
    and from below."""

    largest: float
    smallest: float
    rank: float
    deficient: float
    exact: bool


MakeSpectrum = Callable[..., ExpectedSpectrum]  # what a sketch's config gives; it wants d and b


def semi_smoothness_printed(c: Constants) -> tuple[Numbers, Numbers]:
    """(a, b) of Theorem 7.4 and Lemma 7.6: 2(τβ + θ₂γ₂) and τ²β, as they print them."""
    return 2 * c.gamma_2 * (c.lipschitz + c.theta_2), c.gamma_2**2 * c.lipschitz


def semi_smoothness(c: Constants) -> tuple[Numbers, Numbers]:
    """(a, b) with b = τ²β², which is what the proof of Lemma J.4 shows, and that of Lemma M.3 would."""
    a, b = semi_smoothness_printed(c)
    return a, b * c.lipschitz


def non_critical_printed(c: Constants) -> tuple[Numbers, Numbers]:
    """θ₁ and θ₂ of Lemma J.5 and Theorem 7.4, which know no sketch; with γ₁ and γ₂ for one that has them."""
    return c.theta_1 * c.gamma_1, c.theta_2 * c.gamma_2


def non_critical(c: Constants) -> tuple[Numbers, Numbers]:
    """(2θ₁γ₁, 2θ₂γ₂), between which ‖∇L‖/√L lies (Lemma 7.7): ∇L = 2Φ Rᵀ(R G(x) - R G(x*)) has a factor 2."""
    low, high = non_critical_printed(c)
    return 2 * low, 2 * high


def condition_7_5(low: Numbers, high: Numbers, a: Numbers) -> Numbers:
    """a θ₂/θ₁² with `low` = θ₁ and `high` = θ₂ of a non-critical point: Theorem 7.5 needs it below 1.

    With the constants of Theorem 7.4 it is 2(β + θ₂)θ₂/θ₁² >= 4, since β >= θ₂ >= θ₁; with doubled θ still >= 2.
    """
    return a * high / low**2


def step_7_5(low: Numbers, high: Numbers, a: Numbers | float, b: Numbers) -> Numbers:
    """The largest step η that Theorem 7.5 allows: (θ₁² - a θ₂)/(2 b θ₂²)."""
    return (low**2 - a * high) / (2 * b * high**2)


def rate_7_5(low: Numbers, high: Numbers, a: Numbers | float, step: Numbers) -> Numbers:
    """γ = η(θ₁² - a θ₂)/2, by which L falls in every step: L(x_{t+1}) <= (1 - γ) L(x_t) (Theorem 7.5)."""
    return step * (low**2 - a * high) / 2


def gaussian_spectrum(*, d: int, b: int) -> ExpectedSpectrum:
    """Independent N(0, 1/b) entries, b <= d: E‖R‖ <= √(d/b) + 1 and E γ₁ >= √(d/b) - 1 (Gordon), b rows almost
    surely independent."""
    return ExpectedSpectrum((d / b) ** 0.5 + 1, (d / b) ** 0.5 - 1, b, 0.0, exact=False)


def orthogonal_spectrum(*, d: int, b: int) -> ExpectedSpectrum:
    """Orthogonal rows of norm √(d/b), b <= d: all singular values are that."""
    root = (d / b) ** 0.5
    return ExpectedSpectrum(root, root, b, 0.0, exact=True)


def hadamard_spectrum(*, d: int, b: int) -> ExpectedSpectrum:
    """SRHT without repeated rows, of d inputs that need no padding. Raises ValueError for another d."""
    if d & (d - 1):
        raise ValueError(f"d={d} must be a power of two: rows that padding is cut from are not orthogonal")
    return orthogonal_spectrum(d=d, b=b)


def count_sketch_spectrum(*, d: int, b: int) -> ExpectedSpectrum:
    """R Rᵀ is diagonal, with the numbers of columns in each of b buckets. O(d² log b) for each number that the
    fullest and the emptiest bucket are likely to hold.

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


def _all_within(low: int, high: int, d: int, b: int) -> float:
    """The probability that each of b buckets gets between `low` and `high` of d columns.

    Independent Poisson numbers, given that their sum is d, are multinomial.
    """
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
