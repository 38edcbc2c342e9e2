"""Measures of sparsity, and tails of vectors beyond their k largest entries."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count, checked
from sketchbench.measure.numbers import Real

Vectors = NDArray[np.float64]


class Tail(NamedTuple):
    """Norms of the tail x - x^[k]: ℓ2 norms `two` and ℓ1 norms `one`, (...) each."""

    two: Vectors
    one: Vectors


@checked
def sparsity(x: Real) -> Vectors:
    """The sparsity sp(x) = ‖x‖₁² / (‖x‖₂² d) of vectors x (..., d), in (0, 1] (tang2021 (4)); NaN for x = 0."""
    x = x / np.max(abs(x), axis=-1, keepdims=True)  # otherwise squares could overflow
    return np.asarray(abs(x).sum(-1) ** 2 / ((x**2).sum(-1) * x.shape[-1]))


@checked
def tail_constants(errors: Real, x: Real, k: Count) -> Vectors:
    """A lower bound (...) of the constant C_s of tang2021 Lemma 2 from recoveries with k nonzeros of vectors x (...,
    d): the smallest C with error <= (C + 1)‖x - x^[k]‖₂ + C/√k ‖x - x^[k]‖₁, for errors ‖estimate - x‖₂ (...)."""
    two, one = tail_norms(x, k)
    return np.asarray((errors - two) / (two + one / np.sqrt(k)))


@checked
def tail_norms(x: Real, k: int) -> Tail:
    """Norms of x (..., d) without its k entries of largest magnitude. Raises ValueError unless 0 <= k <= d."""
    if not 0 <= k <= x.shape[-1]:
        raise ValueError(f"k={k} must satisfy 0 <= k <= d={x.shape[-1]}")
    rest = np.sort(abs(x), axis=-1)[..., : x.shape[-1] - k]
    largest = rest.max(axis=-1, keepdims=True, initial=0.0)
    scaled = rest / np.where(largest > 0, largest, 1.0)  # otherwise squares could overflow
    return Tail(np.sqrt((scaled**2).sum(-1)) * largest[..., 0], rest.sum(-1))
