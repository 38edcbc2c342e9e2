"""The Walsh-Hadamard transform on a CPU, for `numba_kernels`.
Its stages combine entries at distances 1, 2, 4, ..., in this order, so every result is the same tree of additions as in
`numpy_kernels`, however stages are grouped: in registers, then in blocks that fit into the cache, then in panels, which
are columns of the blocks. `spread_hadamard_collect` is an exception for few entries: the last stages of sparse vectors
are cheap, so they come first, and the result is made part by part in the cache. No function calls compiled code of
another file, since Numba's cache does not notice edits there."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, prange, types, uintp
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from sketchbench.kernels.threaded import Threaded, threads

_BYTES = 32  # bytes of a vector; for shorter registers the compiler uses several
_LEAST, _MOST = 2**17, 2**20  # smallest and largest block in bytes; in between it is an eighth of a transform
_UNIT = 2**12  # smallest number of entries that are filled and then transformed, in the nearest cache
_PANEL = 2**17  # bytes of a panel
_ROWS = 8  # most rows of a panel
_PARTS, _NEAR = 8, 2**22  # parts of a result that is collected from a sparse vector, and the largest part in bytes
_AT_A_TIME = 2  # entries of a transform that take about a nanosecond
_EIGHTS = 0o1111111111111  # the powers of eight
_LINE = 64  # bytes of a cache line
_SHORT = 2**18  # bytes of the longest transform that one call does from input to samples, in memory of its own
_NO_SIGNS = np.empty((1, 1, 0), np.int8)


def _butterfly(radix: int, lanes: bool = False) -> Any:
    """A compiled function of (source, i, step, target, j, stride, width, scale) that combines `radix` rows. Row r has
    `width` entries from source[i + r * step] on, a multiple of a vector's; scale times the result goes to target[j + r
    * stride] on. With `lanes`, entries of a row that share a vector are combined first. Indices are not checked."""

    @intrinsic
    def combine(
        context: Any, source: Any, i: Any, step: Any, target: Any, j: Any, stride: Any, width: Any, scale: Any
    ) -> Any:
        real, index = source.dtype, types.intp
        signature = types.void(source, index, index, target, index, index, index, real)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source, i, step, target, j, stride, width, scale = arguments
            vector = ir.VectorType(context.get_value_type(real), _BYTES * 8 // real.bitwidth)
            rows = _places(context, builder, signature.args[0], source, i, step, radix)
            targets = _places(context, builder, signature.args[3], target, j, stride, radix)
            factor = _everywhere(builder, vector, scale)
            with cgutils.for_range_slice(builder, width.type(0), width, width.type(vector.count)) as (c, _):
                v = []
                for row in rows:
                    pointer = builder.bitcast(builder.gep(row, [c]), vector.as_pointer())
                    v.append(builder.load(pointer, align=real.bitwidth // 8))
                if lanes:
                    v = [_combine_lanes(builder, vector, part) for part in v]
                for row, part in zip(targets, _combine(builder, v), strict=True):
                    pointer = builder.bitcast(builder.gep(row, [c]), vector.as_pointer())
                    builder.store(builder.fmul(part, factor), pointer, align=real.bitwidth // 8)
            return context.get_dummy_value()

        return signature, generate

    return combine


def _places(context: Any, builder: Any, kind: Any, array: Any, first: Any, step: Any, count: int) -> list[Any]:
    """Pointers to `count` entries of an array, `step` apart."""
    data = context.make_array(kind)(context, builder, array).data
    return [builder.gep(data, [builder.add(first, builder.mul(step, step.type(r)))]) for r in range(count)]


def _everywhere(builder: Any, vector: Any, value: Any) -> Any:
    filled = ir.Constant(vector, ir.Undefined)
    for lane in range(vector.count):
        filled = builder.insert_element(filled, value, ir.IntType(32)(lane))
    return filled


def _combine(builder: Any, v: list[Any]) -> list[Any]:
    """The stages that combine vectors, lane by lane."""
    half = 1
    while half < len(v):
        for r in range(len(v)):
            if not r & half:
                v[r], v[r + half] = builder.fadd(v[r], v[r + half]), builder.fsub(v[r], v[r + half])
        half *= 2
    return v


def _combine_lanes(builder: Any, vector: Any, v: Any) -> Any:
    """The stages within a vector: lanes i and i ^ half become sum and difference, by a flip of the second's sign."""
    lanes, undefined = range(vector.count), ir.Constant(vector, ir.Undefined)
    bits = ir.IntType(64 if isinstance(vector.element, ir.DoubleType) else 32)
    integers = ir.VectorType(bits, vector.count)
    half = 1
    while half < vector.count:
        swap = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [i ^ half for i in lanes])
        flip = ir.Constant(integers, [1 << (bits.width - 1) if i & half else 0 for i in lanes])
        own = builder.bitcast(builder.xor(builder.bitcast(v, integers), flip), vector)
        v = builder.fadd(builder.shuffle_vector(v, undefined, swap), own)
        half *= 2
    return v


