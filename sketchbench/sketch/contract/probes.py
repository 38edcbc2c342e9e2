"""Test vectors for checks of operators, and errors in units of rounding."""

from dataclasses import dataclass, field
from typing import Any

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


def supports(operators: int, each: int, length: int, random: np.random.Generator) -> Floats:
    """Vectors (T, N, length) of integers from -8 to 8, `each` for every operator. The number of nonzeros is log-uniform
    from 1 to `length`. In every second vector the nonzeros are neighbours, with the last place next to the first."""
    shape = (operators, each, length)
    counts = np.floor(np.exp(random.uniform(0, np.log(length + 1), shape[:2]))).astype(int)
    ranks = random.permuted(np.broadcast_to(np.arange(length), shape), axis=2)
    ranks[:, ::2] = (np.arange(length) - random.integers(length, size=shape[:2])[:, ::2, None]) % length
    values = random.integers(1, 9, shape) * (1 - 2.0 * random.integers(2, size=shape))
    return values * (ranks < counts[..., None])


def units(operators: int, each: int, room: float, dtype: Any, random: np.random.Generator) -> NDArray[np.int64]:
    """Powers of two (T, N, 1), of which numbers of `dtype` may be multiples: half of them 0, a quarter from the least
    subnormal number to the largest number over 2^`room`, and a quarter within 30 of either end."""
    info = np.finfo(dtype)
    least, most = int(np.log2(info.smallest_subnormal)), int(info.maxexp - 1 - np.ceil(room))
    powers = random.integers(least, most + 1, (operators, each, 1))
    near = random.integers(0, 31, (operators, (each + 3) // 4, 1))
    powers[:, ::4] = np.where(random.random(near.shape) < 0.5, least + near, most - near)
    powers[:, 1::4] = 0
    powers[:, 2::4] = 0
    return powers


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


def size_of(matrices: Floats) -> float:
    """The largest Frobenius norm of matrices (T, b, d), which bounds the amplification of rounding errors; > 0."""
    return max(float(np.nan_to_num(norms(matrices.reshape(len(matrices), -1)).max())), 1e-100)
