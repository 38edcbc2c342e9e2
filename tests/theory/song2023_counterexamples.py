"""The two numbers, printed and measured, of each counterexample to song2023, from the definitions alone."""

from collections.abc import Callable

import exhaustive
import numpy as np
from exhaustive import Distribution
from scipy import integrate, optimize, stats

Numbers = tuple[float, float]
ROUNDING = 1e-12  # the error of a few sums in float64, and more


def assumption_3_1() -> Numbers:
    x, y, mu = 1.0, 0.0, 1.0
    return mu / 2 * (y - x) ** 2, y**2 / 2 - x**2 / 2 + (y - x) * x


def definition_c_1() -> Numbers:
    """Of -w², which lies below all its tangents and so below what L = 1 adds to them."""
    x, y = np.meshgrid(np.linspace(-3, 3, 25), np.linspace(-3, 3, 25))
    assert (-(y**2) <= -(x**2) - 2 * x * (y - x) + (y - x) ** 2 / 2 + ROUNDING).all()
    return 1.0 * abs(1 - 0), abs(-2 * 1.0 - -2 * 0.0)


def definition_c_3() -> Numbers:
    x, y, mu = 0.0, 1.0, 1.0
    assert abs(-x - -y) >= mu * abs(x - y)
    return -(x**2) / 2 - x * (y - x) + mu / 2 * (y - x) ** 2, -(y**2) / 2


def section_5() -> Numbers:
    return 1.0, growth_of_bits(alpha=2 * 4 / 1)


def growth_of_bits(alpha: float) -> float:
    """Bits to a thousandth of E‖w‖², which falls by the same factor in every round: E‖w - ηRᵀRw‖² over ‖w‖²."""
    d, b = 4, 1
    w = np.array([1.0, -2.0, 0.5, 3.0]) / np.sqrt(14.25)
    bits = []
    for distribution, size, step in (
        (exhaustive.identity(d), d, 1 / 8),
        (exhaustive.ams(d, b), b, 1 / (8 * (1 + alpha))),
    ):
        after = w - step * np.einsum("mbi,mb->mi", distribution.matrices, distribution.matrices @ w)
        factor = float(distribution.weights @ (after**2).sum(axis=1))
        bits.append(size * np.ceil(np.log(1e-3) / np.log(factor)))
    return float(bits[1] / bits[0])


def largest_products(distribution: Distribution) -> np.ndarray:
    """max |⟨R_i, R_j⟩| over i ≠ j of every operator."""
    gram = abs(distribution.matrices.transpose(0, 2, 1) @ distribution.matrices)
    gram[:, np.arange(distribution.d), np.arange(distribution.d)] = 0
    return np.asarray(gram.max(axis=(1, 2)))


def reaching(distribution: Distribution, delta: float, rows: int) -> Numbers:
    """2δ, and the probability that the largest product is √(log(n/δ)/rows) or more."""
    threshold = np.sqrt(np.log(distribution.d / delta) / rows)
    return 2 * delta, float(distribution.weights @ (largest_products(distribution) >= threshold))


def lemma_d_18() -> Numbers:
    """Given one column, its product with another one is normal, with the variance ‖R_i‖²/b = χ²/b²."""
    delta, rows = 1e-4, 1000
    threshold = np.sqrt(np.log(2 / delta) / rows)
    assert threshold < 0.1  # the proof has 0 < t < 1

    def exceeding(square: float) -> float:
        return float(2 * stats.norm.sf(threshold * rows / np.sqrt(square)) * stats.chi2.pdf(square, rows))

    probability, _ = integrate.quad(exceeding, 500, 1700, points=[rows], epsabs=1e-12)
    return 2 * delta, probability


def lemma_d_19() -> Numbers:
    return reaching(exhaustive.srht(8, 3, replacement=False), 0.4, 3)


def lemma_d_20() -> Numbers:
    return reaching(exhaustive.ams(2, 3), 0.1, 3)


def lemma_d_22() -> Numbers:
    """A cubic over 2s = 256 elements has three zero coefficients with probability 256⁻³; 4 values are independent."""
    rows, c = 128, 2.0
    delta = rows**-4.0
    assert c * np.sqrt(np.log(2 / delta) / rows) < 1  # the product of two columns whose signs are all the same
    return 2 * delta, (2.0 * rows) ** -3