_leaf, _two, _four, _eight = _butterfly(8, lanes=True), _butterfly(2), _butterfly(4), _butterfly(8)


@njit(cache=True)
def _beside_eights(n: int) -> int:
    """The factor 1, 2 or 4 of n, a power of two, next to its power of eight."""
    return 1 if n & _EIGHTS else 2 if n & 2 * _EIGHTS else 4


@njit(cache=True)
def _scalars(x: NDArray[Any], first: int, n: int, scale: Any) -> None:
    """Transform n entries of x from `first` on, times scale, without vectors, for small n."""
    h = 1
    while h < n:
        for i in range(first, first + n, 2 * h):
            for j in range(i, i + h):
                x[j], x[j + h] = x[j] + x[j + h], x[j] - x[j + h]
        h *= 2
    for j in range(first, first + n):
        x[j] *= scale


@njit(cache=True)
def _close(x: NDArray[Any], first: int, n: int, unit: int, done: int, scale: Any) -> None:
    """Combine complete groups of eight units of x, after `done` units from `first` on are transformed. n is a power of
    eight times `unit`. The last combination multiplies all n entries by scale."""
    h = unit
    while done % 8 == 0:
        i = first + (done - 8) * h
        _eight(x, i, h, x, i, h, h, scale if n == 8 * h else x.dtype.type(1))
        h, done = 8 * h, done // 8


