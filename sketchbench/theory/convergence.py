"""Convergence of iterative sketching: step sizes and bounds (song2023 Appendices E, F and G).

α = a d/b is the sketch's variance parameter, a its embedding constant: E‖RᵀRh‖² ≤ (1 + α)‖h‖². Every
function takes the constants of the problem, never anything that a run measured.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

# What song2023 Corollaries 5.2 and 5.4 leave to the O(·) of rounds: the theorems let f fall like (1 - μη)^t,
# and gradient descent without sketches can do twice as well, (1 - μη)^2t.
ROUNDS_FACTOR = 2.0

Times = NDArray[np.int64]  # numbers of rounds done
Bounds = NDArray[np.float64]
Measured = Literal["excess", "average_excess", "squared_gradient"]


@dataclass(frozen=True)
class Problem:
    """L, μ, G, f(w⁰) - f*, ‖w⁰ - w*‖² and σ², as in `Objective`; α of the sketch; K local steps."""

    smoothness: float
    convexity: float
    gradient_bound: float
    gap: float
    squared_distance: float
    heterogeneity: float
    alpha: float
    local_steps: int


@dataclass(frozen=True)
class Theorem:
    """A theorem: what it bounds, the largest step it allows, and the bound after t rounds.

    measured: `excess` is f(w^t) - f*; `average_excess` is that of the mean of all weights at which
    gradients were taken; `squared_gradient` the mean of ‖∇f‖² over rounds 0..t, which is at least the
    smallest of them. needs: the smallest convexity it holds for. single_step: it is about K = 1.
    """

    place: str
    measured: Measured
    needs: float
    rate: Callable[[Problem], float]
    bound: Callable[[Problem, float, Times], Bounds]
    single_step: bool = False


def _one_step(p: Problem) -> float:
    return 1 / ((1 + p.alpha) * p.smoothness)


def _local_steps(p: Problem) -> float:
    return 1 / (8 * (1 + p.alpha) * p.smoothness * p.local_steps)


def _strongly_convex(p: Problem, eta: float, t: Times) -> Bounds:
    return np.asarray((1 - p.convexity * eta) ** t * p.gap)


def _convex(p: Problem, eta: float, t: Times) -> Bounds:
    return np.asarray(p.squared_distance / (eta * (t + 1)))


def _not_convex(p: Problem, eta: float, t: Times) -> Bounds:
    return np.asarray(2 * p.gap / (eta * (t + 1)))


def _convex_local(p: Problem, eta: float, t: Times) -> Bounds:
    start = 4 * p.squared_distance / (eta * p.local_steps * np.maximum(t, 1))
    return np.asarray(start + 32 * eta**2 * p.smoothness * p.local_steps**2 * p.heterogeneity)


def _strongly_convex_local(p: Problem, eta: float, t: Times) -> Bounds:
    start = p.smoothness / 2 * p.squared_distance * np.exp(-p.convexity * eta * t)
    drift = 4 * eta**2 * p.smoothness**2 * p.local_steps**3 * p.heterogeneity / p.convexity
    return np.asarray(start + drift)


def _drift(p: Problem, eta: float) -> float:
    """L K² G² (η + η(1 + α)/2) with η_global = 1 (Lemma G.1)."""
    return p.smoothness * p.local_steps**2 * p.gradient_bound**2 * (eta + eta / 2 * (1 + p.alpha))


def _not_convex_local_printed(p: Problem, eta: float, t: Times) -> Bounds:
    return np.asarray(p.gap / (t + 1) + eta * _drift(p, eta))


def _not_convex_local_corrected(p: Problem, eta: float, t: Times) -> Bounds:
    """The descent of a round is η K ‖∇f‖², and not η_global ‖∇f‖² (Lemma G.1's first line)."""
    return np.asarray(p.gap / (eta * p.local_steps * (t + 1)) + _drift(p, eta) / p.local_steps)


def noisy_strongly_convex(p: Problem, eta: float, t: Times, variance: float) -> Bounds:
    """Theorem E.1 with gradients that are unbiased and have this variance, E‖noise‖², instead of exact.

    Ours: E‖RᵀR(∇f + noise)‖² <= (1 + α)(‖∇f‖² + variance) adds (1 + α) L η² variance / 2 per round, at the
    same step sizes; as much as (1 + α) L η variance / (2 μ) in the end.
    """
    return np.asarray(_strongly_convex(p, eta, t) + noise_floor(p, eta, t, variance))


def noise_floor(p: Problem, eta: float, t: Times, variance: float) -> Bounds:
    """What the noise adds to that bound after t rounds."""
    left = 1 - (1 - p.convexity * eta) ** t
    return np.asarray((1 + p.alpha) * p.smoothness * eta * variance / (2 * p.convexity) * left)


def _half(rate: Callable[[Problem], float]) -> Callable[[Problem], float]:
    return lambda p: rate(p) / 2


THEOREMS = {
    theorem.place: theorem
    for theorem in (
        Theorem("E.1", "excess", 1e-300, _one_step, _strongly_convex, True),
        Theorem("E.2", "average_excess", 0.0, _half(_one_step), _convex, True),
        Theorem("E.3", "squared_gradient", -math.inf, _one_step, _not_convex, True),
        Theorem("F.7", "average_excess", 0.0, _local_steps, _convex_local),
        Theorem("F.9", "excess", 1e-300, _local_steps, _strongly_convex_local),
        Theorem(
            "G.2-printed",
            "squared_gradient",
            -math.inf,
            lambda p: 1 / (2 * p.smoothness * p.local_steps),
            _not_convex_local_printed,
        ),
        Theorem(
            "G.2-corrected",
            "squared_gradient",
            -math.inf,
            lambda p: 1 / (2 * p.smoothness * p.local_steps),
            _not_convex_local_corrected,
        ),
    )
}
