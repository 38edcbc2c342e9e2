"""Step sizes and rounds to a target ε in song2023 Theorems F.10 (Corollary 5.2), F.8 (Corollary 5.4); Lemma G.1."""

import math
from collections.abc import Callable
from typing import NamedTuple

from sketchbench.base.parameters import NonNegative, Positive, checked
from sketchbench.theory.convergence import THEOREMS, Assumptions


def threshold(p: Assumptions) -> float:
    """σ²/(16(1 + α)²μ), the smallest ε down to which convergence is linear in spite of heterogeneity."""
    THEOREMS["F.9"].check(p.convexity)
    return p.heterogeneity / (16 * (1 + p.alpha) ** 2 * p.convexity)


@checked
def step(p: Assumptions, target: Positive) -> float:
    """The step size η for a target ε: min{1/(8(1 + α)LK), √(με/(2K))/(2LKσ)}; the proof's optimum is K = 1."""
    THEOREMS["F.9"].check(p.convexity)
    largest = 1 / (8 * (1 + p.alpha) * p.smoothness * p.local_steps)
    if p.heterogeneity == 0:
        return largest
    drift = math.sqrt(p.convexity * target / (2 * p.local_steps * p.heterogeneity))
    return min(largest, drift / (2 * p.smoothness * p.local_steps))


@checked
def rounds(p: Assumptions, target: Positive) -> int:
    """The rounds for a target ε with `step`: log(L‖w⁰ - w*‖²/ε)/(μη), rounded up; 1 if the start is within ε."""
    eta, start = step(p, target), p.smoothness * p.squared_distance
    return max(1, math.ceil(math.log(start / target) / (p.convexity * eta))) if start > target else 1


@checked
def convex_threshold(p: Assumptions) -> float:
    """σ²/((1 + α)²L), the smallest ε of Theorem F.8 for which heterogeneity does not shorten the step."""
    THEOREMS["F.7"].check(p.convexity)
    return p.heterogeneity / ((1 + p.alpha) ** 2 * p.smoothness)


@checked
def convex_step(p: Assumptions, target: Positive) -> float:
    """The step size η of Theorem F.8 for a target ε: Kη = min{1/(8(1 + α)L), √(ε/L)/(8σ)}."""
    THEOREMS["F.7"].check(p.convexity)
    drift = math.sqrt(target / (p.smoothness * p.heterogeneity)) if p.heterogeneity else math.inf
    return min(1 / ((1 + p.alpha) * p.smoothness), drift) / (8 * p.local_steps)


@checked
def convex_rounds(p: Assumptions, target: Positive) -> int:
    """The rounds of Theorem F.8 for a target ε with `convex_step`: 8‖w⁰ - w*‖²/(ηKε), rounded up."""
    return math.ceil(8 * p.squared_distance / (convex_step(p, target) * p.local_steps * target))


class Corollary(NamedTuple):
    """The prescriptions of a theorem about communication for a target ε.

    Attributes:
        bound: place of the theorem whose bound it is derived from.
        average: whether that bound is about the mean of all weights.
        unsketched: place of the theorem for one local step, which gives the step size without sketches.
        threshold: function of the constants, the ε at which the regime changes.
        step: function of the constants and ε, the step size η.
        rounds: function of the constants and ε, the number T of rounds.
    """

    bound: str
    average: bool
    unsketched: str
    threshold: Callable[[Assumptions], float]
    step: Callable[[Assumptions, float], float]
    rounds: Callable[[Assumptions, float], int]


COROLLARIES = {
    "F.8": Corollary("F.7", True, "E.2", convex_threshold, convex_step, convex_rounds),
    "F.10": Corollary("F.9", False, "E.1", threshold, step, rounds),
}


@checked
def most_change(p: Assumptions, eta: Positive, squared_gradient: NonNegative, *, printed: bool) -> float:
    """Lemma G.1: the upper bound of E f(w^{t+1}) - f(w^t) given w^t, with η_global = 1 and `eta` = η_local. With
    `printed`, the descent is η_global ‖∇f(w^t)‖², as printed; else ηK‖∇f(w^t)‖², from the lemma's first line."""
    if not math.isfinite(p.gradient_bound):
        raise ValueError("Lemma G.1 needs bounded gradients, and gradient_bound is inf; choose another objective")
    descent = squared_gradient if printed else eta * p.local_steps * squared_gradient
    drift = p.smoothness * p.local_steps**2 * p.gradient_bound**2 * (eta + eta / 2 * (1 + p.alpha))
    return eta * drift - descent