@njit(cache=True)
def _block(x: NDArray[Any], first: int, n: int, scale: Any) -> None:
    """Transform n entries of x from `first` on, times scale, for every n: eighths are combined while in the cache."""
    width, one = _BYTES // x.itemsize, x.dtype.type(1)
    leaf = 8 * width
    if n < leaf:
        _scalars(x, first, n, scale)
        return
    low = _beside_eights(n // leaf)
    unit = leaf * low
    for k in range(n // unit):
        i, factor = first + k * unit, scale if n == unit else one
        for q in range(i, i + unit, leaf):
            _leaf(x, q, width, x, q, width, width, factor if low == 1 else one)
        if low == 2:
            _two(x, i, leaf, x, i, leaf, leaf, factor)
        elif low == 4:
            _four(x, i, leaf, x, i, leaf, leaf, factor)
        _close(x, first, n, unit, k + 1, scale)


@njit(cache=True)
def _panel(
    x: NDArray[Any], first: int, rows: int, h: int, y: NDArray[Any], j: int, stride: int, width: int, scale: Any
) -> None:
    """Combine 2, 4 or 8 rows of `width` entries, h apart, of x, times scale, into rows of y from j on, `stride`
    apart."""
    if rows == 2:
        _two(x, first, h, y, j, stride, width, scale)
    elif rows == 4:
        _four(x, first, h, y, j, stride, width, scale)
    else:
        _eight(x, first, h, y, j, stride, width, scale)


@Threaded
def _blocks(x: NDArray[Any], n: int, size: int, scale: float) -> None:
    """Transform every n entries of x, times scale; a thread takes `size` entries, a multiple of n, at a time."""
    factor = x.dtype.type(scale)
    for block in prange(-(-x.shape[0] // size)):
        for first in range(block * size, min(x.shape[0], (block + 1) * size), n):
            _block(x, first, n, factor)


@njit(cache=True)
def _alone(x: NDArray[Any], scale: float) -> None:
    """Transform all vectors of an array (..., n), times scale, on one thread; reshaping in Python would be slow."""
    flat, n = x.reshape(-1), x.shape[-1]
    for first in range(0, flat.shape[0], n):
        _block(flat, first, n, flat.dtype.type(scale))


@Threaded
def _panels(x: NDArray[Any], rows: int, h: int, width: int, scale: float) -> None:
    """Combine `rows` blocks of h entries in every rows * h entries of x, times scale."""
    factor = x.dtype.type(scale)
    panels = h // width
    for index in prange(x.shape[0] // (rows * h) * panels):
        first = index // panels * (rows * h) + index % panels * width
        _panel(x, first, rows, h, x, first, h, width, factor)


@njit(cache=True)
def _add(places: NDArray[np.int32], low: int, values: NDArray[Any], weight: Any, x: NDArray[Any]) -> None:
    for i in range(values.shape[0]):
        x[uintp(places[i] - low)] += values[i] * weight


@Threaded
def _blocks_of_sparse(
    at: NDArray[np.int32],
    values: NDArray[Any],
    starts: NDArray[np.int64],
    weight: Any,
    x: NDArray[Any],
    h: int,
    scale: Any,
) -> None:
    """`_blocks` of `weight` times sums of sparse vectors, formed in x (T, N, n). Term i has the places at[...,
    starts[i] : starts[i + 1]] (T, N or 1, k), ascending, and these values (T, N, k)."""
    operators, vectors, n = x.shape
    parts = n // h
    for index in prange(operators * vectors * parts):
        t, m, low = index // (vectors * parts), index // parts % vectors, index % parts * h
        block, unit = x[t, m, low : low + h], h
        while unit >= 8 * _UNIT:
            unit //= 8
        for k in range(h // unit):
            part = block[k * unit : (k + 1) * unit]
            part[:] = 0
            for term in range(starts.shape[0] - 1):
                places = at[t, m % at.shape[1], starts[term] : starts[term + 1]]
                start = low + k * unit
                first, last = np.searchsorted(places, start), np.searchsorted(places, start + unit)
                entries = values[t, m, starts[term] + first : starts[term] + last]
                _add(places[first:last], start, entries, weight, part)
            _block(part, 0, unit, scale if unit == h else x.dtype.type(1))
            _close(block, 0, h, unit, k + 1, scale)


@njit(cache=True)
def _pad(x: NDArray[Any], signs: NDArray[np.int8], start: int, part: NDArray[Any]) -> None:
    """Write entries start, start + 1, ... of signs * x to `part`, and zeros beyond the last; no signs are ones."""
    count = min(part.shape[0], max(0, x.shape[0] - start))
    source, own = x[start : start + count], part[:count]
    if signs.shape[0]:
        flips = signs[start : start + count]
        for i in range(count):
            own[i] = flips[i] * source[i]
    else:
        own[:] = source
    part[count:] = 0


@Threaded
def _blocks_of_padded(x: NDArray[Any], signs: NDArray[np.int8], room: NDArray[Any], h: int, scale: Any) -> None:
    """`_blocks` of the vectors of `_pad`, formed in room (T or 1, N, n): x (T or 1, N, d), signs (T or 1, 1, d)."""
    operators, vectors, n = room.shape
    parts = n // h
    for index in prange(operators * vectors * parts):
        t, m, low = index // (vectors * parts), index // parts % vectors, index % parts * h
        block, unit = room[t, m, low : low + h], h
        while unit >= 8 * _UNIT:
            unit //= 8
        for k in range(h // unit):
            part = block[k * unit : (k + 1) * unit]
            _pad(x[t % x.shape[0], m], signs[t % signs.shape[0], 0], low + k * unit, part)
            _block(part, 0, unit, scale if unit == h else x.dtype.type(1))
            _close(block, 0, h, unit, k + 1, scale)


@njit(cache=True)
def _take(x: NDArray[Any], places: NDArray[np.int32], low: int, weight: Any, y: NDArray[Any]) -> None:
    for i in range(y.shape[0]):
        y[i] = x[uintp(places[i] - low)] * weight


@Threaded
def _collect_panels(
    x: NDArray[Any], at: NDArray[np.int32], y: NDArray[Any], h: int, width: int, scale: Any, weight: Any
) -> None:
    """Do the last pass over x (T, N, n); write weight times results at ascending `at` (T, N or 1, k) to y (T, N, k)."""
    operators, vectors, n = x.shape
    flat, rows = x.reshape(-1), n // h
    panels = h // width
    for index in prange(operators * vectors * panels):
        t, m, c = index // (vectors * panels), index // panels % vectors, index % panels * width
        places, room = at[t, m % at.shape[1]], np.empty(rows * width, x.dtype)
        _panel(flat, index // panels * n + c, rows, h, room, 0, width, width, scale)
        for r in range(rows):
            low = r * h + c
            first, last = np.searchsorted(places, low), np.searchsorted(places, low + width)
            _take(room, places[first:last], low - r * width, weight, y[t, m, first:last])


@njit(cache=True)
def _sign(r: int, q: int) -> int:
    both, sign = r & q, 1
    while both:
        both &= both - 1
        sign = -sign
    return sign


@Threaded
def _collect_blocks(
    terms: tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]],
    room: NDArray[Any],
    at: NDArray[np.int32],
    y: NDArray[Any],
    n: int,
    weights: tuple[Any, Any],
) -> None:
    """Write entries, at ascending places `at`, of transforms of sums of sparse vectors to y (T, N, k). Sparse vectors
    are as in `_blocks_of_sparse`. Transforms of n entries are multiplied by weights[0], entries by weights[1]. The
    result is made in blocks of h entries; each of W threads works in a row of `room` (W, h)."""
    (places, values, starts), (operators, vectors, _) = terms, y.shape
    workers, h = room.shape
    parts = n // h
    total = operators * vectors * parts
    for worker in prange(workers):
        block = room[worker]
        for index in range(total * worker // workers, total * (worker + 1) // workers):
            t, m, r = index // (vectors * parts), index // parts % vectors, index % parts
            block[:] = 0
            for term in range(starts.shape[0] - 1):
                own = places[t, m % places.shape[1], starts[term] : starts[term + 1]]
                entries = values[t, m, starts[term] : starts[term + 1]]
                first = 0
                for q in range(parts):
                    last = np.searchsorted(own, (q + 1) * h)
                    _add(own[first:last], q * h, entries[first:last], block.dtype.type(_sign(r, q)), block)
                    first = last
            _block(block, 0, h, weights[0])
            wanted = at[t, m % at.shape[1]]
            first, last = np.searchsorted(wanted, r * h), np.searchsorted(wanted, (r + 1) * h)
            _take(block, wanted[first:last], r * h, weights[1], y[t, m, first:last])


@Threaded
def _collect_entries(x: NDArray[Any], at: NDArray[np.int32], y: NDArray[Any], weight: Any) -> None:
    """Write weight * x[t, n, at[t, n, :]] to y[t, n]; operators may share x, and vectors `at`."""
    operators, vectors, _ = y.shape
    for index in prange(operators * vectors):
        t, m = index // vectors, index % vectors
        places, source = at[t, m % at.shape[1]], x[t % x.shape[0], m]
        _take(source, places, 0, weight, y[t, m])


@njit(cache=True)
def _sampled_alone(
    x: NDArray[Any], signs: NDArray[np.int8], n: int, at: NDArray[np.int32], y: NDArray[Any], scale: Any, weight: Any
) -> None:
    """`sampled_hadamard` of short vectors on one thread: each call from Python costs more than such a transform."""
    operators, vectors, _ = y.shape
    memory = np.empty(n + _LINE // x.itemsize, x.dtype)
    first = -memory.ctypes.data % _LINE // x.itemsize
    block = memory[first : first + n]
    for index in range(operators * vectors):
        t, m = index // vectors, index % vectors
        _pad(x[t % x.shape[0], m], signs[t % signs.shape[0], 0], 0, block)
        _block(block, 0, n, scale)
        _take(block, at[t, m % at.shape[1]], 0, weight, y[t, m])


def _passes(n: int, itemsize: int) -> list[tuple[int, int, int]]:
    """The passes over memory of a transform of n entries: first the size of a block, twice; then for each pass over
    panels the number of rows, their distance and their width."""
    h = max(_LEAST, min(_MOST, n * itemsize // 8)) // itemsize
    passes = [(h, h, 1)]
    while h < n:
        stages = (n // h).bit_length() - 1
        left = -(-stages // (_ROWS.bit_length() - 1))
        rows = 1 << -(-stages // left)
        passes.append((rows, h, min(h // 2, _PANEL // itemsize // rows)))
        h *= rows
    return passes


def walsh_hadamard(x: NDArray[Any]) -> NDArray[Any]:
    n = x.shape[-1]
    if not x.flags.c_contiguous:
        x = np.ascontiguousarray(x)
    work = x.size // _AT_A_TIME
    if n * x.itemsize <= _MOST and threads(work) == 1:  # one pass, on one thread
        _alone(x, n**-0.5)
        return x
    flat = x.reshape(-1)
    (size, *_), *panels = _passes(n, x.itemsize)
    _blocks(flat, min(n, size), size, 1.0 if panels else n**-0.5, work=work)
    for number, place in enumerate(panels, 1):
        _panels(flat, *place, n**-0.5 if number == len(panels) else 1.0, work=work)
    return x


def spread_hadamard(at: NDArray[np.int32], values: NDArray[Any], scale: float, out: NDArray[Any]) -> NDArray[Any]:
    panels, work = _sparse_blocks([(at, values)], scale, out), out.size // _AT_A_TIME
    for number, place in enumerate(panels, 1):
        _panels(out.reshape(-1), *place, out.shape[-1] ** -0.5 if number == len(panels) else 1.0, work=work)
    return out


def hadamard_collect(x: NDArray[Any], at: NDArray[np.int32], scale: float) -> NDArray[Any]:
    x = np.ascontiguousarray(x)
    n = x.shape[-1]
    (size, *_), *panels = _passes(n, x.itemsize)
    if not panels:
        return _collect(walsh_hadamard(x), at, scale)
    _blocks(x.reshape(-1), size, size, 1.0, work=x.size // _AT_A_TIME)
    return _collect_last(x, panels, at, scale)


def sampled_hadamard(
    x: NDArray[Any], signs: NDArray[np.int8] | None, n: int, at: NDArray[np.int32], scale: float,
    room: Callable[[], NDArray[Any]],
) -> NDArray[Any]:  # fmt: skip
    x, real = np.ascontiguousarray(x), x.dtype.type
    flips = _NO_SIGNS if signs is None else signs
    lines = (len(x) if signs is None else len(at)) * x.shape[1]
    work = lines * n // _AT_A_TIME
    if n * x.itemsize <= _SHORT and threads(work) == 1 and lines == len(at) * x.shape[1]:
        y = np.empty((len(at), x.shape[1], at.shape[-1]), x.dtype)
        _sampled_alone(x, flips, n, at, y, real(n**-0.5), real(scale))
        return y
    padded = room()
    (size, *_), *panels = _passes(n, x.itemsize)
    _blocks_of_padded(x, flips, padded, min(n, size), real(1.0 if panels else n**-0.5), work=work)
    return _collect_last(padded, panels, at, scale)


def spread_hadamard_collect(
    terms: Sequence[tuple[NDArray[np.int32], NDArray[Any]]], room: NDArray[Any], at: NDArray[np.int32], scale: float
) -> NDArray[Any]:
    n, entries = room.shape[-1], sum(values.shape[-1] for _, values in terms)
    h = n // _PARTS
    if _LEAST <= h * room.itemsize <= _NEAR and _PARTS * entries <= n // 2:
        y, real = np.empty((len(at), room.shape[1], at.shape[-1]), room.dtype), room.dtype.type
        lines = y.shape[0] * y.shape[1]
        work = lines * n // _AT_A_TIME
        workers = min(threads(work), lines * _PARTS)
        blocks = room.reshape(-1)[: workers * h].reshape(workers, h)
        _collect_blocks(_join(terms), blocks, at, y, n, (real(n**-0.5), real(scale)), work=work)
        return y
    panels = _sparse_blocks(terms, 1.0, room)
    return _collect_last(room, panels, at, scale)


def _join(
    terms: Sequence[tuple[NDArray[np.int32], NDArray[Any]]],
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.int64]]:
    """The places and values of all terms, one after the other, and the start of each term."""
    at, values = terms[0]
    if len(terms) > 1:
        at, values = (np.concatenate(parts, axis=-1) for parts in zip(*terms, strict=True))
    return at, np.ascontiguousarray(values), np.cumsum([0, *(values.shape[-1] for _, values in terms)])


def _sparse_blocks(
    terms: Sequence[tuple[NDArray[np.int32], NDArray[Any]]], scale: float, out: NDArray[Any]
) -> list[tuple[int, int, int]]:
    """Do the first pass over `out`, the sum of these terms times scale, and return the other passes."""
    n, real = out.shape[-1], out.dtype.type
    at, values, starts = _join(terms)
    (size, *_), *panels = _passes(n, out.itemsize)
    last = real(1.0 if panels else n**-0.5)
    h = min(n, size)
    _blocks_of_sparse(at, values, starts, real(scale), out, h, last, work=(out.size - h) // _AT_A_TIME)
    return panels


def _collect_last(
    x: NDArray[Any], panels: list[tuple[int, int, int]], at: NDArray[np.int32], scale: float
) -> NDArray[Any]:
    """Do the other passes of a transform of x, and return scale times the entries at places `at`."""
    work, shared = x.size // _AT_A_TIME, len(x) < len(at)  # what operators share is transformed once, and then sampled
    for number, place in enumerate(panels if shared else panels[:-1], 1):
        _panels(x.reshape(-1), *place, x.shape[-1] ** -0.5 if number == len(panels) else 1.0, work=work)
    if shared or not panels:
        return _collect(x, at, scale)
    _, h, width = panels[-1]
    y, real = np.empty((len(at), *x.shape[1:-1], at.shape[-1]), x.dtype), x.dtype.type
    _collect_panels(x, at, y, h, width, real(x.shape[-1] ** -0.5), real(scale), work=work)
    return y


def _collect(x: NDArray[Any], at: NDArray[np.int32], scale: float) -> NDArray[Any]:
    y = np.empty((len(at), x.shape[1], at.shape[-1]), x.dtype)
    _collect_entries(x, at, y, x.dtype.type(scale), work=y.size - y.shape[-1])
    return y
