"""Exact mean squared norms E‖RᵀRh‖² of families, one function each, and the paper's bound. Functions take h, float64
(..., d), and the sketch size b, and return float64 (...)."""

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count, NonNegative, checked
from sketchbench.measure.numbers import Vectors
from sketchbench.theory import sampling
from sketchbench.theory.second_moment import Vector


def _square(h: Vector) -> Vector:
    return np.asarray((h**2).sum(axis=-1))


@checked
def bound(h: Vectors, *, b: Count, embedding_constant: NonNegative) -> NDArray[np.float64]:
    """(1 + α)‖h‖² with α = a d/b (song2023 Theorem 4.2(4))."""
    return np.asarray((1 + embedding_constant * h.shape[-1] / b) * _square(h))


@checked
def gaussian(h: Vectors, *, b: Count) -> Vector:
    """Return (1 + (d + 1)/b)‖h‖², the moment for independent N(0, 1/b) entries."""
    return (1 + (h.shape[-1] + 1) / b) * _square(h)


@checked
def hashed(h: Vectors, *, b: Count) -> Vector:
    """Return (1 + (d - 1)/b)‖h‖², the moment for AMS, CountSketch and sparse embeddings."""
    return (1 + (h.shape[-1] - 1) / b) * _square(h)


@checked
def sampled_hadamard(h: Vectors, *, b: Count, replacement: bool = False) -> Vector:
    """Return (1 + (d - 1)/b · (n - b)/(n - 1))‖h‖², the moment for SRHT padded to n; with replacement the last factor
    is 1."""
    d = h.shape[-1]
    n = 1 << (d - 1).bit_length()
    return (1 + (d - 1) / b * sampling.variance_factor(b, n, replacement)) * _square(h)


@checked
def sampled_cosine(h: Vectors, *, b: Count, replacement: bool = False) -> Vector:
    """Subsampled DCT-II of length d: d/b ‖h‖² without replacement, as RᵀR is d/b times a projection. With replacement
    it is ‖h‖² + (d Σ_jk F_kj² F_ki² h_i² - ‖h‖²)/b = (1 + (d - 1)/b)‖h‖², since Σ_j F_kj² = 1."""
    d = h.shape[-1]
    return (1 + (d - 1) / b if replacement else d / b) * _square(h)


@checked
def uniform_sampling(h: Vectors, *, b: Count) -> Vector:
    """Return d/b ‖h‖², the moment for uniform sampling of b coordinates, times d/b."""
    return h.shape[-1] / b * _square(h)


@checked
def balanced(h: Vectors, *, b: Count) -> Vector:
    """Return q ‖h‖², the moment for balanced CountSketch: RRᵀ = q I, for q = d/b columns in every bucket."""
    return h.shape[-1] / b * _square(h)


@checked
def identity(h: Vectors, *, b: Count) -> Vector:
    """Return ‖h‖², the moment for R = I."""
    return _square(h)


@checked
def nothing(h: Vectors, *, b: Count) -> Vector:
    """Return 0, the moment for R = 0."""
    return 0 * _square(h)
