"""Which enumerated distribution each exact moment speaks of."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import exhaustive
import numpy as np
from exhaustive import Distribution, Matrix
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sketchbench.theory import norm, second_moment


@dataclass(frozen=True)
class Case:
    enumerate: Callable[[], Distribution]
    second_moment: Callable[..., Any]
    norm: Callable[..., Any]
    constant: float | None

    @functools.cached_property
    def distribution(self) -> Distribution:
        return self.enumerate()


def _hashed(enumerate: Callable[[], Distribution]) -> Case:
    return Case(enumerate, second_moment.hashed, norm.hashed, 2)


def _sampled(name: str, d: int, b: int, replacement: bool) -> Case:
    kind = {"srht": "sampled_hadamard", "srct": "sampled_cosine"}[name]
    return Case(
        partial(getattr(exhaustive, name), d, b, replacement),
        partial(getattr(second_moment, kind), replacement=replacement),
        partial(getattr(norm, kind), replacement=replacement),
        2,
    )


def _uniform(d: int, b: int) -> Case:
    draw = partial(exhaustive.uniform_sampling, d, b)
    return Case(draw, second_moment.uniform_sampling, norm.uniform_sampling, None)


def _balanced(d: int, b: int) -> Case:
    return Case(partial(exhaustive.balanced, d, b), second_moment.balanced, norm.balanced, 2)


def _gaussian(d: int, b: int) -> Case:
    return Case(partial(exhaustive.gaussian, d, b), second_moment.gaussian, norm.gaussian, 2)


CASES = {
    "count_sketch 3x2": _hashed(partial(exhaustive.count_sketch, 3, 2)),
    "count_sketch 2x3": _hashed(partial(exhaustive.count_sketch, 2, 3)),
    "count_sketch 4x1": _hashed(partial(exhaustive.count_sketch, 4, 1)),
    "ams 3x2": _hashed(partial(exhaustive.ams, 3, 2)),
    "ams 4x1": _hashed(partial(exhaustive.ams, 4, 1)),
    "sparse 3x3, s=2": _hashed(partial(exhaustive.sparse, 3, 3, 2)),
    "sparse 2x4, s=3": _hashed(partial(exhaustive.sparse, 2, 4, 3)),
    "sparse 3x3, s=3": _hashed(partial(exhaustive.sparse, 3, 3, 3)),
    "block_sparse 3x4, s=2": _hashed(partial(exhaustive.block_sparse, 3, 4, 2)),
    "block_sparse 2x3, s=3": _hashed(partial(exhaustive.block_sparse, 2, 3, 3)),
    "uniform 4x2": _uniform(4, 2),
    "uniform 3x3": _uniform(3, 3),
    "uniform 5x1": _uniform(5, 1),
    "uniform 1x1": _uniform(1, 1),
    "balanced 4x2": _balanced(4, 2),
    "balanced 4x4": _balanced(4, 4),
    "balanced 3x1": _balanced(3, 1),
    "balanced 1x1": _balanced(1, 1),
    "gaussian 2x1": _gaussian(2, 1),
    "gaussian 3x2": _gaussian(3, 2),
    "gaussian 1x4": _gaussian(1, 4),
    "identity 3": Case(partial(exhaustive.identity, 3), second_moment.identity, norm.identity, 0),
    **{
        f"{name} {d}x{b}{', replacement' if replacement else ''}": _sampled(name, d, b, replacement)
        for name, sizes in {
            "srht": [(4, 2), (3, 2), (3, 4), (4, 4), (5, 3), (1, 1), (2, 1)],
            "srct": [(3, 2), (4, 2), (4, 3), (5, 2), (3, 3), (1, 1)],
        }.items()
        for d, b in sizes
        for replacement in (False, True)
    },
}


def pairs(d: int) -> dict[str, tuple[Matrix, Matrix]]:
    rng = np.random.default_rng(d)
    spike, flat, half = np.eye(d)[0], np.ones(d), np.arange(d) % 2
    g, h = rng.standard_normal((2, d))
    return {
        "random": (g, h),
        "same": (g, g),
        "spike": (spike, spike),
        "last spike": (np.eye(d)[-1], np.eye(d)[-1]),
        "flat": (flat, flat),
        "flat and spike": (flat, spike),
        "disjoint": (g * half, h * (1 - half)),
        "opposite": (flat, -flat),
        "alternating": (flat, (-1.0) ** np.arange(d)),
    }


def vectors(d: int, count: int) -> st.SearchStrategy[Matrix]:
    """Arrays of shape (count, d) with entries of moderate size, and with zeros."""
    entries = st.one_of(st.just(0.0), st.floats(-4, 4, width=32).map(lambda x: round(x, 3)))
    return arrays.arrays(np.float64, (count, d), elements=entries)
