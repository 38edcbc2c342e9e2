"""Rényi differential privacy of Gaussian releases on full or Poisson batches, at orders of any size.

The order is α = 1 + t. A step with the Rényi divergence D has, with k others, ε = k D + log(1 - 1/α) - log(δ α)/t at δ
(Canonne, Kamath and Steinke 2020, Proposition 12); the best of ORDERS is taken. ORDERS is fine, since D of small
batches jumps within 1 % of an order: a little below the jump ε falls like 1/t, and above it batches no longer amplify.

t D = log E[(P/Q)^α] under Q = N(0, σ²), with P = (1 - q) Q + q N(1, σ²) for Poisson batches of rate q (Mironov, Talwar
and Zhang 2019), is integrated: dp-accounting's series is too large at fractional orders, and its sum at integer orders
cancels if it is small.
"""

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from sketchbench.base.parameters import Count, Positive, Probability, Share, checked

Numbers = NDArray[np.float64]
REACH = 12.0  # standard deviations; a normal variable is farther away with a probability below 1e-32
FARTHEST = 1e12  # orders over σ up to which positions have digits left
WIDE = 400.0  # width of an interval from which on maxima get separate parts
POINTS = 801  # of the trapezoidal rule, whose error falls exponentially for such integrands
TERMS = 16  # of a power series

_LISTED = [*(x / 10 for x in range(11, 110)), *range(11, 64), 128, 256, 512, 1024]  # dp-accounting's orders
FINENESS = 256  # orders from one t to its double
ORDERS = sorted(  # t
    {order - 1 for order in _LISTED}
    | {0.1 * 2 ** (-k / FINENESS) for k in range(1, 9601)}
    | {1024 * 2 ** (k / FINENESS) for k in range(-3413, 15937)}
)


@checked
def epsilon(count: Count, rate: Share, sigma: Positive, delta: Probability) -> float:
    """An upper bound of ε at δ for `count` Gaussian releases of Poisson batches of rate q (1: full), at most 0.5 %
    above the bound by the best of all orders; sigma is σ over the sensitivity. It costs some 25 integrals, 0.25 s."""

    @functools.cache
    def at(index: int) -> float:
        t = ORDERS[index]
        order = 1 + t
        kept = math.log1p(-1 / order) if t > 0.05 else math.log(t / order)
        return count * divergence(t, rate, sigma) + kept - math.log(delta * order) / t

    # The divergence falls with the order to Kullback and Leibler's, for which δ <= √(1 - exp(-D)).
    if delta**2 + math.expm1(-count * divergence(ORDERS[0], rate, sigma)) > 0:
        return 0.0
    last = len(ORDERS) if rate == 1 else bisect.bisect(ORDERS, FARTHEST * sigma)
    return max(0.0, at(lowest(at, 0, last - 1)))


def divergence(t: float, rate: float, sigma: float) -> float:
    """The Rényi divergence of order 1 + t of a Gaussian release of a Poisson batch; arguments as in `epsilon`."""
    order = 1.0 + t
    full = order / (2 * sigma**2)
    if rate == 1:
        return full
    return min(poisson_log_moment(t, rate, sigma) / t, full)


def lowest(at: Callable[[int], float], low: int, high: int) -> int:
    """The index of the least value of a sequence that falls, then rises, such as ε, a convex function of t over t."""
    while low < high:
        middle = (low + high) // 2
        if at(middle) <= at(middle + 1):
            high = middle
        else:
            low = middle + 1
    return low