MODULI = {4: 0b10011, 9: 0b1000010001, 10: 0b10000001001}  # primitive polynomials over two elements


def points(bits: int) -> np.ndarray:
    """x and x³ over the field of n = 2^bits elements, as one number of 2 · bits bits each.

    The sign of x is the parity of a random mask of these bits, times a random sign. Signs of four columns are
    independent if no two pairs of columns have the same sum (the parity checks of a BCH code).
    """
    powers = [1]
    while len(powers) < 2**bits - 1:
        double = 2 * powers[-1]
        powers.append(double ^ MODULI[bits] if double >> bits else double)
    assert len(set(powers)) == 2**bits - 1  # 2 generates all elements but 0
    cubes = [powers[3 * log % len(powers)] for log in range(len(powers))]
    result = np.array([0] + [x | cube << bits for x, cube in zip(powers, cubes, strict=True)])
    sums = (result[:, None] ^ result)[np.triu_indices(2**bits, 1)]
    assert len(np.unique(sums)) == len(sums)
    return result


def constant_signs(bits: int) -> float:
    """The probability that all signs agree, 2 to the power of minus the rank of `points`."""
    basis: list[int] = []
    for point in points(bits).tolist():
        rest = point
        for other in basis:
            rest = min(rest, rest ^ other)
        basis += [rest] if rest else []
    return 2.0 ** -len(basis)


def lemma_d_23() -> Numbers:
    """One constant row among b gives flat vectors n/b, and no row takes away."""
    n, b = 1024, 16
    delta = n**-4.0
    assert n / b - 1 > np.log(n / delta) ** 1.5 / np.sqrt(b)
    return 2 * delta, 1 - (1 - constant_signs(10)) ** b


def lemma_d_25() -> Numbers:
    """All masks and all slopes over 16 elements, for two buckets and for four; constants change no error."""
    bits, n = 4, 16
    delta = n**-4.0
    masked = points(bits)[:, None] & np.arange(n * n)
    signs = (1 - 2.0 * (np.bitwise_count(masked) % 2)).T
    assert np.isclose((abs(signs.sum(axis=1)) == n).mean(), constant_signs(bits), atol=0)
    found = []
    for buckets in (2, 4):
        exceeded = []
        for slope in range(n):
            h = np.array([product(slope, x, bits) for x in range(n)]) % buckets
            sums = np.stack([signs[:, h == bucket].sum(axis=1) for bucket in range(buckets)])
            exceeded.append(abs((sums**2).sum(axis=0) / n - 1) >= np.log(1 / delta))
        found.append(float(np.mean(exceeded)))
    assert found[0] == found[1]
    return 2 * delta, found[0]


def product(a: int, b: int, bits: int) -> int:
    """a b over the field of 2^bits elements."""
    result = 0
    for bit in reversed(range(bits)):
        result <<= 1
        result ^= (MODULI[bits] if result >> bits else 0) ^ (a if b >> bit & 1 else 0)
    return result


def lemma_d_27() -> Numbers:
    """Signs and lines over the ns pairs of a column and a block. A line is constant if its slope is 0."""
    n, s = 128, 4
    delta = (n * s) ** -4.0
    assert n - 1 > np.log(n / delta) ** 1.5 / np.sqrt(s)
    return 2 * delta, constant_signs(9) / (n * s)


def theorem_e_3() -> Numbers:
    """f' is continuous, with slopes of at most 1, and f rises nowhere below 3."""
    w = np.linspace(-2, 5, 7_001)
    slope = np.where(w < 0, -1, np.where(w < 1, -(1 + w), -np.maximum(3 - w, 0)))
    assert (abs(np.diff(slope)) <= np.diff(w) + ROUNDING).all()
    gap = -integrate.trapezoid(slope[w >= 0], w[w >= 0])
    at = int(np.argmin(abs(w - (0 - 1 * np.interp(0.0, w, slope)))))
    return 2 * float(gap) / (1 * (1 + 1)), float(slope[at] ** 2)


def theorem_g_2() -> Numbers:
    rounds, eta, w = 99, 0.1, 11.0
    gap, squares = w - 0.5, []
    for _ in range(rounds):
        w -= eta * min(w, 1.0)
        squares.append(min(w, 1.0) ** 2)
    return gap / (rounds + 1) + eta * (eta + eta / 2), min(squares)


