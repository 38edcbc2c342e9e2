"""Reference kernels in plain NumPy; `Kernels` documents the functions."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.kernels import PRIME, WIDE, Entries, index_type
from sketchbench.kernels.wide import distinct_wide, times_wide

NAME = "numpy"
xp = np
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_LINE = 64  # bytes of a cache line


def philox(counter: tuple[Any, Any, Any, Any], key: int) -> tuple[NDArray[np.uint64], ...]:
    """Philox4x32-10 (Salmon et al. 2011): four 32-bit words, as uint64, for each counter."""
    c0, c1, c2, c3 = (np.asarray(c, dtype=np.uint64) for c in counter)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            (p1 >> _HALF) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> _HALF) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def _words(key: int, stream: int, first: int, operators: int, row: int, rows: int, count: int) -> NDArray[np.uint32]:
    """Words, uint32 (T, rows, count): word i of row k of operator t is word i % 4 of counter (i // 4, k, t, stream)."""
    calls = -(-count // 4)
    counter = (
        np.arange(calls)[None, None, :],
        np.arange(row, row + rows)[None, :, None],
        np.arange(first, first + operators)[:, None, None],
        stream,
    )
    words = np.stack(np.broadcast_arrays(*philox(counter, key)), axis=-1)
    return words.reshape(operators, rows, 4 * calls)[..., :count].astype(np.uint32)


def random_words(key: int, stream: int, first: int, operators: int, count: int) -> NDArray[np.uint32]:
    return _words(key, stream, first, operators, 0, 1, count)[:, 0]


def random_integers(key: int, stream: int, first: int, operators: int, count: int, bound: int) -> NDArray[np.int32]:
    return integer_rows(key, stream, first, operators, 0, 1, count, bound)[:, 0]


def random_subset(key: int, stream: int, first: int, operators: int, count: int, population: int) -> NDArray[np.int32]:
    return smallest(random_words(key, stream, first, operators, 2 * population), count)


def smallest(words: NDArray[np.uint32], count: int) -> NDArray[np.int32]:
    """The indices of the `count` smallest of n 64-bit numbers, int32 (T, count), ascending. Upper halves are the first
    n of the words (T, 2 n), lower halves the last n."""
    population = words.shape[1] // 2
    wide = words[:, :population].astype(np.uint64) << _HALF | words[:, population:]
    order = np.argpartition(wide, count - 1, axis=-1)
    return np.sort(order[:, :count], axis=-1).astype(index_type(population))


def integer_rows(
    key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int, bound: int
) -> NDArray[np.int32]:
    if bound > WIDE:
        words = _words(key, stream, first, operators, row, rows, 2 * d).astype(np.uint64)
        return np.asarray(times_wide(words[..., 0::2] << _HALF | words[..., 1::2], bound))
    words = _words(key, stream, first, operators, row, rows, d).astype(np.uint64)
    return (words * np.uint64(bound) >> _HALF).astype(np.int32)


def sign_rows(key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int) -> NDArray[np.int8]:
    words = _words(key, stream, first, operators, row, rows, -(-d // 32))
    bits = (words[..., None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    bits = bits.reshape(operators, rows, -1)[..., :d]
    return (2 * bits.astype(np.int8) - 1).astype(np.int8)


def gaussian_rows(
    key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int
) -> NDArray[np.float64]:
    words = _words(key, stream, first, operators, row, rows, d)
    from scipy import special  # an import of 0.2 s, for normals only

    return np.asarray(special.ndtri((words + 0.5) * 2.0**-32))


_ROWS: dict[str, Callable[..., NDArray[Any]]] = {"gaussian": gaussian_rows, "signs": sign_rows}


def dense_sketch(
    entries: Entries, key: int, stream: int, first: int, operators: int, rows: int, x: NDArray[Any]
) -> NDArray[Any]:
    y = np.empty((operators, x.shape[1], rows), dtype=x.dtype)
    for k in range(rows):
        row = _ROWS[entries](key, stream, first, operators, k, 1, x.shape[2])
        y[..., k] = (x @ row.astype(x.dtype).swapaxes(1, 2))[..., 0]
    return y


def dense_desketch(
    entries: Entries, key: int, stream: int, first: int, operators: int, d: int, y: NDArray[Any]
) -> NDArray[Any]:
    x = np.zeros((operators, y.shape[1], d), dtype=y.dtype)
    for k in range(y.shape[2]):
        row = _ROWS[entries](key, stream, first, operators, k, 1, d)
        x += y[..., k : k + 1] * row.astype(y.dtype)
    return x


def polynomial_hash(coefficients: NDArray[np.uint32], points: int) -> NDArray[np.uint32]:
    x = np.arange(points, dtype=np.uint64)
    value = np.zeros((*coefficients.shape[:-1], points), dtype=np.uint64)
    for power in range(coefficients.shape[-1]):  # Horner's rule, highest power first
        value = (value * x + coefficients[..., power, None]) % np.uint64(PRIME)
    return value.astype(np.uint32)


def distinct(words: NDArray[np.uint32], b: int) -> NDArray[np.int32]:
    if b > WIDE:
        return np.asarray(distinct_wide(np, words, b))
    s = words.shape[-2]
    sample = np.empty(words.shape, dtype=np.int32)
    for r in range(s):
        last = b - s + r
        draw = ((words[..., r, :].astype(np.uint64) * np.uint64(last + 1)) >> _HALF).astype(np.int32)
        repeated = (sample[..., :r, :] == draw[..., None, :]).any(axis=-2)
        sample[..., r, :] = np.where(repeated, last, draw)
    return sample


class SparseMatrix(NamedTuple):
    """A stack of b × d matrices with s signs in every column: buckets (rows) and signs, (T, s, d) each."""

    buckets: NDArray[np.int32]
    signs: NDArray[np.int8]
    b: int


def prepare(buckets: NDArray[np.int32], signs: NDArray[np.int8], b: int) -> SparseMatrix:
    return SparseMatrix(buckets, signs, b)


def scatter(matrix: SparseMatrix, x: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    operators, vectors = matrix.buckets.shape[0], x.shape[1]
    y = np.empty((operators, vectors, matrix.b), dtype=x.dtype) if out is None else out
    y[...] = 0
    for t in range(operators):
        for r in range(matrix.buckets.shape[1]):
            signed = x[t % x.shape[0]] * matrix.signs[t, r]
            for n in range(vectors):
                y[t, n] += np.bincount(matrix.buckets[t, r], signed[n], matrix.b).astype(x.dtype)
    return y


def gather(matrix: SparseMatrix, y: NDArray[Any]) -> NDArray[Any]:
    operators, d = matrix.buckets.shape[0], matrix.buckets.shape[2]
    x = np.zeros((operators, y.shape[1], d), dtype=y.dtype)
    for t in range(operators):
        for r in range(matrix.buckets.shape[1]):
            x[t] += y[t % y.shape[0]][:, matrix.buckets[t, r]] * matrix.signs[t, r]
    return x


def project(matrix: SparseMatrix, x: NDArray[Any]) -> NDArray[Any]:
    return gather(matrix, scatter(matrix, x))


def median(matrix: SparseMatrix, y: NDArray[Any]) -> NDArray[Any]:
    operators, _, d = matrix.buckets.shape
    x = np.empty((operators, y.shape[1], d), dtype=y.dtype)
    for t in range(operators):
        values = y[t % y.shape[0]][:, matrix.buckets[t]] * matrix.signs[t]
        x[t] = np.median(values, axis=1)
    return x


def collect(v: NDArray[Any], at: NDArray[np.int32]) -> NDArray[Any]:
    shape = (at.shape[0], v.shape[1])
    v = np.broadcast_to(v, (*shape, v.shape[2]))
    return np.take_along_axis(v, np.broadcast_to(at, (*shape, at.shape[2])), axis=-1)


def spread(at: NDArray[np.int32], values: NDArray[Any], out: NDArray[Any], keep: bool = False) -> NDArray[Any]:
    if not keep:
        out[...] = 0
    operators, vectors, _ = values.shape
    t, n = np.ogrid[:operators, :vectors]
    np.add.at(out, (t[..., None], n[..., None], at), values)
    return out


def largest(x: NDArray[Any], k: int) -> NDArray[np.int32]:
    order = np.argsort(-abs(x), axis=-1, kind="stable")
    return np.sort(order[:, :k], axis=-1).astype(index_type(x.shape[1]))


def inner(u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.einsum("nd,nd->n", u, v))


def add_to_scaled(u: NDArray[Any], scale: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    v *= scale
    v += u
    return v


def scale_and_add(
    x: NDArray[Any], scale: NDArray[Any], terms: Sequence[tuple[NDArray[np.int32], NDArray[Any]]]
) -> NDArray[Any]:
    x *= scale
    for at, values in terms:
        spread(at[None], values[None], x[None], keep=True)
    return x


def move_shared(at: NDArray[np.int32], values: NDArray[Any], others: NDArray[np.int32], entries: NDArray[Any]) -> None:
    for n in range(len(at)):
        _, first, second = np.intersect1d(at[n], others[n], assume_unique=True, return_indices=True)
        values[n, first] += entries[n, second]
        entries[n, second] = 0


def walsh_hadamard(x: NDArray[Any]) -> NDArray[Any]:
    n = x.shape[-1]
    h = 1
    while h < n:
        pairs = x.reshape(-1, n // (2 * h), 2, h)
        x = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2).reshape(x.shape)
        h *= 2
    return x * x.dtype.type(n**-0.5)


def spread_hadamard(at: NDArray[np.int32], values: NDArray[Any], scale: float, out: NDArray[Any]) -> NDArray[Any]:
    return walsh_hadamard(spread(at, values * values.dtype.type(scale), out))


def hadamard_collect(x: NDArray[Any], at: NDArray[np.int32], scale: float) -> NDArray[Any]:
    return collect(walsh_hadamard(x), at) * x.dtype.type(scale)


def sampled_hadamard(
    x: NDArray[Any],
    signs: NDArray[np.int8] | None,
    n: int,
    at: NDArray[np.int32],
    scale: float,
    room: Callable[[], NDArray[Any]],
) -> NDArray[Any]:
    padded, d = room(), x.shape[-1]
    padded[..., :d], padded[..., d:] = x, 0
    if signs is not None:
        padded[..., :d] *= signs
    return hadamard_collect(padded, at, scale)


def spread_hadamard_collect(
    terms: Sequence[tuple[NDArray[np.int32], NDArray[Any]]], room: NDArray[Any], at: NDArray[np.int32], scale: float
) -> NDArray[Any]:
    for number, (places, values) in enumerate(terms):
        spread(places, values, room, keep=number > 0)
    return hadamard_collect(room, at, scale)


def cosine(x: NDArray[Any]) -> NDArray[Any]:
    from scipy import fft  # an import of 0.1 s, for cosine transforms only

    return np.asarray(fft.dct(x, norm="ortho", axis=-1))


def cosine_transpose(x: NDArray[Any]) -> NDArray[Any]:
    from scipy import fft

    return np.asarray(fft.idct(x, norm="ortho", axis=-1))


def empty(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + _LINE, np.uint8)
    first = -room.ctypes.data % _LINE
    return room[first : first + size].view(dtype).reshape(shape)


def asarray(x: Any) -> NDArray[Any]:
    return np.asarray(x)


def to_numpy(x: NDArray[Any]) -> NDArray[Any]:
    return x
