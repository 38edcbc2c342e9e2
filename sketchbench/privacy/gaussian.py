"""The exact privacy curve of the Gaussian mechanism (Balle and Wang 2018, Theorem 8), computed in log space. μ is the
sensitivity over σ; k releases with μ equal one with √k μ. With x = ε/μ - μ/2 and Mills' ratio m(x) = Φ(-x)/φ(x), the
curve is δ = Φ(-x) - exp(ε) Φ(-x - μ) = φ(x) (m(x) - m(x + μ))."""

import math

import numpy as np
from scipy import optimize, special

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
FAR = 1e6  # x from which on the first term of Mills' asymptotic series has 12 digits
STEEP = 1e8  # μ from which on δ = Φ(-x) to nine digits
NEGLIGIBLE = 1e-25  # events of a smaller probability are added to δ as if they gave the record away


def log_delta(mu: float, epsilon: float) -> float:
    """log δ, with 0 < μ = sensitivity over σ and ε >= 0, for the smallest δ at which the mechanism is (ε, δ)-private. δ
    has a relative error of about 1e-12; -∞ if log δ itself is below the smallest float."""
    _check(mu=mu)
    if not epsilon >= 0:
        raise ValueError(f"epsilon={epsilon} must be >= 0")
    x = epsilon / mu - mu / 2
    if x > FAR:  # the ratios are 1/x and 1/(x + μ)
        return -(x * x) / 2 - math.log(2 * math.pi) / 2 + math.log(mu) - math.log(x) - math.log(x + mu)
    if mu < 1:  # the two ratios are close: integrate -m'(t) = 1 - t m(t) from one to the other
        t = x + mu * (_NODES + 1) / 2
        difference = mu / 2 * float(_WEIGHTS @ _slope(t))
        return -(x**2) / 2 - math.log(2 * math.pi) / 2 + math.log(difference)
    if x > -5:
        difference = _mills(x) - _mills(x + mu)
        return -(x**2) / 2 - math.log(2 * math.pi) / 2 + math.log(difference)
    density = math.exp(-x * x / 2 - math.log(2 * math.pi) / 2)
    return math.log(float(special.ndtr(-x)) - density * _mills(x + mu))  # at most exp(-12): nothing is cancelled


def delta(mu: float, epsilon: float) -> float:
    """The smallest δ at which the mechanism with this μ is (ε, δ)-private; 0 if it is below the smallest float."""
    return math.exp(log_delta(mu, epsilon))


def epsilon(mu: float, delta: float) -> float:
    """The smallest ε >= 0 at which the mechanism with this μ is (ε, δ)-private, for 0 < δ < 1.

    >>> round(epsilon(1.0, 1e-5), 4)
    4.3772
    """
    _check(mu=mu, delta=delta)
    goal = math.log(delta)
    if log_delta(mu, 0.0) <= goal:
        return 0.0
    if mu > STEEP:
        return mu * (mu / 2 - float(special.ndtri(delta)))
    high = mu * (mu / 2 + math.sqrt(-2 * goal))  # δ <= Φ(-x) <= exp(-x²/2)
    return float(optimize.brentq(lambda e: log_delta(mu, e) - goal, 0.0, high, xtol=1e-300, rtol=1e-14))


def mu(epsilon: float, delta: float) -> float:
    """The largest μ at which the mechanism is (ε, δ)-private, so that σ = sensitivity/μ; for ε > 0 and 0 < δ < 1.

    >>> round(mu(1.0, 1e-5), 4)
    0.2681
    """
    _check(epsilon=epsilon, delta=delta)
    goal = math.log(delta)

    def excess(log_mu: float) -> float:
        return log_delta(math.exp(log_mu), epsilon) - goal

    low = math.log(min(epsilon, 1.0)) - 8  # x > 2900, so that δ is 0
    high = math.log(2 * epsilon + 2 * 40)  # x < -40, so that δ is 1
    return math.exp(float(optimize.brentq(excess, low, high, xtol=1e-14)))


def resampled_delta(mu: float, epsilon: float, batch: int, records: int) -> float:
    """An upper bound of δ at a given ε > 0 for a Gaussian release of the mean over a batch drawn with replacement. μ >
    0 is the sensitivity over σ for a record that is in the batch once.

    A record is in the batch j times with probability w_j, and then moves the mean by at most j μ. So outputs of
    neighbouring data sets have the distributions P = Σ w_j P_j and Q = Σ w_j Q_j with P_0 = Q_0 = A; any two of A, P_j
    and Q_j are at most j μ apart. The part w_0 (exp(ε) - 1) A of exp(ε) Q - P is divided among j = 1, 2, ... in shares
    λ_j with sum 1; then δ <= Σ w_j δ(j μ, ε_j), with exp(ε_j) = exp(ε) + (exp(ε) - 1) λ_j w_0 / w_j. The bound is the
    best of three geometric sequences of shares. λ_j ∝ w_j is Theorem 10 of Balle, Barthe and Gaboardi 2018, which is
    far from tight at small δ.
    """
    from scipy import stats  # takes a second to import

    _check(mu=mu, epsilon=epsilon)
    times = np.arange(batch + 1)
    chances = stats.binom.pmf(times, batch, 1 / records)
    times, chances, never = times[1:], chances[1:], chances[0]
    likely = chances > NEGLIGIBLE
    times, chances, rest = times[likely], chances[likely], float(chances[~likely].sum())

    def limit(ratio: float) -> float:
        shares = (1 - ratio) * ratio ** (times - 1)
        inner = epsilon + np.log1p(-np.expm1(-epsilon) * shares * never / chances)
        each = [delta(float(j) * mu, float(e)) for j, e in zip(times, inner, strict=True)]
        return float(chances @ each) + rest

    return min(map(limit, (0.5, 0.1, 0.01)))


def _mills(x: float | np.ndarray) -> float:
    """Mills' ratio Φ(-x)/φ(x); grows like exp(x²/2) for negative x."""
    return math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2))


def _slope(t: np.ndarray) -> np.ndarray:
    """1 - t m(t) > 0, by its asymptotic series for t > 30, for which the difference would cancel."""
    squared = np.maximum(t, 30.0) ** -2
    series = squared * (1 - squared * (3 - squared * (15 - squared * (105 - 945 * squared))))
    return np.where(t > 30.0, series, 1 - t * _mills(np.minimum(t, 30.0)))


def _check(**values: float) -> None:
    for name, value in values.items():
        top = 1.0 if name == "delta" else math.inf
        if not 0 < value < top:
            raise ValueError(f"{name}={value} must satisfy 0 < {name} < {top:g}")
