"""Exact second moments E[(gᵀRᵀRh)²] of families, one function each, and the papers' bound.
Functions take g and h, float64 (..., d), and the sketch size b, and return float64 (...). The papers only bound these
moments; an equality also reveals a wrong scale, or a hash with too little independence. Abbreviations: base = ‖g‖²‖h‖²
+ (gᵀh)² and off = base - 2 Σ g_i² h_i²."""

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count, NonNegative, checked
from sketchbench.measure.numbers import Vectors
from sketchbench.theory import sampling

Vector = NDArray[np.float64]


def _inner(g: Vector, h: Vector) -> Vector:
    if g.shape[-1:] != h.shape[-1:]:
        raise ValueError(f"g of shape {g.shape} and h of shape {h.shape} must end in the same d")
    return np.asarray((g * h).sum(axis=-1))


def _base(g: Vector, h: Vector) -> Vector:
    return np.asarray((g**2).sum(axis=-1) * (h**2).sum(axis=-1) + _inner(g, h) ** 2)


def _off(g: Vector, h: Vector) -> Vector:
    return np.asarray(_base(g, h) - 2 * (g**2 * h**2).sum(axis=-1))


@checked
def bound(g: Vectors, h: Vectors, *, b: Count, embedding_constant: NonNegative) -> Vector:
    """(gᵀh)² + (a/b)‖g‖²‖h‖², the upper bound in song2023 Definition 4.1."""
    norms = (g**2).sum(axis=-1) * (h**2).sum(axis=-1)
    return np.asarray(_inner(g, h) ** 2 + embedding_constant / b * norms)


@checked
def gaussian(g: Vectors, h: Vectors, *, b: Count) -> Vector:
    """Independent N(0, 1/b) entries: (gᵀh)² + base/b; song2023 Lemma D.13 bounds it with a = 3."""
    return np.asarray(_inner(g, h) ** 2 + _base(g, h) / b)


@checked
def hashed(g: Vectors, h: Vectors, *, b: Count) -> Vector:
    """AMS, CountSketch and both sparse embeddings with any s: (gᵀh)² + off/b (song2023 Lemmas D.12, D.14, D.15). It
    needs 4-wise independent signs, and E Σ_k R_ki² R_kj² = 1/b for columns i ≠ j."""
    return np.asarray(_inner(g, h) ** 2 + _off(g, h) / b)


@checked
def sampled_hadamard(g: Vectors, h: Vectors, *, b: Count, replacement: bool = False) -> Vector:
    """SRHT, zero padded to the next power of two n: (gᵀh)² + off/b · (n - b)/(n - 1) (song2023 Lemma D.12).
    With replacement (n - b)/(n - 1) becomes 1."""
    n = 1 << (g.shape[-1] - 1).bit_length()
    return np.asarray(_inner(g, h) ** 2 + _off(g, h) / b * sampling.variance_factor(b, n, replacement))


@checked
def sampled_cosine(g: Vectors, h: Vectors, *, b: Count, replacement: bool = False) -> Vector:
    """Subsampled DCT-II of length n = d with random signs; ours. O(d²).

    The moment is (gᵀh)² + (n Q - (gᵀh)²)/b · (n - b)/(n - 1), where (n - b)/(n - 1) becomes 1 with replacement. With
    z_k = (FDg)_k (FDh)_k for the transform F, whose entries are not all of one size, and A_k(v) = Σ_i F_ki² v_i,

        Q = Σ_k E[z_k²] = Σ_k A_k(g²)A_k(h²) + 2A_k(gh)² - 2 Σ_i g_i²h_i² Σ_k F_ki⁴.
    """
    n = g.shape[-1]
    inner = _inner(g, h) ** 2
    spread = np.zeros_like(inner)
    step = max(1, 2**20 // n)
    for start in range(0, n, step):
        k = np.arange(start, min(start + step, n))[:, None]
        squares = 2 / n * np.cos(np.pi / (2 * n) * (2 * np.arange(n) + 1) * k) ** 2  # F_ki²
        squares[k[:, 0] == 0] /= 2
        spread += ((g**2 @ squares.T) * (h**2 @ squares.T)).sum(axis=-1)
        spread += 2 * ((g * h @ squares.T) ** 2).sum(axis=-1)
        spread -= 2 * (g**2 * h**2 @ (squares**2).sum(axis=0))
    return np.asarray(inner + (n * spread - inner) / b * sampling.variance_factor(b, n, replacement))


@checked
def uniform_sampling(g: Vectors, h: Vectors, *, b: Count) -> Vector:
    """Uniform sampling without replacement; song2023 Lemma D.16 bounds it with a = d.
    With u_i = g_i h_i: (gᵀh)² + (d/b)² b(d - b)/(d(d - 1)) (Σu_i² - (Σu_i)²/d)."""
    d, u = g.shape[-1], g * h
    inner = u.sum(axis=-1)
    if d == 1:
        return np.asarray(inner**2)
    factor = (d / b) ** 2 * b * (d - b) / (d * (d - 1))
    return np.asarray(inner**2 + factor * ((u**2).sum(axis=-1) - inner**2 / d))


@checked
def balanced(g: Vectors, h: Vectors, *, b: Count) -> Vector:
    """Balanced CountSketch, q = d/b columns in every bucket: (gᵀh)² + off (q - 1)/(d - 1) (zhang2021 Appendix E)."""
    d = g.shape[-1]
    shared = (d / b - 1) / (d - 1) if d > 1 else 0.0  # probability that two columns share a bucket
    return np.asarray(_inner(g, h) ** 2 + _off(g, h) * shared)


@checked
def identity(g: Vectors, h: Vectors, *, b: Count) -> Vector:
    """R = I: (gᵀh)²."""
    return np.asarray(_inner(g, h) ** 2)


@checked
def nothing(g: Vectors, h: Vectors, *, b: Count) -> Vector:
    """R = 0: 0."""
    return 0 * _inner(g, h)
