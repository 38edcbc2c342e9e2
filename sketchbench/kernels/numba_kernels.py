"""Compiled CPU kernels; see `Kernels` for the signatures and `numpy_kernels` for the reference.

Every compiled function lives in this one file: Numba's cache does not notice an edit of a callee
in another file. Loops run in parallel over operators, vectors and rows, and the order of every sum
is fixed, so the result does not depend on the number of threads.
"""

import math
from typing import Any

import numpy as np
from numba import njit, prange, uint32, uint64
from numpy.typing import NDArray

from sketchbench.kernels import PRIME
from sketchbench.kernels.numpy_kernels import (
    SparseMatrix,
    asarray,
    cosine,
    cosine_transpose,
    prepare,
    to_numpy,
)

__all__ = ["asarray", "cosine", "cosine_transpose", "prepare", "to_numpy"]
NAME = "numba"
xp = np


@njit(cache=True, inline="always")
def _philox(c0: Any, c1: Any, c2: Any, c3: Any, key: Any) -> Any:
    low = uint64(0xFFFFFFFF)
    c0, c1, c2, c3 = uint64(c0), uint64(c1), uint64(c2), uint64(c3)
    k0, k1 = uint64(key) & low, uint64(key) >> uint64(32)
    for _ in range(10):
        p0, p1 = c0 * uint64(0xD2511F53), c2 * uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            (p1 >> uint64(32)) ^ c1 ^ k0,
            p1 & low,
            (p0 >> uint64(32)) ^ c3 ^ k1,
            p0 & low,
        )
        k0, k1 = (k0 + uint64(0x9E3779B9)) & low, (k1 + uint64(0xBB67AE85)) & low
    return c0, c1, c2, c3


