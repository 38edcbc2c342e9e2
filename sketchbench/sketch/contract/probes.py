"""Test vectors for checks of operators, and errors in units of rounding."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

Floats = NDArray[np.float64]

KINDS = 9  # dense probes
WHOLE = 64  # largest length for which all unit vectors are among the probes
SLACK = 16.0  # rounding errors of a sum of n terms are far below SLACK √n eps times the size of the terms
MOST = 1e12  # the largest error in units of rounding, and the value of a non-finite one


@dataclass(frozen=True)
class Subject:
    """A family at one size, with the kernels and the key of its operators."""

    family: Family
    kernels: Kernels
    key: int
    d: int = field(init=False)
    b: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", self.family.d)
        object.__setattr__(self, "b", self.family.b)

    def random(self, purpose: str) -> np.random.Generator:
        """A generator that depends on the key and the purpose."""
        return seeds.generator(self.key, contract=purpose)

    def matrices(self, key: int, count: int, first: int = 0) -> Floats:
        """Operators `first`, ..., `first + count - 1` of a key as dense matrices, (count, b, d)."""
        return matrix_of(self.family.draw(key, operators=count, first=first, kernels=self.kernels))


def dense(kernels: Kernels, matrices: Array) -> Floats:
    """A backend's array as a NumPy array in float64."""
    return np.asarray(kernels.to_numpy(matrices), dtype=np.float64)


def matrix_of(sketch: Sketch) -> Floats:
    """The dense matrix, or stack of matrices, of `materialize`, even if entries are not finite."""
    try:
        return dense(sketch.kernels, sketch.materialize())
    except OverflowError:
        identity = sketch.kernels.xp.eye(sketch.d)
        columns = sketch.sketch(identity if sketch.operators is None else identity[None], check_finite=False)
        return dense(sketch.kernels, columns.swapaxes(-1, -2))


def vectors(length: int, random: np.random.Generator) -> Floats:
    """Test vectors (N, length): nine dense ones, then unit vectors, all of them or, for long vectors, a sample. Dense
    vectors have sizes from 1e-6 to 1e6, zeros, entries of mixed sizes, or equal entries."""
    normal = random.standard_normal((7, length))
    kinds = [
        normal[0],
        1e-6 * normal[1],
        1e6 * normal[2],
        1e-3 * normal[3] * (random.random(length) < 0.5),
        np.sign(normal[4]) * 10 ** random.uniform(-5, 5, length),
        1e3 * normal[5],
        np.full(length, -1.0),
        np.where(np.arange(length) % 2, 1.0, -0.1),
        1e3 * np.eye(1, length, int(random.integers(length)))[0] + 1e-3 * normal[6],
    ]
    places = np.arange(length)
    if length > WHOLE:
        places = np.sort(random.choice(length, WHOLE // 4, replace=False))
    return np.concatenate([np.array(kinds), np.eye(length)[places]])


def supports(length: int, random: np.random.Generator) -> Floats:
    """Normal vectors (N, length) with 1 to 12, √n, n/4, n/2, 3n/4, n - 1, n and four random numbers of nonzeros."""
    sizes = {1, 2, 3, round(length**0.5), length // 4, length // 2, 3 * length // 4, length - 1, length}
    sizes |= {*random.integers(1, length + 1, 4).tolist(), *range(1, 13)}
    counts = [size for size in sorted(sizes) if 1 <= size <= length]
    kept = random.permuted(np.tile(np.arange(length), (len(counts), 1)), axis=1) < np.array(counts)[:, None]
    return random.standard_normal(kept.shape) * kept


def errors(found: Floats, expected: Floats, scale: Floats | float, size: int, eps: float = 2.0**-52) -> Floats:
    """The largest error of each operator's results (T, ...) in units of rounding, (T,): at most 1 if they are right,
    MOST for another shape or a non-finite entry. `scale` is the size of the `size` summed terms, broadcast against the
    results; `eps` the relative distance of neighbouring floating-point numbers."""
    if found.shape != expected.shape:
        return np.full(len(expected), MOST)
    with np.errstate(all="ignore"):
        allowed = np.maximum(SLACK * size**0.5 * eps * np.asarray(scale), 1e-300)
        units = abs(found - expected) / allowed
    units = np.nan_to_num(units, nan=MOST, posinf=MOST)
    return np.minimum(units.reshape(len(expected), -1).max(axis=1, initial=0.0), MOST)


def norms(rows: Floats) -> Floats:
    """Euclidean norms along the last axis."""
    return np.sqrt((rows**2).sum(axis=-1))
