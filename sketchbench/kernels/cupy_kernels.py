"""GPU kernels; see `Kernels` for the signatures and `numpy_kernels` for the reference.

The CUDA source below is compiled at the first launch. Every thread owns the entries that it
writes, and the order of each sum is fixed, without atomics: the result depends neither on the
schedule nor on the size of the grid.
"""

from functools import cache
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupyx.scipy import fft

from sketchbench.kernels import Array

NAME = "cupy"
xp = cupy

_THREADS = 256  # per block
_BLOCKS = 2**20  # at most; beyond that the threads stride

_CODE = r"""
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// `index` takes every value below `size` once in the whole grid.
#define EACH(index, size)                                                              \
    for (i64 index = (i64)blockIdx.x * blockDim.x + threadIdx.x; index < (size);       \
         index += (i64)gridDim.x * blockDim.x)

// Philox4x32-10: encrypts the counter c in place.
__device__ void philox(u32 (&c)[4], u64 key) {
    u32 k0 = (u32)key, k1 = (u32)(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const u64 p0 = (u64)c[0] * 0xD2511F53u, p1 = (u64)c[2] * 0xCD9E8D57u;
        c[0] = (u32)(p1 >> 32) ^ c[1] ^ k0;
        c[1] = (u32)p1;
        c[2] = (u32)(p0 >> 32) ^ c[3] ^ k1;
        c[3] = (u32)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

// What a random word turns into: `COUNT` entries of type `Out`.
struct Word {
    typedef u32 Out;
    enum { COUNT = 1 };
    static __device__ Out entry(u32 word, int) { return word; }
};
struct Sign {
    typedef signed char Out;
    enum { COUNT = 32 };
    static __device__ Out entry(u32 word, int bit) { return (Out)(2 * (int)(word >> bit & 1) - 1); }
};
struct Normal {
    typedef double Out;
    enum { COUNT = 1 };
    static __device__ Out entry(u32 word, int) { return normcdfinv((word + 0.5) * 0x1p-32); }
};

// out[t, k, :]: rows `row` to `row + rows` of operators `first`, first + 1, ...; a thread turns
// one counter, four words, into entries.
template <class Entry>
__global__ void draw(u64 key, i64 stream, i64 first, i64 operators, i64 row, i64 rows, i64 d,
                     typename Entry::Out* out) {
    const i64 step = 4 * Entry::COUNT, calls = (d + step - 1) / step;
    EACH(index, operators * rows * calls) {
        const i64 line = index / calls, call = index % calls;
        u32 c[4] = {(u32)call, (u32)(row + line % rows), (u32)(first + line / rows), (u32)stream};
        philox(c, key);
        for (int lane = 0; lane < 4; ++lane)
            for (int part = 0; part < Entry::COUNT; ++part) {
                const i64 j = call * step + lane * Entry::COUNT + part;
                if (j < d) out[line * d + j] = Entry::entry(c[lane], part);
            }
    }
}

__global__ void polynomial_hash(const u32* coefficients, i64 lines, i64 powers, i64 points,
                                u32* out) {
    EACH(index, lines * points) {
        const u32* c = coefficients + index / points * powers;
        const u64 x = (u64)(index % points);
        u64 value = 0;
        for (i64 power = 0; power < powers; ++power)  // below 2^62: no overflow
            value = (value * x + c[power]) % 0x7FFFFFFFu;
        out[index] = (u32)value;
    }
}

// A thread takes one column of one operator.
__global__ void distinct(const u32* words, i64 operators, i64 s, i64 d, i64 b, int* out) {
    EACH(index, operators * d) {
        const i64 corner = index / d * s * d + index % d;
        for (i64 r = 0; r < s; ++r) {
            const u64 last = (u64)(b - s + r);
            int value = (int)(words[corner + r * d] * (last + 1) >> 32);
            for (i64 earlier = 0; earlier < r; ++earlier)
                if (out[corner + earlier * d] == value) {
                    value = (int)last;
                    break;
                }
            out[corner + r * d] = value;
        }
    }
}

// A thread sums one bucket: entries starts[bucket] to starts[bucket + 1], in that order.
// `stride` leads from one operator's vectors to the next one's, 0 if they share them.
template <class real>
__global__ void scatter(const int* columns, const signed char* signs, const i64* starts,
                        const real* x, i64 stride, i64 operators, i64 vectors, i64 d, i64 b,
                        real* y) {
    EACH(index, operators * vectors * b) {
        const i64 t = index / (vectors * b), n = index / b % vectors, bucket = t * b + index % b;
        const real* source = x + t * stride + n * d;
        real sum = 0;
        for (i64 e = starts[bucket]; e < starts[bucket + 1]; ++e)
            sum += signs[e] * source[columns[e]];
        y[index] = sum;
    }
}

template <class real>
__global__ void gather(const int* buckets, const signed char* signs, const real* y, i64 stride,
                       i64 operators, i64 vectors, i64 s, i64 d, i64 b, real* x) {
    EACH(index, operators * vectors * d) {
        const i64 t = index / (vectors * d), n = index / d % vectors, j = index % d;
        const real* source = y + t * stride + n * b;
        real sum = 0;
        for (i64 r = 0; r < s; ++r) {
            const i64 e = (t * s + r) * d + j;
            sum += signs[e] * source[buckets[e]];
        }
        x[index] = sum;
    }
}

// log2(POINTS) stages of the butterfly, in place: a thread transforms POINTS entries, `h` apart,
// in its registers.
template <class real, int POINTS>
__global__ void hadamard(real* x, i64 size, i64 h, real scale) {
    EACH(index, size / POINTS) {
        real* first = x + index / h * h * POINTS + index % h;
        real v[POINTS];
#pragma unroll
        for (int i = 0; i < POINTS; ++i) v[i] = first[i * h];
#pragma unroll
        for (int half = 1; half < POINTS; half *= 2)
#pragma unroll
            for (int i = 0; i < POINTS; ++i)
                if (!(i & half)) {
                    const real upper = v[i], lower = v[i + half];
                    v[i] = upper + lower;
                    v[i + half] = upper - lower;
                }
#pragma unroll
        for (int i = 0; i < POINTS; ++i) first[i * h] = v[i] * scale;
    }
}
"""

