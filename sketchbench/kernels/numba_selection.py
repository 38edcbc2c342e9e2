"""Entries of largest magnitude on a CPU, for `numba_kernels`. A sample gives a magnitude that, most likely, slightly
more than k entries reach; these are marked, and radix select finds the k largest among them. No function calls compiled
code of another file, since Numba's cache does not notice edits there."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import int64, njit, prange, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from sketchbench.kernels import index_type
from sketchbench.kernels.threaded import Threaded

_WORDS = 2**7  # words of 64 marks that a thread makes at a time
_SAMPLE = 2**13  # entries of the sample
_MARGIN = 4  # standard deviations by which the sample's magnitude is lowered
_FEW, _DIGIT, _MANY = 6, 12, 2**11  # bits of a digit of radix select: _FEW for fewer than _MANY keys, else _DIGIT


def _mark_word(context: Any, bits: Any, i: Any, magnitude: Any, least: Any) -> Any:
    """An intrinsic that compares 64 entries of `bits` from i on, masked by `magnitude`, with `least`: bit j of the word
    is 1 if entry i + j is at least `least`. Indices are not checked."""
    signature = types.uint64(bits, types.intp, bits.dtype, bits.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, i, magnitude, least = arguments
        vector = ir.VectorType(context.get_value_type(bits.dtype), 64)
        data = context.make_array(signature.args[0])(context, builder, array).data
        pointer = builder.bitcast(builder.gep(data, [i]), vector.as_pointer())
        entries = builder.load(pointer, align=bits.dtype.bitwidth // 8)
        entries = builder.and_(entries, _everywhere(builder, vector, magnitude))
        above = builder.icmp_unsigned(">=", entries, _everywhere(builder, vector, least))
        return builder.bitcast(above, ir.IntType(64))

    return signature, generate


def _everywhere(builder: Any, vector: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, one, zeros)


def _of_bits(operation: Callable[[Any, Any], Any]) -> Any:
    """A compiled function of a 64-bit word, given the function that builds its instruction."""

    @intrinsic
    def compute(context: Any, marks: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return operation(builder, arguments[0])

        return types.uint64(types.uint64), generate

    return compute


_marks: Any = intrinsic(_mark_word)
_lowest = _of_bits(lambda builder, marks: builder.cttz(marks, cgutils.true_bit))  # place of the lowest 1
_ones = _of_bits(lambda builder, marks: builder.ctpop(marks))  # number of ones


@njit(cache=True)
def _threshold(keys: NDArray[np.uint64], wanted: int) -> Any:
    """The key of rank `wanted` from the top, and the number of keys equal to it among the `wanted` largest. Radix
    select goes digit by digit, from the highest bit in which keys differ, among keys that agree in higher digits."""
    low, high = keys[0], keys[0]
    for key in keys:
        low, high = min(low, key), max(high, key)
    digit = uint64(_FEW if keys.shape[0] < _MANY else _DIGIT)
    counts = np.empty(1 << digit, np.int64)
    while low < high:
        shift = uint64(0)
        while (high - low) >> shift >> digit:
            shift += uint64(1)
        counts[:] = 0
        for key in keys:
            counts[(key - low) >> shift] += 1
        top = uint64((high - low) >> shift)
        while counts[top] < wanted:
            wanted -= counts[top]
            top -= uint64(1)
        low += top << shift
        high = low + (uint64(1) << shift) - uint64(1)
        agreeing = np.empty(counts[top] + 1, np.uint64)  # the last entry is scratch: each key is written, then counted
        filled = 0
        for key in keys:
            agreeing[filled] = key
            filled += low <= key <= high
        keys = agreeing[:filled]
    return low, wanted


@Threaded
def _guess(bits: NDArray[Any], magnitude: Any, wanted: int, least: NDArray[np.uint64]) -> None:
    """For every row, a key that slightly more than `wanted` entries reach, most likely; 0 for too few entries. The
    sample has one entry of every stretch, at a place that differs between stretches."""
    rows, d = bits.shape
    stretch = d // _SAMPLE
    expected = _SAMPLE * wanted / d
    rank = int64(expected + _MARGIN * (expected**0.5 + 1))
    for n in prange(rows):
        least[n] = 0
        if stretch > 1 and rank < _SAMPLE:
            sample, scattered = np.empty(_SAMPLE, np.uint64), uint64(0)
            for i in range(_SAMPLE):
                scattered += uint64(0x9E3779B97F4A7C15)
                within = (scattered >> uint64(32)) * uint64(stretch) >> uint64(32)
                sample[i] = bits[n, i * stretch + int64(within)] & magnitude
            least[n] = _threshold(sample, rank)[0]


@Threaded
def _mark(
    bits: NDArray[Any], magnitude: Any, least: NDArray[np.uint64], marks: NDArray[np.uint64], totals: NDArray[np.int64]
) -> None:
    """Mark row n's keys from least[n] on by a bit each, marks (N, words); count by chunk, totals (N, chunks)."""
    rows, d = bits.shape
    chunks = totals.shape[1]
    for index in prange(rows * chunks):
        n, first, count = index // chunks, index % chunks * _WORDS, 0
        lowest = bits.dtype.type(least[n])
        for word in range(first, min(marks.shape[1], first + _WORDS)):
            start = 64 * word
            if start + 64 <= d:
                marks[n, word] = _marks(bits, n * d + start, magnitude, lowest)
            else:
                marks[n, word] = 0
                for i in range(start, d):
                    marks[n, word] |= uint64(bits[n, i] & magnitude >= lowest) << uint64(i - start)
            count += int64(_ones(marks[n, word]))
        totals[n, index % chunks] = count


