"""The signals that recoveries are tried on, the same for every recovery."""

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds

Signals = NDArray[np.float64]
KINDS = ("sparse", "heavy_tail")


def draw(kind: str, d: int, k: int, count: int, seed: int, first: int = 0) -> Signals:
    """Signals first, first + 1, ... of a kind, shape (count, d); signal t is always the same.

    sparse: k entries N(0, 1) at random places, plus N(0, 0.05²) everywhere (tang2021 Appendix C).
    heavy_tail: independent entries with Student's t distribution with 2 degrees of freedom: no entry
    is zero, and the largest dominate.
    """
    if kind not in KINDS:
        raise ValueError(f"signals {kind} are unknown; choose from {', '.join(KINDS)}")
    if kind == "sparse":
        return sparse(d, k, count, seed, first, noise=0.05)
    signals = np.empty((count, d))
    for t in range(count):
        signals[t] = seeds.generator(seed, data=kind, d=d, signal=first + t).standard_t(2, d)
    return signals


def sparse(d: int, k: int, count: int, seed: int, first: int = 0, *, noise: float = 0.0) -> Signals:
    """k entries N(0, 1) at random places, plus N(0, noise²) everywhere, shape (count, d)."""
    if not 1 <= k <= d:
        raise ValueError(f"number of nonzeros k={k} must satisfy 1 <= k <= d={d}")
    if not noise >= 0:
        raise ValueError(f"noise={noise} must be >= 0")
    signals = np.zeros((count, d))
    for t in range(count):
        random = seeds.generator(seed, data="sparse", d=d, k=k, signal=first + t)
        signals[t, random.choice(d, k, replace=False)] = random.standard_normal(k)
        if noise:
            signals[t] += noise * random.standard_normal(d)
    return signals


def relative_error(x: Signals, estimate: Signals) -> NDArray[np.float64]:
    """‖x - x̂‖² / ‖x‖² of every signal (tang2021 Appendix C)."""
    return np.asarray(((x - estimate) ** 2).sum(-1) / (x**2).sum(-1))
