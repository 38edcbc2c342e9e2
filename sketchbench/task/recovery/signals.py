"""Test signals for recoveries: sparse and heavy-tailed vectors, the same for every recovery."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import choose

Signals = NDArray[np.float64]
Kind = Literal["sparse", "heavy_tail"]


def draw(kind: str, d: int, k: int, count: int, seed: int, first: int = 0) -> Signals:
    """Draw signals of a kind, (count, d), with the numbers first, ..., first + count - 1.

    Signal t depends on the other arguments only, not on `count`. `sparse` signals have k entries N(0, 1) at random
    places, plus N(0, 0.05²) in every entry (tang2021 Appendix C). `heavy_tail` signals have independent entries with
    Student's t distribution with 2 degrees of freedom: none is zero, and a few large entries dominate. Raises
    ValueError for an unknown kind, or unless 1 <= k <= d for sparse signals.
    """
    choose("signals", kind, get_args(Kind))
    if kind == "sparse":
        return draw_sparse(d, k, count, seed, first, noise=0.05)
    signals = np.empty((count, d))
    for t in range(count):
        signals[t] = seeds.generator(seed, data=kind, d=d, signal=first + t).standard_t(2, d)
    return signals


def draw_sparse(d: int, k: int, count: int, seed: int, first: int = 0, *, noise: float = 0.0) -> Signals:
    """Draw signals with k entries N(0, 1) at random places, plus N(0, noise²) in every entry. Arguments and result are
    those of `draw`; with noise = 0 all other entries are 0. Raises ValueError unless 1 <= k <= d and noise >= 0."""
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
    """‖x - x̂‖² / ‖x‖² of every signal (tang2021 Appendix C), (...), for signals and estimates of shape (..., d)."""
    return np.asarray(((x - estimate) ** 2).sum(-1) / (x**2).sum(-1))


def normalise(v: Signals) -> Signals:
    """Scale the rows of v (N, d) to norm 1."""
    return np.asarray(v / np.linalg.norm(v, axis=-1, keepdims=True))
