"""Arithmetic of long vectors on a CPU, for `numba_kernels`. Sums are over chunks of a fixed length, in order, for any
number of threads. No function calls compiled code of another file, since Numba's cache does not notice edits there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from sketchbench.kernels.threaded import Threaded

_CHUNK = 2**13  # entries that a thread takes at a time
_AT_A_TIME = 4  # entries of a vector that take about a nanosecond


@njit(cache=True, fastmath={"reassoc", "nsz"})  # lets the compiler sum in vectors
def _sum_of_products(u: NDArray[Any], v: NDArray[Any]) -> Any:
    total = 0.0
    for i in range(u.shape[0]):
        total += u[i] * v[i]
    return total


@Threaded
def _inner(u: NDArray[Any], v: NDArray[Any], parts: NDArray[np.float64]) -> None:
    """The inner products of every chunk: u and v (N, d), parts (N, chunks)."""
    rows, chunks = parts.shape
    for index in prange(rows * chunks):
        n, start = index // chunks, index % chunks * _CHUNK
        parts[n, index % chunks] = _sum_of_products(u[n, start : start + _CHUNK], v[n, start : start + _CHUNK])


def inner(u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    parts = np.empty((u.shape[0], -(-u.shape[1] // _CHUNK)))
    _inner(u, v, parts, work=u.size // _AT_A_TIME)
    return parts.sum(axis=1).astype(u.dtype)


@njit(cache=True)
def _add_scaled(u: NDArray[Any], scale: Any, v: NDArray[Any]) -> None:
    for i in range(v.shape[0]):
        v[i] = u[i] + scale * v[i]


@Threaded
def _add_to_scaled(u: NDArray[Any], scale: NDArray[Any], v: NDArray[Any]) -> None:
    rows, d = v.shape
    chunks = -(-d // _CHUNK)
    for index in prange(rows * chunks):
        n, start = index // chunks, index % chunks * _CHUNK
        _add_scaled(u[n, start : start + _CHUNK], scale[n, 0], v[n, start : start + _CHUNK])


def add_to_scaled(u: NDArray[Any], scale: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    _add_to_scaled(u, scale, v, work=u.size // _AT_A_TIME)
    return v


@njit(cache=True)
def _scale(x: NDArray[Any], scale: Any) -> None:
    for i in range(x.shape[0]):
        x[i] *= scale


@Threaded
def _scale_and_add(x: NDArray[Any], scale: NDArray[Any], at: NDArray[np.int32], values: NDArray[Any]) -> None:
    """`scale_and_add` for M terms (M, N, k), which are added in order to one chunk at a time, in the cache."""
    rows, d = x.shape
    chunks = -(-d // _CHUNK)
    for index in prange(rows * chunks):
        n, start = index // chunks, index % chunks * _CHUNK
        _scale(x[n, start : start + _CHUNK], scale[n, 0])
        for term in range(at.shape[0]):
            places = at[term, n]
            first, last = np.searchsorted(places, start), np.searchsorted(places, start + _CHUNK)
            for i in range(first, last):
                x[n, places[i]] += values[term, n, i]


def scale_and_add(
    x: NDArray[Any], scale: NDArray[Any], terms: Sequence[tuple[NDArray[np.int32], NDArray[Any]]]
) -> NDArray[Any]:
    at, values = (np.stack(parts) for parts in zip(*terms, strict=True))
    _scale_and_add(x, scale, at, values, work=x.size // _AT_A_TIME + at.size)
    return x


@Threaded
def _move_shared(at: NDArray[np.int32], values: NDArray[Any], others: NDArray[np.int32], entries: NDArray[Any]) -> None:
    for n in prange(at.shape[0]):
        i = 0
        for j in range(others.shape[1]):
            while i < at.shape[1] and at[n, i] < others[n, j]:
                i += 1
            if i < at.shape[1] and at[n, i] == others[n, j]:
                values[n, i] += entries[n, j]
                entries[n, j] = 0


def move_shared(at: NDArray[np.int32], values: NDArray[Any], others: NDArray[np.int32], entries: NDArray[Any]) -> None:
    rows, k = at.shape
    _move_shared(at, values, others, entries, work=(rows - 1) * (k + others.shape[1]))