def algorithm_1() -> Numbers:
    eta = 0.25
    left = [(1 - eta * before * now) ** 2 for before in (-1, 1) for now in (-1, 1)]
    return 1 - eta, float(np.mean(left))


def exact_epsilon(mu: float, delta: float) -> float:
    """Of a Gaussian release whose two answers are μ standard deviations apart, by the Neyman-Pearson lemma."""

    def excess(epsilon: float) -> float:
        missed = np.exp(epsilon + stats.norm.logcdf(-mu / 2 - epsilon / mu))
        return float(stats.norm.cdf(mu / 2 - epsilon / mu) - missed - delta)

    return float(optimize.brentq(excess, 0, 1e3))


def sigma_of_lemma_h_7(epsilon: float, delta: float) -> float:
    return float(np.sqrt(2 * np.log(1.25 / delta)) / epsilon)


def lemma_h_7() -> Numbers:
    return 8.0, exact_epsilon(1 / sigma_of_lemma_h_7(8.0, 1e-3), 1e-3)


def composed(epsilon: float, steps: int, distance: float) -> Numbers:
    """√(TK) ε̂, and the exact ε of `steps` Gaussian steps: as one, √(TK) times as far apart. δ̂ is 1e-7."""
    mu = np.sqrt(steps) * distance / sigma_of_lemma_h_7(epsilon, 1e-7)
    return np.sqrt(steps) * epsilon, exact_epsilon(mu, steps * 1e-7)


def theorem_6_2() -> Numbers:
    return composed(0.9, 1_000, distance=1.0)


def lemma_h_8() -> Numbers:
    """Gradients of length ℓ in opposite directions."""
    return composed(0.1, 100, distance=abs(1.0 - -1.0))


def theorem_7_5() -> Numbers:
    """The least over singular values that Theorem 7.4 allows is where all are the same."""
    values = np.linspace(0.1, 3, 30)
    low, high, lipschitz = np.meshgrid(values, values, values)
    allowed = (low <= high) & (high <= lipschitz)
    return 1.0, float((2 * (lipschitz + high) * high / low**2)[allowed].min())


def lemma_j_5() -> Numbers:
    """Central differences are exact for a square."""
    x, g = 0.75, 0.25
    slope = ((x + 0.5 - g) ** 2 - (x - 0.5 - g) ** 2) / (2 * 0.5)
    return 1.0, slope**2 / (x - g) ** 2


def theorem_7_4() -> Numbers:
    lipschitz, x, y = 2.0, 0.25, 1.0
    return lipschitz, (2 * y - 2 * x) ** 2 / (y - x) ** 2


def norm_in_appendix_m() -> Numbers:
    norms = np.linalg.norm(exhaustive.count_sketch(2, 1).matrices, 2, axis=(1, 2))
    assert np.ptp(norms) < ROUNDING
    return 1.0, float(norms[0])


def rank_in_appendix_m() -> Numbers:
    distribution = exhaustive.count_sketch(3, 2)
    return 0.0, float(distribution.weights @ (np.linalg.matrix_rank(distribution.matrices) < 2))


def theorem_k_3() -> Numbers:
    zeta, xi, x = 4.0, 2.0, np.array([3.0, -4.0])
    eta = xi / (2 * zeta)
    return xi * eta / 2, float(np.linalg.norm(x - eta * 2 * x) / np.linalg.norm(x))


def theorem_l_1() -> Numbers:
    x, eta = 2.0, 1.0
    after = x - eta * x / 4
    return 1 - eta, (after**2 / 8) / (x**2 / 8)


PERIODS, RIPPLE = 300, 0.01  # of the counterexample to Theorem L.1


def rippled(x: np.ndarray) -> tuple[float, np.ndarray]:
    """L = r²(1 + sin(300θ)/100)² in polar coordinates, and its gradient."""
    radius, angle = np.hypot(*x), np.arctan2(x[1], x[0])
    u, v = 1 + RIPPLE * np.sin(PERIODS * angle), RIPPLE * PERIODS * np.cos(PERIODS * angle)
    outward = x / radius
    around = np.array([-outward[1], outward[0]])
    return radius**2 * u**2, 2 * radius * u * (u * outward + v * around)


