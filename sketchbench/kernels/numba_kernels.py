"""Compiled CPU kernels; `Kernels` documents the functions, and `numpy_kernels` defines their results.
Loops run in parallel over operators, vectors and rows, and the order of every sum is fixed, so results do not depend on
the number of threads. Compiled functions call none of another file, since Numba's cache does not notice edits there; so
`numba_hadamard` (Walsh-Hadamard transforms), `numba_selection` (largest entries), `numba_vectors` (arithmetic) and this
module share none."""

import math
from typing import Any

import numpy as np
from numba import int32, int64, njit, prange, uint32, uint64, uintp
from numpy.typing import NDArray

from sketchbench.kernels import PRIME, WIDE, Entries, index_type
from sketchbench.kernels.numba_hadamard import (
    hadamard_collect,
    sampled_hadamard,
    spread_hadamard,
    spread_hadamard_collect,
    walsh_hadamard,
)
from sketchbench.kernels.numba_selection import largest
from sketchbench.kernels.numba_vectors import add_to_scaled, inner, move_shared, scale_and_add
from sketchbench.kernels.numpy_kernels import (
    SparseMatrix,
    asarray,
    cosine,
    cosine_transpose,
    empty,
    prepare,
    smallest,
    to_numpy,
)
from sketchbench.kernels.threaded import Threaded, threads
from sketchbench.kernels.wide import distinct_wide

__all__ = ["asarray", "cosine", "cosine_transpose", "empty", "prepare", "to_numpy"]
__all__ += ["add_to_scaled", "inner", "largest", "move_shared", "scale_and_add"]
__all__ += ["hadamard_collect", "sampled_hadamard", "spread_hadamard", "spread_hadamard_collect", "walsh_hadamard"]
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


_DRAWN = 2**14  # entries that a thread draws at a time: a multiple of 128


