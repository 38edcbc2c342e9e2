"""A search for the pair of vectors (g, h) with the largest variation of gᵀRᵀRh."""

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

OPERATORS = 2048  # the most operators of the search
ENTRIES = 2**19  # of all operators' outputs for one vector, which limits the operators for large d
CROSSED = 64  # basis vectors that are paired with one another
STEPS = 4  # of ascent


def worst_pair(family: Family, kernels: Kernels, seed: int) -> tuple[Vector, Vector]:
    """The unit vectors (g, h), (d,) each, with the largest E[(gᵀRᵀRh - gᵀh)²] that a search finds.

    Candidates are two basis vectors, and vectors g = h: a sum of two basis vectors, a block, an arithmetic progression,
    all coordinates (with equal or alternating signs), or a row of a Walsh-Hadamard matrix. A few steps of ascent follow
    from the best candidate: g moves to Cg, scaled to norm 1, with C = Σ_t (R_tᵀR_t h - h)(R_tᵀR_t h - h)ᵀ; then h moves
    in the same way, with C of g.

    The search draws its own operators, independent of those that measure the pair. The same seed finds the same pair.
    """
    search = _Search(family, kernels, seeds.key(seed, task="worst pair", family=repr(family)))
    g, h = search.best()
    value = search.moment(g, h)
    for _ in range(STEPS):
        g, h = search.ascend(h, g)
        moment = search.moment(g, h)
        if moment <= value * (1 + 1e-3):
            break
        value = moment
    return g, h


class _Search:
    """A search with the same operators for all vectors."""

    def __init__(self, family: Family, kernels: Kernels, key: int) -> None:
        self._family, self._kernels, self._key = family, kernels, key
        self._count = max(2, min(OPERATORS, ENTRIES // family.d))

    def _errors(self, h: Matrix) -> NDArray[np.float64]:
        """RᵀRh - h of every operator for vectors h (N, d): (operators, N, d)."""
        raised = self._kernels.asarray(np.ascontiguousarray(h)[None])
        errors = [
            self._kernels.to_numpy(trials.sketch_and_desketch(sketch, raised)) - h
            for sketch in trials.operators(self._family, self._key, self._kernels, self._count, len(h))
        ]
        return np.concatenate(errors)

    def moment(self, g: Vector, h: Vector) -> float:
        """The mean of (gᵀRᵀRh - gᵀh)² over the operators."""
        return float(((self._errors(h[None])[:, 0] @ g) ** 2).mean())

    def best(self) -> tuple[Vector, Vector]:
        """The candidate with the largest moment. Basis vectors are tried at all pairs of up to CROSSED places."""
        d = self._family.d
        best, pair = -1.0, (np.eye(1, d)[0],) * 2
        places = np.unique(np.linspace(0, d - 1, CROSSED).round().astype(int))
        for j in places:
            spike = np.eye(1, d, j)[0]
            moments = (self._errors(spike[None])[:, 0, places] ** 2).mean(axis=0)
            if moments.max() > best:
                best, pair = float(moments.max()), (np.eye(1, d, places[moments.argmax()])[0], spike)
        for v in _candidates(d):
            value = self.moment(v, v)
            if value > best:
                best, pair = value, (v, v)
        if best > 0 and not np.array_equal(*pair):  # the sum of two basis vectors has their moment twice
            both = (pair[0] + pair[1]) / 2**0.5
            if self.moment(both, both) > best:
                pair = (both, both)
        return pair

    def ascend(self, h: Vector, g: Vector) -> tuple[Vector, Vector]:
        """A step of g towards the top eigenvector of C for this h, and then of h for the new g."""
        g = self._step(h, g)
        return g, self._step(g, h)

    def _step(self, given: Vector, other: Vector) -> Vector:
        errors = self._errors(given[None])[:, 0]
        moved = errors.T @ (errors @ other)
        norm = np.linalg.norm(moved)
        return np.asarray(moved / norm if norm > 0 else other)


def _candidates(d: int) -> list[Vector]:
    """Unit vectors that are constant, up to signs, on a block, an arithmetic progression, or everywhere."""
    position = np.arange(d)
    chosen = [position < size for size in (d, d // 2, d // 4) if size >= 1]
    chosen += [position % step == start for step in (2, 3, 4, 8, 16) if step < d for start in (0, step - 1)]
    vectors = [part.astype(float) for part in chosen]
    vectors += [1.0 - 2.0 * (np.bitwise_count(position & row) % 2) for row in (1, 2, 3)]
    vectors.append(np.cos(np.pi * (position + 0.5) / d))
    return [v / np.linalg.norm(v) for v in vectors]