def theorem_l_1_for_other_powers() -> Numbers:
    """L is homogeneous, so that ‖x‖ = 1 is enough.

    Non-critical: ‖∇L‖²/L = 4(u² + v²). Semi-smooth with p = 1: since L(y) <= (1 + ε)²‖y‖², what is to be shown is
    that (1 + a)u² - (1 + ε)² + 2(u² - (1 + ε)²)s + 2uvt + (b - (1 + ε)²)(s² + t²) is nowhere negative, for a step of s
    outward and t around: its discriminant.
    """
    a, b = 2.0, 10.0
    low, high, top = 4 * (1 - RIPPLE) ** 2, 4 * ((1 + RIPPLE) ** 2 + (RIPPLE * PERIODS) ** 2), (1 + RIPPLE) ** 2
    assert np.allclose((low, high), (3.9204, 40.0804), atol=0, rtol=1e-12)
    phase = np.linspace(0, 2 * np.pi, 10_001)
    u, v = 1 + RIPPLE * np.sin(phase), RIPPLE * PERIODS * np.cos(phase)
    assert ((low - ROUNDING <= 4 * (u**2 + v**2)) & (4 * (u**2 + v**2) <= high)).all()
    assert (((1 + a) * u**2 - top) * (b - top) > (u**2 - top) ** 2 + (u * v) ** 2).all()
    eta = (low - a) / (2 * b * high)
    x = np.array([np.cos(3.756 / PERIODS), np.sin(3.756 / PERIODS)])
    before, slope = rippled(x)
    after, _ = rippled(x - eta * slope)
    return 1 - eta * (low - a) / 2, after / before


def condition_of_theorem_k_3() -> Numbers:
    """L = 4x²: d = 4 and β = 8 with c = α = 1, which only add to the bounds, and ‖∇L‖² = 16 L."""
    p, c, d, alpha, beta, theta = 0.5, 1.0, 4.0, 1.0, 8.0, 4.0
    rest = beta**2 + (alpha / theta**p) ** (1 / (1 - p))
    assert d > c ** (1 / (2 * p)) / (theta * (theta - alpha) ** (1 / p)) * rest + c ** (1 / (2 - 2 * p))
    assert theta > alpha ** (1 / p)
    zeta = theta / (theta - alpha ** (1 / p)) * rest
    return 0.0, 2 * (d - c ** (1 / (2 * p)) * zeta / theta**2 - c ** (1 / (2 - 2 * p)))


def theorem_k_2() -> Numbers:
    """With p = 0 and c = d what is asked of L = x₁² is that it is convex."""
    first, second = np.array([0.0, 0.0]), np.array([0.0, 1.0])
    x, y = np.random.default_rng(0).standard_normal((2, 100, 2))
    tangent = y[:, 0] ** 2 + 2 * y[:, 0] * (x - y)[:, 0]
    squares = ((x - y) ** 2).sum(axis=1)
    assert (x[:, 0] ** 2 >= tangent + squares - squares - ROUNDING).all()
    assert first[0] ** 2 == second[0] ** 2 == 0
    return 0.0, float(np.linalg.norm(first - second))


def lemma_h_8_with_a_factor() -> Numbers:
    gradients = np.array([1.0, 1.0])
    return 1.0, float(len(gradients) / len(gradients) * gradients.sum())


def lemma_h_8_overloaded() -> Numbers:
    slopes = np.array([100.0, -100.0])
    return abs(float(slopes.mean())), float(abs(slopes).max())


def lemma_h_9() -> Numbers:
    """Gradient descent without noise, in which all is determined."""
    ends = {z: 0.0 - 1.0 * z for z in (1.0, -1.0)}
    seen = {z: float(w == -1) for z, w in ends.items()}
    return 1e-7, seen[1.0] - np.exp(0.9) * seen[-1.0]


def lemma_b_1() -> Numbers:
    delta, mu = 9, 1.0
    return float(np.exp(-(delta**2) * mu / 3)), float(stats.binom.sf((1 + delta) * mu - 1, 100, 0.01))


def lemma_b_4() -> Numbers:
    return float(np.exp(-1e-6)), float(np.mean([abs(sign) >= 1 for sign in (-1, 1)]))


def lemma_b_7() -> Numbers:
    """E exp(λX) = cosh λ <= exp(λ²/2)."""
    exponent = np.linspace(-1, 1, 201)
    assert (np.cosh(exponent) <= np.exp(exponent**2 / 2) + ROUNDING).all()
    return float(np.exp(-0.5)), float(np.mean([abs(sign) >= 1 for sign in (-1, 1)]))


