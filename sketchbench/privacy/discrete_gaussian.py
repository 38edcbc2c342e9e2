"""The discrete Gaussian N_Z(0, σ²), with probabilities proportional to exp(-x²/2σ²) at integers x, and the privacy of
sums with such noise.

At integer orders the moments of its privacy loss equal the continuous Gaussian's: with P = N_Z(v, σ²) and Q = N_Z(0,
σ²) on integer vectors, E_Q[(P/Q)^k] = exp(k(k - 1)‖v‖²/2σ²) for integers k and v. Moments of Poisson batches are sums
of these, and the opposite direction is no larger, as x -> v - x exchanges P and Q (Mironov, Talwar and Zhang 2019,
Theorem 5). So `epsilon` takes integer orders alone: other orders and loss distributions are not covered.
"""

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from sketchbench.base.parameters import Count, NonNegative, Positive, Probability, Share, checked
from sketchbench.privacy import renyi

Integers = NDArray[np.int64]
ORDERS = (*range(2, 257), 320, 384, 448, 512, 640, 768, 896, 1024)
PRECISION = 1e-5  # relative precision of a calibrated σ
GRAIN, SMALL = 16, 4096  # variances below SMALL are multiples of 1/GRAIN, others are integers
MOST = 2**25  # variances up to which 64 bits hold all products of the sampler
FARTHEST = 40  # scales of the proposal, beyond which a draw is accepted with a probability below exp(-700)


def on_grid(variance: float) -> float:
    """The smallest variance of at least this that `draw` takes: at most 1/4096 more, or 1/16 if it is small."""
    grain = GRAIN if variance < SMALL else 1
    return math.ceil(variance * grain) / grain