def poisson_log_moment(t: float, rate: float, sigma: float) -> float:
    """log A of a Gaussian release of a Poisson batch; its relative error is about 1e-13, and it takes 10 ms.
    A - 1 is the integral of (1 + u)^α - 1 - α u >= 0 over Q, as u = P/Q - 1 has the mean 0. It has maxima near 0 and
    2/σ, and at the extremes of the density of Q times (P/Q)^α; each gets its window.
    `t`: order less 1, > 0; `rate`: q, 0 < q < 1; `sigma`: σ over the sensitivity, > 0."""
    modes = (0.0, min(2.0, 1 + t) / sigma, *_modes(t, rate, sigma))
    merged: list[tuple[float, float]] = []
    for window in sorted(_window(mode, t, rate, sigma) for mode in modes):
        start, end = merged.pop() if merged and window[0] <= merged[-1][1] else window
        merged.append((start, max(end, window[1])))
    parts = []
    for low, high in (part for whole in merged for part in _split(*whole, modes)):
        values = _log_integrand(np.linspace(low, high, POINTS), t, rate, sigma)
        parts.append(float(special.logsumexp(values)) + math.log((high - low) / (POINTS - 1)))
    return float(np.logaddexp(0.0, special.logsumexp(parts)))


def _split(low: float, high: float, modes: Sequence[float]) -> Iterator[tuple[float, float]]:
    """The parts of an interval, with separate parts for maxima that the points of a wide interval might miss."""
    wide = high - low > WIDE
    cuts = {at + shift for at in modes for shift in (-REACH, REACH) if wide and low < at + shift < high}
    return itertools.pairwise(sorted({low, high} | cuts))


def _log_ratio(y: Numbers, rate: float, sigma: float) -> Numbers:
    loss = y / sigma - 0.5 / sigma / sigma
    near = np.log1p(rate * np.expm1(np.minimum(loss, 1.0)))
    return np.where(loss > 1, np.logaddexp(math.log1p(-rate), math.log(rate) + loss), near)


def _log_integrand(y: Numbers, t: float, rate: float, sigma: float) -> Numbers:
    """The logarithm of the density of Q at σ y times (1 + u)^α - 1 - α u."""
    w = _log_ratio(y, rate, sigma)
    small = np.clip(w, -0.5 / (1 + t), 0.5 / (1 + t))  # the sum of (α^k - α) w^k/k!
    power, series = (1 + t) * small, np.zeros_like(w)
    for k in range(2, TERMS):
        power = power * (1 + t) * small / k
        series -= power * math.expm1(-(k - 1) * math.log1p(t))
    with np.errstate(divide="ignore"):  # log 0 if P = Q
        direct = w + np.log(np.expm1(np.minimum(t * w, 600.0)) + t * np.expm1(-w))
        log_power = np.where(abs((1 + t) * w) < 0.5, np.log(series), np.where(t * w > 600, w + t * w, direct))
    return np.asarray(log_power - y * y / 2 - math.log(2 * math.pi) / 2)


def _modes(t: float, rate: float, sigma: float) -> list[float]:
    """The maxima of the density of Q at σ y times (P/Q)^α: solutions of y = α s/σ, with s = q N(1, σ²)/P. s grows with
    y, and is convex up to 1/2, concave above it, so that Newton's method from either end is monotone."""
    start = (1 + t) / sigma
    modes = []
    for end, low in ((0.0, True), (start, False)):
        y = end
        for _ in range(200):
            s = float(special.expit(math.log(rate) - math.log1p(-rate) + y / sigma - 0.5 / sigma / sigma))
            slope = 1 - start * s * (1 - s) / sigma
            if slope <= 0 or (s > 0.5) == low:
                break  # past the last possible maximum
            step = (y - start * s) / slope
            y -= step
            if abs(step) <= 1e-3:
                modes.append(y)
                break
    return modes


def _window(mode: float, t: float, rate: float, sigma: float) -> tuple[float, float]:
    """The neighbourhood of a maximum outside which the integrand is negligible."""
    low = high = REACH
    while True:
        y = mode + np.array([-low, -low / 2, 0.0, high / 2, high])
        at = _log_integrand(y, t, rate, sigma)
        wide = (at[0] > at.max() - 40, at[-1] > at.max() - 40)
        if not any(wide) or max(low, high) > 1e100:
            return float(y[0]), float(y[-1])
        low, high = low * (1 + wide[0]), high * (1 + wide[1])
