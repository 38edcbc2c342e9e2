"""What song2023 Lemmas F.3-F.6 bound, and by what: the steps from one local step to the next.

Every function takes `State`s, whose entries are arrays of any one shape, or numbers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sketchbench.theory.convergence import Problem

Numbers = Any  # float64 arrays of the kernels' kind, or floats


class State(NamedTuple):
    """Of the clients' weights u_c at one local step, with means ū and ḡ = mean ∇f_c(u_c): V, the mean of ‖u_c - ū‖²;
    ‖ḡ‖²; f(ū) - f*; ‖ū - w*‖²; and (ū - w*)ᵀḡ."""

    spread: Numbers
    squared_gradient: Numbers
    excess: Numbers
    squared_distance: Numbers
    progress: Numbers


def most_gradient(p: Problem, at: State) -> Numbers:
    """Lemma F.3: ‖ḡ‖² is at most this."""
    return 2 * p.smoothness**2 * at.spread + 4 * p.smoothness * at.excess


def least_progress(p: Problem, at: State) -> Numbers:
    """Lemma F.4: (ū - w*)ᵀḡ + L/2 V is at least this."""
    return at.excess + p.convexity / 2 * at.squared_distance


def most_spread(p: Problem, eta: float, path: Sequence[State]) -> Numbers:
    """Lemma F.5: the sum of V over the local steps of a round is at most this, for η <= 1/(8LK)."""
    steps = len(path)
    progress = 8 * eta**2 * p.smoothness * steps**2 * sum(at.excess for at in path)
    return progress + 4 * eta**2 * steps**3 * p.heterogeneity


def most_distance(p: Problem, eta: float, before: State) -> Numbers:
    """Lemma F.6 within a round: ‖ū - w*‖² after a local step is at most this, for η <= 1/(4L)."""
    kept = (1 - p.convexity * eta) * before.squared_distance
    return kept + 1.5 * eta * p.smoothness * before.spread - eta * before.excess


def most_distance_after_sketch(p: Problem, eta: float, path: Sequence[State]) -> Numbers:
    """Lemma F.6 from one round to the next: E‖w - w*‖² is at most the mean of this."""
    sketch = sum(most_gradient(p, at) for at in path)
    return most_distance(p, eta, path[-1]) + eta**2 * p.alpha * len(path) * sketch
