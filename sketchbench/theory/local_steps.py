"""Bounds of song2023 Lemmas F.3-F.6 on local steps, for `ClientAverages` of numbers or of arrays of one shape."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sketchbench.theory.convergence import THEOREMS, Assumptions

Numbers = Any  # float64 arrays of the kernels' kind, or floats


class ClientAverages(NamedTuple):
    """Averages over the clients at one local step; ū is the mean of their weights u_c, ḡ the mean of ∇f_c(u_c): V
    (`spread`), the mean of ‖u_c - ū‖²; ‖ḡ‖²; f(ū) - f* (`excess`); ‖ū - w*‖²; and (ū - w*)ᵀḡ (`progress`)."""

    spread: Numbers
    squared_gradient: Numbers
    excess: Numbers
    squared_distance: Numbers
    progress: Numbers


def _check(*path: ClientAverages, eta: float = 1.0) -> None:
    """Raise ValueError unless averages are finite, >= 0 if they must be, and η > 0; TypeError for another type of η."""
    if not path:
        raise ValueError("the path of local steps is empty; give at least one step")
    if isinstance(eta, bool):
        raise TypeError(f"eta={eta} must be a number")
    if not 0 < eta < math.inf:
        raise ValueError(f"eta={eta} must be > 0")
    for at in path:
        for name, value in at._asdict().items():
            if not (np.all(abs(value) < math.inf) and (name in ("excess", "progress") or np.all(value >= 0))):
                raise ValueError(f"{name} of a local step must be finite, and >= 0 if it is a square, not {value}")


def most_gradient(p: Assumptions, at: ClientAverages) -> Numbers:
    """Lemma F.3: the upper bound of ‖ḡ‖²."""
    _check(at)
    return 2 * p.smoothness**2 * at.spread + 4 * p.smoothness * at.excess


def least_progress(p: Assumptions, at: ClientAverages) -> Numbers:
    """Lemma F.4: the lower bound of (ū - w*)ᵀḡ + L/2 V."""
    _check(at)
    THEOREMS["F.7"].check(p.convexity)
    return at.excess + p.convexity / 2 * at.squared_distance


def most_spread(p: Assumptions, eta: float, path: Sequence[ClientAverages]) -> Numbers:
    """Lemma F.5: the upper bound of the sum of V over the local steps of a round, for η <= 1/(8LK)."""
    _check(*path, eta=eta)
    steps = len(path)
    progress = 8 * eta**2 * p.smoothness * steps**2 * sum(at.excess for at in path)
    return progress + 4 * eta**2 * steps**3 * p.heterogeneity


def most_distance(p: Assumptions, eta: float, before: ClientAverages) -> Numbers:
    """Lemma F.6 within a round: the upper bound of ‖ū - w*‖² after a local step, for η <= 1/(4L)."""
    _check(before, eta=eta)
    THEOREMS["F.7"].check(p.convexity)
    kept = (1 - p.convexity * eta) * before.squared_distance
    return kept + 1.5 * eta * p.smoothness * before.spread - eta * before.excess


def most_distance_after_sketch(p: Assumptions, eta: float, path: Sequence[ClientAverages]) -> Numbers:
    """Lemma F.6 from one round to the next: a random variable whose mean is an upper bound of E‖w - w*‖²."""
    _check(*path, eta=eta)
    sketch = sum(most_gradient(p, at) for at in path)
    return most_distance(p, eta, path[-1]) + eta**2 * p.alpha * len(path) * sketch