@njit(cache=True, parallel=True)
def _random_words(key: Any, stream: int, first: int, out: NDArray[np.uint32]) -> None:
    operators, count = out.shape
    for t in prange(operators):
        for i in range(0, count, 4):
            words = _philox(i // 4, 0, first + t, stream, key)
            for lane in range(min(4, count - i)):
                out[t, i + lane] = uint32(words[lane])


def random_words(
    key: int, stream: int, first: int, operators: int, count: int
) -> NDArray[np.uint32]:
    out = np.empty((operators, count), dtype=np.uint32)
    _random_words(np.uint64(key), stream, first, out)
    return out


@njit(cache=True, parallel=True)
def _sign_rows(key: Any, stream: int, first: int, row: int, out: NDArray[np.int8]) -> None:
    operators, rows, d = out.shape
    for index in prange(operators * rows):
        t, k = index // rows, index % rows
        for i in range(0, d, 128):
            words = _philox(i // 128, row + k, first + t, stream, key)
            for lane in range(4):
                start = i + 32 * lane
                for bit in range(min(32, d - start)):
                    out[t, k, start + bit] = 2 * ((words[lane] >> uint64(bit)) & uint64(1)) - 1


def sign_rows(
    key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int
) -> NDArray[np.int8]:
    out = np.empty((operators, rows, d), dtype=np.int8)
    _sign_rows(np.uint64(key), stream, first, row, out)
    return out


@njit(cache=True, inline="always")
def _central(q: Any) -> Any:
    """The normal quantile of 1/2 + q for |q| <= 0.425 (Wichura 1988, algorithm AS 241)."""
    r = 0.180625 - q * q
    top = 2509.0809287301226727 * r + 33430.575583588128105
    top = (top * r + 67265.770927008700853) * r + 45921.953931549871457
    top = (top * r + 13731.693765509461125) * r + 1971.5909503065514427
    top = (top * r + 133.14166789178437745) * r + 3.3871328727963666080
    bottom = 5226.4952788528545610 * r + 28729.085735721942674
    bottom = (bottom * r + 39307.895800092710610) * r + 21213.794301586595867
    bottom = (bottom * r + 5394.1960214247511077) * r + 687.18700749205790830
    bottom = (bottom * r + 42.313330701600911252) * r + 1.0
    return q * top / bottom


@njit(cache=True, inline="always")
def _outer(p: Any) -> Any:
    """Minus the normal quantile of p, for exp(-25) < p < 0.075; a 32-bit word gives no less."""
    r = math.sqrt(-math.log(p)) - 1.6
    top = 7.74545014278341407640e-4 * r + 0.0227238449892691845833
    top = (top * r + 0.241780725177450611770) * r + 1.27045825245236838258
    top = (top * r + 3.64784832476320460504) * r + 5.76949722146069140550
    top = (top * r + 4.63033784615654529590) * r + 1.42343711074968357734
    bottom = 1.05075007164441684324e-9 * r + 5.475938084995344946e-4
    bottom = (bottom * r + 0.0151986665636164571966) * r + 0.148103976427480074590
    bottom = (bottom * r + 0.689767334985100004550) * r + 1.67638483018380384940
    bottom = (bottom * r + 2.05319162663775882187) * r + 1.0
    return top / bottom


@njit(cache=True, parallel=True)
def _gaussian_rows(key: Any, stream: int, first: int, row: int, out: NDArray[np.float64]) -> None:
    operators, rows, d = out.shape
    for index in prange(operators * rows):
        t, k = index // rows, index % rows
        q = np.empty(d)
        for i in range(0, d, 4):
            words = _philox(i // 4, row + k, first + t, stream, key)
            for lane in range(min(4, d - i)):
                q[i + lane] = (words[lane] + 0.5) * 2.0**-32 - 0.5
        for i in range(d):  # without a branch, so that the compiler vectorises it
            out[t, k, i] = _central(q[i])
        for i in range(d):
            if q[i] < -0.425:
                out[t, k, i] = -_outer(0.5 + q[i])
            elif q[i] > 0.425:
                out[t, k, i] = _outer(0.5 - q[i])


def gaussian_rows(
    key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int
) -> NDArray[np.float64]:
    out = np.empty((operators, rows, d), dtype=np.float64)
    _gaussian_rows(np.uint64(key), stream, first, row, out)
    return out


@njit(cache=True, parallel=True)
def _polynomial_hash(coefficients: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
    operators, rows, points = out.shape
    prime = uint64(PRIME)
    for index in prange(operators * rows):
        t, k = index // rows, index % rows
        for x in range(points):
            value = uint64(0)
            for power in range(coefficients.shape[2]):
                value = value * uint64(x) + uint64(coefficients[t, k, power])
                value = (value & prime) + (value >> uint64(31))  # 2^31 = 1 modulo the prime
                value = (value & prime) + (value >> uint64(31))
                if value >= prime:
                    value -= prime
            out[t, k, x] = uint32(value)


def polynomial_hash(coefficients: NDArray[np.uint32], points: int) -> NDArray[np.uint32]:
    out = np.empty((*coefficients.shape[:2], points), dtype=np.uint32)
    _polynomial_hash(coefficients, out)
    return out


@njit(cache=True, parallel=True)
def _distinct(words: NDArray[np.uint32], b: int, out: NDArray[np.int32]) -> None:
    operators, s, d = words.shape
    for t in prange(operators):
        for r in range(s):
            last = b - s + r
            for j in range(d):
                draw = (uint64(words[t, r, j]) * uint64(last + 1)) >> uint64(32)
                value = np.int32(draw)
                for earlier in range(r):
                    if out[t, earlier, j] == value:
                        value = np.int32(last)
                        break
                out[t, r, j] = value


def distinct(words: NDArray[np.uint32], b: int) -> NDArray[np.int32]:
    out = np.empty(words.shape, dtype=np.int32)
    _distinct(words, b, out)
    return out


@njit(cache=True, parallel=True)
def _scatter(
    buckets: NDArray[np.int32], signs: NDArray[np.int8], x: NDArray[Any], y: NDArray[Any]
) -> None:
    operators, vectors = y.shape[:2]
    for index in prange(operators * vectors):
        t, n = index // vectors, index % vectors
        source = t % x.shape[0]
        for r in range(buckets.shape[1]):
            for j in range(buckets.shape[2]):
                y[t, n, buckets[t, r, j]] += signs[t, r, j] * x[source, n, j]


def scatter(matrix: SparseMatrix, x: NDArray[Any]) -> NDArray[Any]:
    y = np.zeros((matrix.buckets.shape[0], x.shape[1], matrix.b), dtype=x.dtype)
    _scatter(matrix.buckets, matrix.signs, np.ascontiguousarray(x), y)
    return y


@njit(cache=True, parallel=True)
def _gather(
    buckets: NDArray[np.int32], signs: NDArray[np.int8], y: NDArray[Any], x: NDArray[Any]
) -> None:
    operators, vectors = x.shape[:2]
    for index in prange(operators * vectors):
        t, n = index // vectors, index % vectors
        source = t % y.shape[0]
        for r in range(buckets.shape[1]):
            for j in range(buckets.shape[2]):
                x[t, n, j] += signs[t, r, j] * y[source, n, buckets[t, r, j]]


def gather(matrix: SparseMatrix, y: NDArray[Any]) -> NDArray[Any]:
    x = np.zeros((matrix.buckets.shape[0], y.shape[1], matrix.buckets.shape[2]), dtype=y.dtype)
    _gather(matrix.buckets, matrix.signs, np.ascontiguousarray(y), x)
    return x


@njit(cache=True, parallel=True)
def _walsh_hadamard(x: NDArray[Any], scale: Any) -> None:
    vectors, n = x.shape
    for v in prange(vectors):
        h = 1
        while h < n:
            for start in range(0, n, 2 * h):
                for i in range(start, start + h):
                    upper, lower = x[v, i], x[v, i + h]
                    x[v, i] = upper + lower
                    x[v, i + h] = upper - lower
            h *= 2
        for i in range(n):
            x[v, i] *= scale


def walsh_hadamard(x: NDArray[Any]) -> NDArray[Any]:
    x = np.ascontiguousarray(x)
    _walsh_hadamard(x.reshape(-1, x.shape[-1]), x.dtype.type(x.shape[-1] ** -0.5))
    return x
