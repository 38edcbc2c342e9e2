"""What the errata of song2023 say beyond their counterexamples, and where what is corrected holds."""

import exhaustive
import numpy as np
import pytest
import song2023_counterexamples as counterexamples
from scipy import stats

from sketchbench.theory import descent, tail

RELATIVE = 1e-12  # the error of a few sums in float64, and more


def conditions_of_theorem_k_3_on_the_square(x: np.ndarray, y: np.ndarray) -> None:
    """L(x) = ‖x‖² is (c, d, p)-semi-strongly convex with c = 0 and d = 1, has an (α, β, p)-semi-Lipschitz gradient
    with α = 0 and β = 2, and is (2, 2)-non-critical: each with equality."""
    assert x @ x == pytest.approx(y @ y + 2 * y @ (x - y) + (x - y) @ (x - y))
    assert np.linalg.norm(2 * x - 2 * y) == pytest.approx(2 * np.linalg.norm(x - y))
    assert (2 * x) @ (2 * x) == pytest.approx(2**2 * (x @ x))


def test_theorem_k_3_confuses_the_rate_with_what_is_left() -> None:
    """Printed (song2023 Theorem K.3): ‖x(t+1) - x*‖ <= (1 - γ)‖x(t) - x*‖ with γ = 1 - ξη/2, so at most ξη/2 is left.

    On ‖x‖², ζ = β² = 4 and ξ = 2d = 2, so η = 1/4 is allowed. The distance is halved; printed is a quarter. The proof
    has γ = ξη/2, for squared distances: at most 3/4 is left of the square, and 1/4 is.
    """
    zeta, xi = 4.0, 2.0
    eta = xi / (2 * zeta)
    start, other = np.random.default_rng(0).standard_normal((2, 3))
    conditions_of_theorem_k_3_on_the_square(start, other)
    left = np.linalg.norm(start - eta * 2 * start) / np.linalg.norm(start)
    assert left == pytest.approx(0.5)
    square = descent.Ellipsoid(1.0).constants
    assert (square.zeta, square.xi) == (zeta, xi)
    printed, proven = descent.printed(square, eta), descent.proven(square, eta)
    assert (printed, proven) == (xi * eta / 2, 1 - xi * eta / 2)
    assert descent.largest_step(square) == eta
    assert printed == 0.25 < left
    assert left**2 <= left <= proven == 0.75


@pytest.mark.parametrize("eta", [0.25, 0.1, 1e-3, 1e-6])
def test_theorem_k_3_fails_at_every_step_size_that_it_allows(eta: float) -> None:
    """As printed, the smaller the step, the faster: 1 - 2η is left on ‖x‖², and printed is η."""
    assert abs(1 - 2 * eta) > eta
    assert (1 - 2 * eta) ** 2 <= 1 - eta


def exceedance_of_flat_vectors(level: float, *, n: int) -> float:
    """P(|gᵀRᵀRh - gᵀh| >= level ‖g‖‖h‖) for a CountSketch of one bucket with independent signs and g = h flat: then
    gᵀRᵀRh/‖g‖² = (2B - n)²/n with a binomial number B of plus signs."""
    plus = np.arange(n + 1)
    errors = abs((2 * plus - n) ** 2 / n - 1)
    return float(stats.binom.pmf(plus, n, 0.5)[errors >= level].sum())


@pytest.mark.parametrize("level", [0.5, 1.0, 2.0, 5.0])
def test_one_bucket_by_enumeration(level: float) -> None:
    """The binomial tail is the share of all 2¹⁰ CountSketches."""
    distribution = exhaustive.ams(10, 1)  # one bucket: a row of signs
    flat = np.full(10, 10**-0.5)
    exceeded = abs(distribution.errors(flat, flat)) >= level - RELATIVE
    assert exceedance_of_flat_vectors(level - RELATIVE, n=10) == pytest.approx(distribution.weights @ exceeded)


@pytest.mark.parametrize(("delta", "times"), [(1e-3, 2.484), (1e-4, 6.737), (1e-5, 21.31)])
def test_lemma_d_25_at_one_bucket(delta: float, times: float) -> None:
    """Printed (song2023 Lemma D.25): |gᵀRᵀRh - gᵀh| >= log(1/δ) ‖g‖‖h‖ with probability at most Θ(δ), for CountSketch.

    With b = 1, n = 640 and flat g = h, the exact probability is 2.5, 6.7 and 21 times 2δ. It falls like √δ, so no
    constant in Θ(δ) is large enough. (The proof has an unnamed c in the threshold, which the lemma leaves out.)
    """
    probability = exceedance_of_flat_vectors(tail.count_sketch(delta, d=640, b=1), n=640)
    assert probability / (2 * delta) == pytest.approx(times, rel=1e-3)