def draw(random: np.random.Generator, variance: float, shape: tuple[int, ...]) -> Integers:
    """Draw from N_Z(0, σ²), exactly, by integers alone (Canonne, Kamath and Steinke 2020, Algorithms 1 to 3). Draws
    beyond 40 (⌊σ⌋ + 1), with a probability below exp(-700), are left out. A draw takes about a microsecond. The
    variance σ² > 0 is from `on_grid`; the numbers' variance is at most σ², and hardly less for σ >= 1. Raises
    ValueError for a σ² outside `on_grid`, or above 2^25."""
    if not 0 < variance <= MOST or on_grid(variance) != variance:
        raise ValueError(f"variance={variance} must be > 0, <= {MOST}, and a multiple of 1/{GRAIN}, or from `on_grid`")
    grain = GRAIN if variance < SMALL else 1
    share = round(variance * grain)  # σ² in units of 1/grain
    scale = math.isqrt(share // grain) + 1  # ⌊σ⌋ + 1
    found: list[Integers] = [np.empty(0, np.int64)]
    wanted = math.prod(shape)
    while wanted:
        proposed = _laplace(random, scale, 9 * wanted // 4 + 16)  # 45 % of them are accepted
        proposed = proposed[abs(proposed) <= FARTHEST * scale]
        off = (abs(proposed) * (scale * grain) - share) ** 2  # (|Y| - σ²/t)² / 2σ² = off / (2 t² grain share)
        found.append(proposed[_happens(random, off, 2 * scale**2 * grain * share)][:wanted])
        wanted -= len(found[-1])
    return np.concatenate(found).reshape(shape)


def _laplace(random: np.random.Generator, scale: int, tries: int) -> Integers:
    """Draws y with a probability proportional to exp(-|y|/scale), at most `tries` (Algorithm 2)."""
    rest = random.integers(0, scale, size=tries)
    rest = rest[_happens(random, rest, scale)]
    whole, going = np.zeros_like(rest), np.arange(len(rest))
    while len(going):
        going = going[_happens(random, np.ones(len(going), np.int64), 1)]
        whole[going] += 1
    size = rest + scale * whole
    negative = random.integers(0, 2, size=len(size)).astype(bool)
    kept = ~negative | (size > 0)  # 0 once, not twice
    return np.where(negative, -size, size)[kept]


def _happens(random: np.random.Generator, numerators: Integers, denominator: int) -> NDArray[np.bool_]:
    """Events of the probabilities exp(-numerator/denominator) (Algorithm 1)."""
    whole, rest = np.divmod(numerators, denominator)
    happens = _happens_below_one(random, rest, denominator)
    going = np.flatnonzero(happens & (whole > 0))
    passed = 0
    while len(going):
        passed += 1
        lasts = _happens_below_one(random, np.ones(len(going), np.int64), 1)
        happens[going] = lasts
        going = going[lasts & (whole[going] > passed)]
    return happens


def _happens_below_one(random: np.random.Generator, numerators: Integers, denominator: int) -> NDArray[np.bool_]:
    """`_happens` for numerators up to the denominator: an even number of successes with probability γ/1, γ/2, ..."""
    happens, going, k = np.empty(len(numerators), dtype=bool), np.arange(len(numerators)), 1
    while len(going):
        success = random.integers(0, k * denominator, size=len(going)) < numerators[going]
        happens[going[~success]] = k % 2 == 1
        going, k = going[success], k + 1
    return happens


@checked
def closeness(sigma: Positive, clients: Count) -> float:
    """τ = 10 Σ exp(-2π²σ² k/(k + 1)), k from 1 to C - 1 (Kairouz, Liu and Steinke 2021, Theorem 1), for σ >= 1/2. The
    probabilities of an integer under the sum of C draws from N_Z(0, σ²) and under one draw from N_Z(0, C σ²) have a
    ratio of at most exp(τ), either way; tested on exact sums."""
    if sigma < 0.5:
        raise ValueError(f"sigma={sigma} must be >= 1/2 for sums of discrete Gaussians to be close to one")
    return 10 * sum(math.exp(-2 * (math.pi * sigma) ** 2 * k / (k + 1)) for k in range(1, clients))


@checked
def rounded_norm(norm: NonNegative, rows: Count, beta: Probability) -> float:
    """A bound of the norm of a vector x of b entries, ‖x‖ <= `norm`, after random rounding to integers, exceeded with a
    probability of at most β (Kairouz, Liu and Steinke 2021, Theorem 1): Δ̃² = min{‖x‖² + b/4 + √(2 ln 1/β) (‖x‖ +
    √b/2), (‖x‖ + √b)²}.

    If a record changes a vector y by x, rounding both with the same uniform numbers changes ⌊y + u⌋ by x rounded at
    random, with independent entries. So it also bounds the change by a record. The record's owner can't see that
    change, and so can't draw again if it exceeds the bound: β is part of δ.
    """
    likely = norm**2 + rows / 4 + math.sqrt(2 * math.log(1 / beta)) * (norm + math.sqrt(rows) / 2)
    return min(math.sqrt(likely), norm + math.sqrt(rows))


@checked
def epsilon(count: Count, rate: Share, multiplier: Positive, delta: Probability) -> float:
    """An upper bound of ε at δ for `count` releases of sums over Poisson batches with noise N_Z(0, σ²), by Rényi
    divergences of integer orders. `rate` is q, the probability of a record to be in a batch, 1 for full batches;
    `multiplier` is σ over the largest norm of the integers by which a record changes a sum."""

    @functools.cache
    def at(index: int) -> float:
        order = ORDERS[index]
        return (
            count * renyi.divergence(order - 1.0, rate, multiplier)
            + math.log1p(-1 / order)
            - math.log(delta * order) / (order - 1)
        )

    return max(0.0, at(renyi.lowest(at, 0, len(ORDERS) - 1)))


@functools.cache
def multiplier(count: int, rate: float, goal: float, delta: float) -> float:
    """The smallest σ, over a record's change of a sum, with `epsilon` <= `goal`, at most 1e-5 (relative) above it."""

    def excess(log_multiplier: float) -> float:
        return math.log(max(epsilon(count, rate, math.exp(log_multiplier), delta), 1e-300) / goal)

    low, high = -1.0, 1.0
    while excess(high) > 0:
        high += 1
        if high > 30:
            raise ValueError(f"integer orders give no epsilon={goal:g} at delta={delta:g} for any σ; allow more")
    while excess(low) <= 0:
        low -= 1
        if low < -15:
            raise ValueError(f"epsilon={goal:g} is so large that hardly any noise gives more; choose a smaller one")
    return float(math.exp(optimize.brentq(excess, low, high, xtol=PRECISION / 2) + PRECISION / 2))