@Threaded
def _choose(
    bits: NDArray[Any], magnitude: Any, marks: NDArray[np.uint64], totals: NDArray[np.int64], out: NDArray[np.int32]
) -> None:
    """The indices of the k largest entries among the marked ones, or among all if fewer than k are marked."""
    rows, k = out.shape
    for n in prange(rows):
        size = 0
        for count in totals[n]:
            size += count
        if size < k:
            size = bits.shape[1]
            for i in range(size):
                marks[n, i // 64] |= uint64(1) << uint64(i % 64)
        places, keys, filled = np.empty(size, out.dtype), np.empty(size, np.uint64), 0
        for word in range(marks.shape[1]):
            left = marks[n, word]
            while left:
                places[filled] = 64 * word + int64(_lowest(left))
                keys[filled] = uint64(bits[n, places[filled]] & magnitude)
                filled += 1
                left &= left - uint64(1)
        value, ties = _threshold(keys, k)
        kept = 0
        for i in range(size):
            tie = keys[i] == value and ties > 0
            ties -= tie
            places[kept] = places[i]
            kept += keys[i] > value or tie
        for i in range(k):
            out[n, i] = places[i]


def largest(x: NDArray[Any], k: int) -> NDArray[np.int32]:
    rows, d = x.shape
    out: NDArray[Any] = np.empty((rows, k), dtype=index_type(d))
    if not out.size:
        return out
    width = 8 * x.dtype.itemsize
    bits = np.ascontiguousarray(x).view(f"uint{width}")
    magnitude = bits.dtype.type(2 ** (width - 1) - 1)  # all bits but the sign; their order is the order of magnitudes
    least, words = np.empty(rows, np.uint64), -(-d // 64)
    marks, totals = np.empty((rows, words), np.uint64), np.empty((rows, -(-words // _WORDS)), np.int64)
    _guess(bits, magnitude, k, least, work=(rows - 1) * d)
    _mark(bits, magnitude, least, marks, totals, work=x.size)
    _choose(bits, magnitude, marks, totals, out, work=(rows - 1) * d)
    return out