_POINTS = 16  # of a butterfly in registers, at most
_REAL = {"float32": "float", "float64": "double"}
_NAMES = [
    *(f"draw<{entry}>" for entry in ("Word", "Sign", "Normal")),
    *("polynomial_hash", "distinct"),
    *(f"{name}<{real}>" for name in ("scatter", "gather") for real in _REAL.values()),
    *(f"hadamard<{real}, {points}>" for real in _REAL.values() for points in (2, 4, 8, _POINTS)),
]
_MODULE = cupy.RawModule(code=_CODE, options=("--std=c++17",), name_expressions=_NAMES)


@cache
def _kernel(name: str) -> Any:
    """A compiled kernel; the first one compiles them all."""
    return _MODULE.get_function(name)


def _launch(name: str, size: int, *arguments: Any) -> None:
    """Run a kernel over `size` indices. CuPy passes arrays as pointers, Python's ints as int64."""
    if size:
        blocks = min(-(-size // _THREADS), _BLOCKS)
        _kernel(name)((blocks,), (_THREADS,), arguments)


def _draw(entry: str, step: int, key: int, stream: int, first: int, row: int, out: Array) -> Array:
    """Fill out (T, rows, d) with random entries; one call of the generator gives `step`."""
    operators, rows, d = out.shape
    size = operators * rows * -(-d // step)
    place = (np.uint64(key), stream, first, operators, row, rows, d)
    _launch(f"draw<{entry}>", size, *place, out)
    return out


def random_words(key: int, stream: int, first: int, operators: int, count: int) -> Array:
    out = cupy.empty((operators, 1, count), dtype=np.uint32)
    return _draw("Word", 4, key, stream, first, 0, out)[:, 0]


def sign_rows(
    key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int
) -> Array:
    out = cupy.empty((operators, rows, d), dtype=np.int8)
    return _draw("Sign", 128, key, stream, first, row, out)


def gaussian_rows(
    key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int
) -> Array:
    out = cupy.empty((operators, rows, d), dtype=np.float64)
    return _draw("Normal", 4, key, stream, first, row, out)


def polynomial_hash(coefficients: Array, points: int) -> Array:
    operators, rows, powers = coefficients.shape
    out = cupy.empty((operators, rows, points), dtype=np.uint32)
    coefficients = cupy.ascontiguousarray(coefficients)
    _launch("polynomial_hash", out.size, coefficients, operators * rows, powers, points, out)
    return out


def distinct(words: Array, b: int) -> Array:
    operators, s, d = words.shape
    out = cupy.empty(words.shape, dtype=np.int32)
    _launch("distinct", operators * d, cupy.ascontiguousarray(words), operators, s, d, b, out)
    return out


class SparseMatrix(NamedTuple):
    """A stack of matrices by column, as drawn, and the same entries sorted by bucket."""

    buckets: Array  # int32 (T, s, d)
    signs: Array  # int8 (T, s, d)
    columns: Array  # int32 (T s d): of the sorted entries, in the order of r, then of the column
    sorted_signs: Array  # int8 (T s d)
    starts: Array  # int64 (T b + 1): bucket k of operator t begins at starts[t b + k]
    b: int


def prepare(buckets: Array, signs: Array, b: int) -> SparseMatrix:
    operators, _, d = buckets.shape
    buckets, signs = cupy.ascontiguousarray(buckets), cupy.ascontiguousarray(signs)
    offsets = b * cupy.arange(operators, dtype=np.int64)[:, None, None]
    keys = cupy.where(signs != 0, buckets + offsets, operators * b).ravel()  # dropped ones last
    order = cupy.argsort(keys)  # CuPy's sort is stable
    starts = cupy.searchsorted(keys[order], cupy.arange(operators * b + 1, dtype=np.int64))
    columns = (order % d).astype(np.int32)
    return SparseMatrix(buckets, signs, columns, signs.ravel()[order], starts, b)


def scatter(matrix: SparseMatrix, x: Array) -> Array:
    operators, _, d = matrix.buckets.shape
    y = cupy.empty((operators, x.shape[1], matrix.b), dtype=x.dtype)
    entries = (matrix.columns, matrix.sorted_signs, matrix.starts)
    sizes = (operators, x.shape[1], d, matrix.b)
    source = cupy.ascontiguousarray(x)
    _launch(f"scatter<{_REAL[x.dtype.name]}>", y.size, *entries, source, _stride(x), *sizes, y)
    return y


def gather(matrix: SparseMatrix, y: Array) -> Array:
    operators, s, d = matrix.buckets.shape
    x = cupy.empty((operators, y.shape[1], d), dtype=y.dtype)
    entries = (matrix.buckets, matrix.signs)
    sizes = (operators, y.shape[1], s, d, matrix.b)
    source = cupy.ascontiguousarray(y)
    _launch(f"gather<{_REAL[y.dtype.name]}>", x.size, *entries, source, _stride(y), *sizes, x)
    return x


def _stride(v: Array) -> int:
    """From one operator's vectors (T or 1, N, length) to the next one's; 0 if they are shared."""
    return 0 if v.shape[0] == 1 else v.shape[1] * v.shape[2]


def walsh_hadamard(x: Array) -> Array:
    x = cupy.ascontiguousarray(x)
    n, h = x.shape[-1], 1
    while h < n:
        points = min(_POINTS, n // h)
        scale = x.dtype.type(n**-0.5 if h * points == n else 1.0)
        name = f"hadamard<{_REAL[x.dtype.name]}, {points}>"
        _launch(name, x.size // points, x, x.size, h, scale)
        h *= points
    return x


def cosine(x: Array) -> Array:
    return fft.dct(x, norm="ortho", axis=-1) if x.size else x  # cuFFT plans no empty batch


def cosine_transpose(x: Array) -> Array:
    return fft.idct(x, norm="ortho", axis=-1) if x.size else x


def asarray(x: Any) -> Array:
    return cupy.asarray(x)


def to_numpy(x: Array) -> Any:
    return cupy.asnumpy(x)