@njit(cache=True)
def _words(key: Any, stream: int, t: int, k: int, first: int, out: NDArray[np.uint32]) -> None:
    """Entries first, first + 1, ... of row k of operator t; first is a multiple of 4."""
    count = out.shape[0]
    for i in range(count // 4):  # a body without branches, which the compiler vectorises
        words = _philox(first // 4 + i, k, t, stream, key)
        out[4 * i], out[4 * i + 1] = uint32(words[0]), uint32(words[1])
        out[4 * i + 2], out[4 * i + 3] = uint32(words[2]), uint32(words[3])
    if count % 4:
        words = _philox((first + count) // 4, k, t, stream, key)
        for lane in range(count % 4):
            out[count - count % 4 + lane] = uint32(words[lane])


@Threaded
def _random_words(key: Any, stream: int, first: int, out: NDArray[np.uint32]) -> None:
    operators, count = out.shape
    chunks = -(-count // _DRAWN)
    for index in prange(operators * chunks):
        t, start = index // chunks, index % chunks * _DRAWN
        _words(key, stream, first + t, 0, start, out[t, start : start + _DRAWN])


def random_words(key: int, stream: int, first: int, operators: int, count: int) -> NDArray[np.uint32]:
    out = np.empty((operators, count), dtype=np.uint32)
    _random_words(np.uint64(key), stream, first, out, work=out.size)
    return out


@Threaded
def _integer_rows(key: Any, stream: int, first: int, row: int, bound: Any, out: NDArray[np.int32]) -> None:
    operators, rows, d = out.shape
    chunks = -(-d // _DRAWN)
    for index in prange(operators * rows * chunks):
        t, k, start = index // (rows * chunks), index // chunks % rows, index % chunks * _DRAWN
        part = out[t, k, start : start + _DRAWN]
        words = np.empty(part.shape[0], np.uint32)
        _words(key, stream, first + t, row + k, start, words)
        for i in range(part.shape[0]):
            part[i] = int32((uint64(words[i]) * bound) >> uint64(32))


@Threaded
def _wide_rows(key: Any, stream: int, first: int, row: int, bound: Any, out: NDArray[np.int64]) -> None:
    """`_integer_rows` of two words each, as in `times_wide`."""
    operators, rows, d = out.shape
    chunks, half, low = -(-d // _DRAWN), uint64(32), uint64(0xFFFFFFFF)
    for index in prange(operators * rows * chunks):
        t, k, start = index // (rows * chunks), index // chunks % rows, index % chunks * _DRAWN
        part = out[t, k, start : start + _DRAWN]
        words = np.empty(2 * part.shape[0], np.uint32)
        _words(key, stream, first + t, row + k, 2 * start, words)
        for i in range(part.shape[0]):
            upper, lower = uint64(words[2 * i]), uint64(words[2 * i + 1])
            middle = upper * (bound & low) + (lower * (bound & low) >> half)
            carry = (lower * (bound >> half) + (middle & low)) >> half
            part[i] = int64(upper * (bound >> half) + (middle >> half) + carry)


def random_integers(key: int, stream: int, first: int, operators: int, count: int, bound: int) -> NDArray[np.int32]:
    return integer_rows(key, stream, first, operators, 0, 1, count, bound)[:, 0]


def integer_rows(
    key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int, bound: int
) -> NDArray[np.int32]:
    out: NDArray[Any] = np.empty((operators, rows, d), dtype=index_type(bound))
    draw = _integer_rows if bound <= WIDE else _wide_rows
    draw(np.uint64(key), stream, first, row, np.uint64(bound), out, work=out.size)
    return out


_SUBSET = 2**16  # largest population whose random words are stored for a subset
_STRIPS = 16  # parts of a population, for threads
_DIGIT = 11  # upper bits of a word by which words are counted: the counts of a strip fit into a core's first cache


@Threaded
def _count_digits(key: Any, stream: int, t: int, population: int, counts: NDArray[np.int64]) -> None:
    """Count each value of the upper _DIGIT bits among words 0 to population - 1 of operator t. Counts are (strips,
    2^_DIGIT), for strips of equal length, a multiple of _DRAWN."""
    share = -(-population // (counts.shape[0] * _DRAWN)) * _DRAWN
    for strip in prange(counts.shape[0]):
        words = np.empty(_DRAWN, np.uint32)
        for start in range(strip * share, min(population, (strip + 1) * share), _DRAWN):
            part = words[: min(_DRAWN, population - start)]
            _words(key, stream, t, 0, start, part)
            for i in range(part.shape[0]):
                counts[strip, part[i] >> uint32(32 - _DIGIT)] += 1


@Threaded
def _below_digit(
    key: Any, stream: int, t: int, population: int, digit: Any, counts: NDArray[np.int64], out: NDArray[np.int32],
    tied: NDArray[np.int32],
) -> None:  # fmt: skip
    """Write the ascending places of words with upper _DIGIT bits below `digit` to `out`, and equal to it to `tied`."""
    share = -(-population // (counts.shape[0] * _DRAWN)) * _DRAWN
    for strip in prange(counts.shape[0]):
        below, equal = int64(0), int64(0)
        for earlier in range(strip):
            below += counts[earlier, :digit].sum()
            equal += counts[earlier, digit]
        words = np.empty(_DRAWN, np.uint32)
        for start in range(strip * share, min(population, (strip + 1) * share), _DRAWN):
            part = words[: min(_DRAWN, population - start)]
            _words(key, stream, t, 0, start, part)
            for i in range(part.shape[0]):
                upper = part[i] >> uint32(32 - _DIGIT)
                if upper < digit:
                    out[below] = start + i
                    below += 1
                elif upper == digit:
                    tied[equal] = start + i
                    equal += 1


@njit(cache=True)
def _wide_words(key: Any, stream: int, t: int, population: int, at: NDArray[np.int32]) -> NDArray[np.uint64]:
    """The 64-bit numbers of words i and population + i, for each i of `at`."""
    wide = np.empty(at.shape[0], np.uint64)
    for k in range(at.shape[0]):
        upper = _philox(at[k] // 4, 0, t, stream, key)[at[k] % 4]
        place = population + int64(at[k])
        wide[k] = upper << uint64(32) | _philox(place // 4, 0, t, stream, key)[place % 4]
    return wide


@njit(cache=True)
def _merge(own: int, others: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    i, k = own - 1, others.shape[0] - 1
    for place in range(out.shape[0] - 1, -1, -1):
        if k < 0 or (i >= 0 and out[i] > others[k]):
            out[place] = out[i]
            i -= 1
        else:
            out[place] = others[k]
            k -= 1


def random_subset(key: int, stream: int, first: int, operators: int, count: int, population: int) -> NDArray[np.int32]:
    if population <= _SUBSET:
        return smallest(random_words(key, stream, first, operators, 2 * population), count)
    out, seed = np.empty((operators, count), dtype=index_type(population)), np.uint64(key)
    for number in range(operators):
        place = (seed, stream, first + number, population)
        counts = np.zeros((_STRIPS, 2**_DIGIT), dtype=np.int64)
        _count_digits(*place, counts, work=population)
        total = counts.sum(axis=0).cumsum()
        digit = int(np.searchsorted(total, count))
        tied = np.empty(counts[:, digit].sum(), dtype=out.dtype)
        own = int(total[digit] - len(tied))
        _below_digit(*place, np.uint32(digit), counts, out[number], tied, work=population)
        order = np.argsort(_wide_words(*place, tied), kind="stable")[: count - own]
        _merge(own, np.sort(tied[order]), out[number])
    return out


@njit(cache=True)
def _signs(key: Any, stream: int, t: int, k: int, first: int, out: NDArray[Any]) -> None:
    """Entries first, first + 1, ... of row k of sign matrix t; first is a multiple of 128."""
    d = out.shape[0]
    for i in range(0, d, 128):
        words = _philox((first + i) // 128, k, t, stream, key)
        for lane in range(4):
            start = i + 32 * lane
            for bit in range(min(32, d - start)):
                out[start + bit] = 2 * int64((words[lane] >> uint64(bit)) & uint64(1)) - 1


@Threaded
def _sign_rows(key: Any, stream: int, first: int, row: int, out: NDArray[np.int8]) -> None:
    operators, rows, d = out.shape
    chunks = -(-d // _DRAWN)
    for index in prange(operators * rows * chunks):
        t, k, start = index // (rows * chunks), index // chunks % rows, index % chunks * _DRAWN
        _signs(key, stream, first + t, row + k, start, out[t, k, start : start + _DRAWN])


def sign_rows(key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int) -> NDArray[np.int8]:
    out = np.empty((operators, rows, d), dtype=np.int8)
    _sign_rows(np.uint64(key), stream, first, row, out, work=out.size)
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
    """Minus the normal quantile of p, for exp(-25) < p < 0.075, the smallest p of a 32-bit word."""
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


@njit(cache=True)
def _normals(key: Any, stream: int, t: int, k: int, first: int, out: NDArray[np.float64]) -> None:
    """Entries first, first + 1, ... of row k of normal matrix t; first is a multiple of 4."""
    d = out.shape[0]
    words, q = np.empty(d, np.uint32), np.empty(d)
    _words(key, stream, t, k, first, words)
    for i in range(d):
        q[i] = (words[i] + 0.5) * 2.0**-32 - 0.5
    for i in range(d):  # without a branch, so that the compiler vectorises it
        out[i] = _central(q[i])
    for i in range(d):
        if q[i] < -0.425:
            out[i] = -_outer(0.5 + q[i])
        elif q[i] > 0.425:
            out[i] = _outer(0.5 - q[i])


_NORMAL = 8  # nanoseconds that a normal variate takes, about


@Threaded
def _gaussian_rows(key: Any, stream: int, first: int, row: int, out: NDArray[np.float64]) -> None:
    operators, rows, d = out.shape
    chunks = -(-d // _DRAWN)
    for index in prange(operators * rows * chunks):
        t, k, start = index // (rows * chunks), index // chunks % rows, index % chunks * _DRAWN
        _normals(key, stream, first + t, row + k, start, out[t, k, start : start + _DRAWN])


def gaussian_rows(
    key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int
) -> NDArray[np.float64]:
    out = np.empty((operators, rows, d), dtype=np.float64)
    _gaussian_rows(np.uint64(key), stream, first, row, out, work=_NORMAL * (out.size - min(d, _DRAWN)))
    return out


_CHUNK = 2**10  # entries of a dense matrix that are generated at a time: a multiple of 128, which fits into the cache


@njit(cache=True, inline="always")
def _entries(normal: bool, key: Any, stream: int, t: int, k: int, first: int, out: NDArray[np.float64]) -> None:
    """Normals or signs: entries first, first + 1, ... of row k of matrix t."""
    if normal:
        _normals(key, stream, t, k, first, out)
    else:
        _signs(key, stream, t, k, first, out)


@njit(cache=True, fastmath={"reassoc", "nsz"})  # lets the compiler sum in vectors
def _dot(a: NDArray[Any], b: NDArray[Any]) -> Any:
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


def _dense_work(entries: Entries, count: int, vectors: int) -> int:
    """About how many nanoseconds generating `count` entries and multiplying them by the vectors takes."""
    return count * ((_NORMAL if entries == "gaussian" else 1) + vectors // 8)


@Threaded
def _dense_sketch(normal: bool, key: Any, stream: int, first: int, x: NDArray[Any], y: NDArray[Any]) -> None:
    operators, vectors, rows = y.shape
    d = x.shape[2]
    for index in prange(operators * rows):
        t, k = index // rows, index % rows
        entries, total = np.empty(_CHUNK), np.zeros(vectors)
        for start in range(0, d, _CHUNK):
            part = entries[: min(_CHUNK, d - start)]
            _entries(normal, key, stream, first + t, k, start, part)
            for n in range(vectors):
                total[n] += _dot(part, x[t % x.shape[0], n, start : start + _CHUNK])
        for n in range(vectors):
            y[t, n, k] = total[n]


def dense_sketch(
    entries: Entries, key: int, stream: int, first: int, operators: int, rows: int, x: NDArray[Any]
) -> NDArray[Any]:
    y = np.empty((operators, x.shape[1], rows), dtype=x.dtype)
    x = np.ascontiguousarray(x)
    work = _dense_work(entries, (operators * rows - 1) * x.shape[2], x.shape[1])
    _dense_sketch(entries == "gaussian", np.uint64(key), stream, first, x, y, work=work)
    return y


@Threaded
def _dense_desketch(normal: bool, key: Any, stream: int, first: int, y: NDArray[Any], x: NDArray[Any]) -> None:
    operators, vectors, d = x.shape
    chunks = -(-d // _CHUNK)
    for index in prange(operators * chunks):
        t, start = index // chunks, index % chunks * _CHUNK
        length = min(_CHUNK, d - start)
        entries, total = np.empty(length), np.zeros((vectors, length))
        for k in range(y.shape[2]):
            _entries(normal, key, stream, first + t, k, start, entries)
            for n in range(vectors):
                weight = y[t % y.shape[0], n, k]
                for i in range(length):
                    total[n, i] += weight * entries[i]
        x[t, :, start : start + length] = total


def dense_desketch(
    entries: Entries, key: int, stream: int, first: int, operators: int, d: int, y: NDArray[Any]
) -> NDArray[Any]:
    x = np.empty((operators, y.shape[1], d), dtype=y.dtype)
    y = np.ascontiguousarray(y)
    work = _dense_work(entries, (operators * d - min(d, _CHUNK)) * y.shape[2], y.shape[1])
    _dense_desketch(entries == "gaussian", np.uint64(key), stream, first, y, x, work=work)
    return x


@Threaded
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
    operators, rows, k = coefficients.shape
    _polynomial_hash(coefficients, out, work=(operators * rows - 1) * points * k)
    return out


@Threaded
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
    if b > WIDE:
        return np.asarray(distinct_wide(np, words, b))
    out = np.empty(words.shape, dtype=np.int32)
    operators, s, d = words.shape
    _distinct(words, b, out, work=(operators - 1) * s * d)
    return out


_COLUMNS = 2**14  # columns of a sparse matrix that a thread takes at a time
_PARTS = 16  # largest number of partial sums of a scatter
_SPREAD = 2**16  # entries of a vector that a thread fills at a time


@njit(cache=True)
def _add_to_cells(rows: NDArray[np.int32], flips: NDArray[np.int8], x: NDArray[Any], cells: NDArray[Any]) -> None:
    """Add entry j of x, with its sign, to cell rows[j]. One index an array is faster than a stack's four."""
    for j in range(rows.shape[0]):
        cells[uintp(rows[j])] += flips[j] * x[j]


@njit(cache=True)
def _fill_cells(
    buckets: NDArray[np.int32], signs: NDArray[np.int8], columns: slice, x: NDArray[Any], cells: NDArray[Any]
) -> None:
    """Multiply these columns of a matrix, s nonzeros each, by entries of a vector."""
    cells[:] = 0
    for r in range(buckets.shape[0]):
        _add_to_cells(buckets[r, columns], signs[r, columns], x[columns], cells)


@njit(cache=True)
def _take_from_cells(rows: NDArray[np.int32], flips: NDArray[np.int8], cells: NDArray[Any], x: NDArray[Any]) -> None:
    zero = x.dtype.type(0)
    for j in range(rows.shape[0]):
        x[j] = zero + flips[j] * cells[uintp(rows[j])]  # the sum makes 0.0 of -0.0


@njit(cache=True)
def _add_from_cells(rows: NDArray[np.int32], flips: NDArray[np.int8], cells: NDArray[Any], x: NDArray[Any]) -> None:
    for j in range(rows.shape[0]):
        x[j] += flips[j] * cells[uintp(rows[j])]


@njit(cache=True)
def _read_cells(
    buckets: NDArray[np.int32], signs: NDArray[np.int8], columns: slice, cells: NDArray[Any], x: NDArray[Any]
) -> None:
    """Write the product of these columns, transposed, and the cells to the entries of a vector."""
    _take_from_cells(buckets[0, columns], signs[0, columns], cells, x[columns])
    for r in range(1, buckets.shape[0]):
        _add_from_cells(buckets[r, columns], signs[r, columns], cells, x[columns])


@njit(cache=True)
def _add_all(x: NDArray[Any], y: NDArray[Any]) -> None:
    for k in range(y.shape[0]):
        y[k] += x[k]


@Threaded
def _scatter(buckets: NDArray[np.int32], signs: NDArray[np.int8], parts: int, x: NDArray[Any], y: NDArray[Any]) -> None:
    """A thread takes a vector. Each of the parts sums its share of the columns, and the sums are added in order."""
    operators, vectors, b = y.shape
    d = buckets.shape[2]
    share = -(-d // parts)
    for index in prange(operators * vectors):
        t, n = index // vectors, index % vectors
        entries, cells = x[t % x.shape[0], n], y[t, n]
        _fill_cells(buckets[t], signs[t], slice(0, share), entries, cells)
        more = np.empty(b if parts > 1 else 0, y.dtype)
        for part in range(1, parts):
            _fill_cells(buckets[t], signs[t], slice(part * share, min(d, (part + 1) * share)), entries, more)
            _add_all(more, cells)


@Threaded
def _scatter_parts(buckets: NDArray[np.int32], signs: NDArray[np.int8], x: NDArray[Any], y: NDArray[Any]) -> None:
    """The sums of `_scatter` before they are added, y (T, N, parts, b); a thread takes a part."""
    operators, vectors, parts, _ = y.shape
    d = buckets.shape[2]
    share = -(-d // parts)
    for index in prange(operators * vectors * parts):
        t, n, part = index // (vectors * parts), index // parts % vectors, index % parts
        columns = slice(part * share, min(d, (part + 1) * share))
        _fill_cells(buckets[t], signs[t], columns, x[t % x.shape[0], n], y[t, n, part])


@Threaded
def _sum_parts(parts: NDArray[Any], y: NDArray[Any]) -> None:
    rows, b = y.shape
    chunks = -(-b // _COLUMNS)
    for index in prange(rows * chunks):
        m, start = index // chunks, index % chunks * _COLUMNS
        cells = y[m, start : start + _COLUMNS]
        cells[:] = parts[m, 0, start : start + _COLUMNS]
        for part in range(1, parts.shape[1]):
            _add_all(parts[m, part, start : start + _COLUMNS], cells)


def _parts(matrix: SparseMatrix, lines: int) -> int:
    """The number of partial sums of a scatter of `lines` vectors; from sizes only, as threads must not change sums."""
    _, s, d = matrix.buckets.shape
    if d < 2 * _COLUMNS:
        return 1
    return max(1, min(_PARTS // max(lines, 1), s * d // (4 * matrix.b), d // _COLUMNS))


def scatter(matrix: SparseMatrix, x: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    operators, s, d = matrix.buckets.shape
    lines = operators * x.shape[1]
    y = np.empty((operators, x.shape[1], matrix.b), dtype=x.dtype) if out is None else out
    x = np.ascontiguousarray(x)
    parts = _parts(matrix, lines)
    work = (lines * parts - 1) * s * d // parts
    if parts == 1 or threads(work) == 1:
        _scatter(matrix.buckets, matrix.signs, parts, x, y, work=work if parts == 1 else 0)
        return y
    sums = np.empty((operators, x.shape[1], parts, matrix.b), dtype=x.dtype)
    _scatter_parts(matrix.buckets, matrix.signs, x, sums, work=work)
    work = (y.size - min(matrix.b, _COLUMNS)) * parts
    _sum_parts(sums.reshape(lines, parts, matrix.b), y.reshape(lines, matrix.b), work=work)
    return y


@Threaded
def _gather(buckets: NDArray[np.int32], signs: NDArray[np.int8], y: NDArray[Any], x: NDArray[Any]) -> None:
    operators, vectors, d = x.shape
    chunks = -(-d // _COLUMNS)
    for index in prange(operators * vectors * chunks):
        t, n, start = index // (vectors * chunks), index // chunks % vectors, index % chunks * _COLUMNS
        _read_cells(buckets[t], signs[t], slice(start, min(d, start + _COLUMNS)), y[t % y.shape[0], n], x[t, n])


def gather(matrix: SparseMatrix, y: NDArray[Any]) -> NDArray[Any]:
    operators, s, d = matrix.buckets.shape
    x = np.empty((operators, y.shape[1], d), dtype=y.dtype)
    _gather(matrix.buckets, matrix.signs, np.ascontiguousarray(y), x, work=(x.size - min(d, _COLUMNS)) * s)
    return x


@Threaded
def _project(buckets: NDArray[np.int32], signs: NDArray[np.int8], b: int, x: NDArray[Any], out: NDArray[Any]) -> None:
    operators, vectors, d = out.shape
    for index in prange(operators * vectors):
        t, n = index // vectors, index % vectors
        cells, columns = np.empty(b, x.dtype), slice(0, d)
        _fill_cells(buckets[t], signs[t], columns, x[t % x.shape[0], n], cells)
        _read_cells(buckets[t], signs[t], columns, cells, out[t, n])


def project(matrix: SparseMatrix, x: NDArray[Any]) -> NDArray[Any]:
    operators, s, d = matrix.buckets.shape
    lines = operators * x.shape[1]
    if _parts(matrix, lines) > 1:
        return gather(matrix, scatter(matrix, x))
    out = np.empty((operators, x.shape[1], d), dtype=x.dtype)
    work = (lines - 1) * 2 * s * d
    _project(matrix.buckets, matrix.signs, matrix.b, np.ascontiguousarray(x), out, work=work)
    return out


@njit(cache=True, inline="always")
def _sorted(a: Any, b: Any) -> Any:
    return min(a, b), max(a, b)


@Threaded
def _median_of_5(buckets: NDArray[np.int32], signs: NDArray[np.int8], y: NDArray[Any], x: NDArray[Any]) -> None:
    """`_median` for s = 5, without a branch, so that the compiler vectorises it."""
    operators, vectors, d = x.shape
    chunks = -(-d // _COLUMNS)
    for index in prange(operators * vectors * chunks):
        t, n, start = index // (vectors * chunks), index // chunks % vectors, index % chunks
        cells, rows, flips = y[t % y.shape[0], n], buckets[t], signs[t]
        for j in range(start * _COLUMNS, min(d, (start + 1) * _COLUMNS)):
            a, b = flips[0, j] * cells[rows[0, j]], flips[1, j] * cells[rows[1, j]]
            c, e = flips[2, j] * cells[rows[2, j]], flips[3, j] * cells[rows[3, j]]
            f = flips[4, j] * cells[rows[4, j]]
            a, b = _sorted(a, b)
            c, e = _sorted(c, e)
            b, c = min(b, e), max(a, c)  # the least and the greatest of the four are not the median
            b, c = _sorted(b, c)
            x[t, n, j] = max(b, min(c, f))


_SORTED = 8  # nanoseconds that a value takes to be sorted, about


@Threaded
def _median(buckets: NDArray[np.int32], signs: NDArray[np.int8], y: NDArray[Any], x: NDArray[Any]) -> None:
    operators, vectors, d = x.shape
    s = buckets.shape[1]
    chunks = -(-d // _COLUMNS)
    for index in prange(operators * vectors * chunks):
        t, n, start = index // (vectors * chunks), index // chunks % vectors, index % chunks
        source = t % y.shape[0]
        values = np.empty(s, y.dtype)
        for j in range(start * _COLUMNS, min(d, (start + 1) * _COLUMNS)):
            for r in range(s):  # insertion sort: s is small
                value = signs[t, r, j] * y[source, n, buckets[t, r, j]]
                place = r
                while place > 0 and values[place - 1] > value:
                    values[place] = values[place - 1]
                    place -= 1
                values[place] = value
            x[t, n, j] = (values[(s - 1) // 2] + values[s // 2]) / 2


def median(matrix: SparseMatrix, y: NDArray[Any]) -> NDArray[Any]:
    operators, s, d = matrix.buckets.shape
    x = np.empty((operators, y.shape[1], d), dtype=y.dtype)
    find, each = (_median_of_5, s) if s == 5 else (_median, _SORTED * s)
    find(matrix.buckets, matrix.signs, np.ascontiguousarray(y), x, work=(x.size - min(d, _COLUMNS)) * each)
    return x


@Threaded
def _collect(v: NDArray[Any], at: NDArray[np.int32], out: NDArray[Any]) -> None:
    operators, vectors, k = out.shape
    chunks = -(-k // _COLUMNS)
    for index in prange(operators * vectors * chunks):
        t, n, start = index // (vectors * chunks), index // chunks % vectors, index % chunks
        source, places = v[t % v.shape[0], n], at[t, n % at.shape[1]]
        for i in range(start * _COLUMNS, min(k, (start + 1) * _COLUMNS)):
            out[t, n, i] = source[places[i]]


def collect(v: NDArray[Any], at: NDArray[np.int32]) -> NDArray[Any]:
    out = np.empty((at.shape[0], v.shape[1], at.shape[2]), dtype=v.dtype)
    _collect(v, at, out, work=out.size - min(at.shape[2], _COLUMNS))
    return out


@njit(cache=True, inline="always")
def _whole_run(places: NDArray[np.int32], i: int) -> int:
    """The first index >= i whose place differs from the one before it."""
    while 0 < i < places.shape[0] and places[i] == places[i - 1]:
        i += 1
    return i


@Threaded
def _spread(at: NDArray[np.int32], values: NDArray[Any], out: NDArray[Any], keep: bool) -> None:
    """A thread takes consecutive entries, and `out` from its first entry's place to the next thread's first."""
    operators, vectors, d = out.shape
    k = at.shape[2]
    chunks = max(1, d // _SPREAD)
    share = -(-k // chunks)
    for index in prange(operators * vectors * chunks):
        t, n, chunk = index // (vectors * chunks), index // chunks % vectors, index % chunks
        places, target = at[t, n % at.shape[1]], out[t, n]
        start = _whole_run(places, min(k, chunk * share))
        stop = _whole_run(places, min(k, (chunk + 1) * share))
        if not keep:
            low = 0 if chunk == 0 else places[start] if start < k else d
            high = places[stop] if stop < k and chunk < chunks - 1 else d
            target[low:high] = 0
        for i in range(start, stop):
            target[places[i]] += values[t, n, i]


def spread(at: NDArray[np.int32], values: NDArray[Any], out: NDArray[Any], keep: bool = False) -> NDArray[Any]:
    _spread(at, values, out, keep, work=(out.size - min(out.shape[2], _SPREAD)) // 2)
    return out