def test_lemma_d_25_at_one_bucket_needs_twice_the_threshold() -> None:
    """With c = 2 it holds there: Hoeffding's bound for (2B - n)²/n >= 1 + 2 log(1/δ) is 2 exp(-1/2) δ."""
    for delta in (0.1, 1e-2, 1e-3, 1e-4, 1e-5):
        assert exceedance_of_flat_vectors(2 * tail.count_sketch(delta, d=640, b=1), n=640) <= 2 * delta


@pytest.mark.parametrize("delta", [1e-3, 1e-4, 1e-5])
def test_lemma_d_25_at_two_buckets_spares_flat_vectors(delta: float) -> None:
    """At b = 2, where the two buckets' sums are the plane's random walk: with the axes turned by 45°, two independent
    walks on the line. At most a fifth of 2δ."""
    n = 640
    plus = np.arange(n + 1)
    walk, chance = (2 * plus - n) ** 2, stats.binom.pmf(plus, n, 0.5)
    errors = abs((walk[:, None] + walk) / (2 * n) - 1)
    exceeded = errors >= tail.count_sketch(delta, d=n, b=2)
    assert 0 < (chance[:, None] * chance)[exceeded].sum() < 0.2 * 2 * delta


@pytest.mark.parametrize(("delta", "times"), [(1e-2, 2.1), (1e-4, 17), (1e-6, 146)])
def test_lemma_d_18_with_many_rows(delta: float, times: float) -> None:
    """The normal tail is the limit for many rows; a thousand differ from it by less than a tenth."""
    assert 2 * stats.norm.sf(np.sqrt(np.log(2 / delta))) / delta == pytest.approx(times, rel=0.1)


def test_section_5_with_the_exact_constant() -> None:
    """α = (d - 1)/b in place of 2d/b: the total grows by a tenth instead of 1.4 times itself."""
    assert counterexamples.growth_of_bits(alpha=3.0) == pytest.approx(1.106, abs=5e-4)


@pytest.mark.parametrize(("columns", "buckets", "low", "high"), [(640, 16, 1e-17, 3e-17), (1000, 100, 4e-3, 5e-3)])
def test_how_often_a_bucket_is_empty(columns: int, buckets: int, low: float, high: float) -> None:
    """The union bound, which is nearly exact where it is small; by the second moment it is near 1 for 2,538 to 634."""
    assert low < buckets * (1 - 1 / buckets) ** columns < high
    mean = 634 * (1 - 1 / 634) ** 2538
    pairs = 634 * 633 * (1 - 2 / 634) ** 2538
    assert mean**2 / (mean + pairs) > 0.9  # P[some] >= (E N)²/E N²


@pytest.mark.parametrize("target", [-2.0, 0.0, 0.7, 3.0])
def test_theorem_7_5_holds_with_the_variation_of_the_pseudo_hessian(target: float) -> None:
    """Of G(x) = x + sin(3x)/30, whose derivative is between 0.9 and 1.1: Lemma J.4 with a = 2ω, and Theorem 7.5.

    L is (2ω, β², 1/2)-semi-smooth and (2θ₁, 2θ₂)-non-critical; a step leaves 0.762 of it at most, and leaves 0.454.
    """
    x, y = np.meshgrid(np.linspace(-6, 6, 601), np.linspace(-6, 6, 401))
    low, high, variation = 0.9, 1.1, 0.2
    off = bent(x) - target
    slope = 2 * (1 + np.cos(3 * x) / 10) * off
    allowed = off**2 + slope * (y - x) + high**2 * (y - x) ** 2 + 2 * variation * abs(y - x) * abs(off)
    assert ((bent(y) - target) ** 2 <= allowed + RELATIVE).all()
    room = 4 * low**2 - 2 * variation * 2 * high
    assert room > 0  # θ₁² > ωθ₂
    eta = room / (2 * high**2 * 4 * high**2)
    assert 1 - eta * room / 2 == pytest.approx(0.762, abs=5e-4)
    assert ((bent(x - eta * slope) - target) ** 2 <= 0.4545 * off**2 + RELATIVE).all()


def bent(x: np.ndarray) -> np.ndarray:
    return x + np.sin(3 * x) / 30


def test_theorem_l_1_grows_in_many_steps() -> None:
    """With the largest step L rises in more than a third of 2,000 steps from (1, 0.3)."""
    low, high = 3.9204, 40.0804
    eta = (low - 2) / (2 * 10 * high)
    x, values = np.array([1.0, 0.3]), []
    for _ in range(2_000):
        value, slope = counterexamples.rippled(x)
        values.append(value)
        x = x - eta * slope
    assert np.mean(np.diff(values) > 0) > 0.33