def lemma_b_8() -> Numbers:
    """Both sides, the upper one for δ = 9. The numbers are distinct: they keep 1e-9 from 1 and 0 at most."""
    assert stats.hypergeom.sf(9, 10_000, 100, 100) > 30 * np.exp(-(9**2) / 4)
    large, small = 1 - 1e-9 * np.linspace(0, 1, 10_000), 1e-9 * np.linspace(0, 1, 990_000)
    numbers = np.concatenate([large, small])
    assert len(np.unique(numbers)) == len(numbers)
    assert 5 + 1190e-9 < 6 * large.min()
    mu = 1190 * float(numbers.mean())
    delta = 1 - (5 + 1190e-9) / mu
    assert 0 <= delta < 1
    return float(np.exp(-(delta**2) * mu)), float(stats.hypergeom.cdf(5, 1_000_000, 10_000, 1190))


def table_2() -> Numbers:
    """The largest of (tanh y - tanh x - tanh'(x)(y - x))/(y - x)² over a grid."""
    x, step = np.meshgrid(np.linspace(-3, 3, 1201), np.concatenate([np.linspace(-4, -0.001, 801), [0.001, 0.1, 1]]))
    above = np.tanh(x + step) - np.tanh(x) - step / np.cosh(x) ** 2
    found = float((above / step**2).max())
    assert found <= 2 / np.sqrt(27) + 1e-9
    return np.inf, found


def crosses_of_table_2() -> Numbers:
    """Of ln(1 + exp(x)) on [-1, 1], whose extremes are at the ends and at 0."""
    loss = np.logaddexp(0, np.linspace(-1, 1, 2001))
    slope = -np.expm1(-loss)  # the sigmoid
    curvature = slope * (1 - slope)
    kept = [curvature >= 1 / 8, curvature <= 1 / 4, slope**2 >= loss / 5, slope**2 <= loss]
    return 1, sum(not np.all(every) for every in kept)


def columns_of_table_2() -> Numbers:
    """The largest change of the slope of tanh over the distance, between neighbours on a grid."""
    x = np.linspace(-3, 3, 60_001)
    return np.inf, float(abs(np.diff(1 / np.cosh(x) ** 2) / np.diff(x)).max())


COUNTEREXAMPLES: dict[str, Callable[[], Numbers]] = {
    "song2023-3.1": assumption_3_1,
    "song2023-5": section_5,
    "song2023-6.2": theorem_6_2,
    "song2023-7.4": theorem_7_4,
    "song2023-7.5": theorem_7_5,
    "song2023-B.1": lemma_b_1,
    "song2023-B.4": lemma_b_4,
    "song2023-B.7": lemma_b_7,
    "song2023-B.8": lemma_b_8,
    "song2023-C.1": definition_c_1,
    "song2023-C.3": definition_c_3,
    "song2023-D.18": lemma_d_18,
    "song2023-D.19": lemma_d_19,
    "song2023-D.20": lemma_d_20,
    "song2023-D.22": lemma_d_22,
    "song2023-D.23": lemma_d_23,
    "song2023-D.25": lemma_d_25,
    "song2023-D.27": lemma_d_27,
    "song2023-E.3": theorem_e_3,
    "song2023-G.2": theorem_g_2,
    "song2023-H.7": lemma_h_7,
    "song2023-H.8": lemma_h_8,
    "song2023-H.8-factor": lemma_h_8_with_a_factor,
    "song2023-H.8-overload": lemma_h_8_overloaded,
    "song2023-H.9": lemma_h_9,
    "song2023-J.5": lemma_j_5,
    "song2023-K.2": theorem_k_2,
    "song2023-K.3": theorem_k_3,
    "song2023-K.3-condition": condition_of_theorem_k_3,
    "song2023-L.1": theorem_l_1,
    "song2023-L.1-power": theorem_l_1_for_other_powers,
    "song2023-M.2-norm": norm_in_appendix_m,
    "song2023-M.2-rank": rank_in_appendix_m,
    "song2023-algorithm-1": algorithm_1,
    "song2023-table-2": table_2,
    "song2023-table-2-columns": columns_of_table_2,
    "song2023-table-2-crosses": crosses_of_table_2,
}
