"""GPU kernels; `Kernels` documents the functions, and `numpy_kernels` defines their results. The CUDA source below is
compiled at the first launch. Every thread owns the entries that it writes, and the order of each floating-point sum
depends on sizes only; atomics count integers only. So results do not depend on the schedule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import cupy
import numpy as np
from cupyx.scipy import fft

from sketchbench.kernels import WIDE, Array, Entries, index_type, launch
from sketchbench.kernels.wide import distinct_wide, times_wide

NAME = "cupy"
xp = cupy

_THREADS = 256  # threads of a block
_BLOCKS = 2**20  # most blocks of a kernel whose threads stride
_MOST_BLOCKS = 2**31 - 1  # of any kernel, by CUDA
_BUSY = 2**11  # blocks that keep any GPU busy

_CODE = r"""
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define HOLDS(...)  // after a pointer: how many entries it leads to, which `launch` compares

// `index` takes every value below `size` once in the whole grid.
#define EACH(index, size)                                                              \
    for (i64 index = (i64)blockIdx.x * blockDim.x + threadIdx.x; index < (size);       \
         index += (i64)gridDim.x * blockDim.x)

// `Number` is the type of row and column numbers: int, or i64 where sizes exceed 2^31.

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

// Conversions of a random word into `COUNT` entries, stored as `Out`, or used as a `real` at once.
//
// Where a dense matrix is applied, a warp takes 128 columns of a row at a time, four to a lane:
// word w serves column `column(w, lane)`. Four normals come from one counter, the lane's own; 128
// signs come from one counter too, so each lane draws for another row or for other columns, and
// `share` tells all lanes what lane `source` has drawn. `LINES` rows are multiplied together.
struct Word {
    typedef u32 Out;
    enum { COUNT = 1 };
    template <class real>
    static __device__ real entry(u32 word, int) {
        return word;
    }
};
struct Sign {
    typedef signed char Out;
    enum { COUNT = 32, LINES = 4 };
    template <class real>
    static __device__ real entry(u32 word, int bit) {
        return word >> bit & 1 ? real(1) : real(-1);
    }
    static __device__ u32 share(u32 word, int source) { return __shfl_sync(~0u, word, source); }
    static __device__ int column(int word, int lane) { return 32 * word + lane; }
};
struct Normal {
    typedef double Out;
    enum { COUNT = 1, LINES = 1 };
    template <class real>
    static __device__ real entry(u32 word, int) {
        return (real)normcdfinv((word + 0.5) * 0x1p-32);
    }
    static __device__ u32 share(u32 word, int) { return word; }
    static __device__ int column(int word, int lane) { return 4 * lane + word; }
};

// The sum over LANES threads, a power of two up to 32 or all THREADS of a block, by a fixed tree, in
// the first of them. All threads of a warp take part, or of a block.
template <int LANES, class real>
__device__ real reduce(real sum) {
    for (int half = LANES < 32 ? LANES / 2 : 16; half; half /= 2)
        sum += __shfl_down_sync(~0u, sum, half);
    if constexpr (LANES > 32) {
        __shared__ real sums[LANES / 32];
        __syncthreads();  // the last call's sums have been read
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
        __syncthreads();
        sum = 0;
        for (int warp = 0; warp < LANES / 32; ++warp) sum += sums[warp];
    }
    return sum;
}

// out[t, k, :]: rows `row` to `row + rows` of operators `first`, first + 1, ...; a thread turns
// one counter, four words, into entries, and stores 16 bytes at a time where they are aligned.
template <class Entry>
__global__ void draw(u64 key, i64 stream, i64 first, i64 operators, i64 row, i64 rows, i64 d,
                     typename Entry::Out* out HOLDS(operators * rows * d)) {
    typedef typename Entry::Out Out;
    enum { COUNT = Entry::COUNT, WIDTH = 16 / sizeof(Out) };
    union Pack {
        uint4 bits;
        Out entries[WIDTH];
    };
    const i64 step = 4 * COUNT, calls = (d + step - 1) / step;
    EACH(index, operators * rows * calls) {
        const i64 line = index / calls, call = index % calls;
        u32 c[4] = {(u32)call, (u32)(row + line % rows), (u32)(first + line / rows), (u32)stream};
        philox(c, key);
        Out* target = out + line * d + call * step;
#pragma unroll
        for (int start = 0; start < 4 * COUNT; start += WIDTH) {
            const i64 left = d - call * step - start;
            Pack pack;
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) {
                const int number = start + i;
                pack.entries[i] =
                    Entry::template entry<Out>(c[number / COUNT], number % COUNT);
            }
            if (d % WIDTH == 0 && left > 0)
                *(uint4*)(target + start) = pack.bits;
            else
#pragma unroll
                for (int i = 0; i < WIDTH; ++i)
                    if (i < left) target[start + i] = pack.entries[i];
        }
    }
}

__global__ void polynomial_hash(const u32* coefficients HOLDS(lines * powers), i64 lines, i64 powers,
                                i64 points, u32* out HOLDS(lines * points)) {
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
__global__ void distinct(const u32* words HOLDS(operators * s * d), i64 operators, i64 s, i64 d,
                         i64 b, int* out HOLDS(operators * s * d)) {
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

// LANES threads sum one bucket: entries starts[bucket] to starts[bucket + 1].
// `stride` leads from one operator's vectors to the next one's, 0 if they share them.
template <class real, int LANES, class Number = int>
__global__ void scatter(const Number* columns HOLDS(signs), const signed char* signs HOLDS(columns),
                        const i64* starts HOLDS(operators * b + 1),
                        const real* x HOLDS((operators - 1) * stride + vectors * d), i64 stride,
                        i64 operators, i64 vectors, i64 d, i64 b,
                        real* y HOLDS(operators * vectors * b)) {
    const i64 index = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const bool inside = index < operators * vectors * b;  // outside, a thread only takes part in `reduce`
    const i64 t = index / (vectors * b), n = index / b % vectors, bucket = t * b + index % b;
    const i64 lane = threadIdx.x % LANES, stop = inside ? starts[bucket + 1] : 0;
    const real* source = x + t * stride + n * d;
    real sum = 0;
#pragma unroll 4
    for (i64 e = inside ? starts[bucket] + lane : 0; e < stop; e += LANES)
        sum += signs[e] * source[columns[e]];
    sum = reduce<LANES>(sum);
    if (inside && lane == 0) y[index] = sum;
}

template <class real, class Number = int>
__global__ void collect(const real* v HOLDS((operators - 1) * stride + vectors * d), i64 stride,
                        const Number* at HOLDS(operators * indexed * k), i64 operators, i64 vectors,
                        i64 indexed, i64 k, i64 d, real scale,
                        real* out HOLDS(operators * vectors * k)) {
    EACH(index, operators * vectors * k) {
        const i64 t = index / (vectors * k), n = index / k % vectors;
        const Number place = at[(t * indexed + n % indexed) * k + index % k];
        out[index] = v[t * stride + n * d + place] * scale;
    }
}

// The first entry of a run of equal places adds up the run.
template <class real, class Number = int>
__global__ void spread(const Number* at HOLDS(operators * indexed * k),
                       const real* values HOLDS(operators * vectors * k), i64 operators,
                       i64 vectors, i64 indexed, i64 k, i64 d,
                       real* out HOLDS(operators * vectors * d)) {
    EACH(index, operators * vectors * k) {
        const i64 t = index / (vectors * k), n = index / k % vectors, i = index % k;
        const Number* places = at + (t * indexed + n % indexed) * k;
        if (i == 0 || places[i] != places[i - 1]) {
            real sum = out[(t * vectors + n) * d + places[i]];
            for (i64 e = i; e < k && places[e] == places[i]; ++e) sum += values[index + e - i];
            out[(t * vectors + n) * d + places[i]] = sum;
        }
    }
}

template <class real, class Number = int>
__global__ void gather(const Number* buckets HOLDS(operators * s * d),
                       const signed char* signs HOLDS(operators * s * d),
                       const real* y HOLDS((operators - 1) * stride + vectors * b), i64 stride,
                       i64 operators, i64 vectors, i64 s, i64 d, i64 b,
                       real* x HOLDS(operators * vectors * d)) {
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

// As `gather`, with the median by insertion sort of at most VALUES values; NaN if any value is.
template <class real, class Number = int>
__global__ void median(const Number* buckets HOLDS(operators * s * d),
                       const signed char* signs HOLDS(operators * s * d),
                       const real* y HOLDS((operators - 1) * stride + vectors * b), i64 stride,
                       i64 operators, i64 vectors, i64 s, i64 d, i64 b,
                       real* x HOLDS(operators * vectors * d)) {
    EACH(index, operators * vectors * d) {
        const i64 t = index / (vectors * d), n = index / d % vectors, j = index % d;
        const real* source = y + t * stride + n * b;
        real v[VALUES];
        for (int r = 0; r < s; ++r) {
            const i64 e = (t * s + r) * d + j;
            const real value = signs[e] * source[buckets[e]];
            int place = r;
            for (; place && !(v[place - 1] <= value) && value == value; --place)
                v[place] = v[place - 1];
            v[place] = value;
        }
        const real upper = v[s / 2], last = v[s - 1];
        x[index] = last != last ? last : s % 2 ? upper : (v[s / 2 - 1] + upper) / 2;
    }
}

// A thread of `hadamard` holds 16 entries of a tile that differ in bits `bit` to `bit + 4` of their
// number. Entry i of them lies at seat(thread, bit) ^ seat(i << bit) in shared memory, where a warp
// meets no bank twice, whichever the bits.
__device__ int seat(int number) { return number ^ (number >> 4 & 31); }
__device__ int seat(int thread, int bit) {
    return seat(thread >> bit << (bit + 4) | (thread & ((1 << bit) - 1)));
}

// The stages from `low` to `high` of the butterfly that combine these 16 entries.
template <class real>
__device__ void butterfly(real (&v)[16], int bit, int low, int high) {
#pragma unroll
    for (int half = 1; half < 16; half *= 2, ++bit)
        if (low <= bit && bit < high)
#pragma unroll
            for (int i = 0; i < 16; ++i)
                if (!(i & half)) {
                    const real upper = v[i], lower = v[i + half];
                    v[i] = upper + lower;
                    v[i + half] = upper - lower;
                }
}

// Stages `low` to `high` of the butterfly, in place, on tiles of 32 KiB, one a block: 2^columns
// adjacent entries in each of the tile's rows, which are 2^h entries apart. Stages count bits of
// the number within the tile. Global memory is read and written with the highest bits in one
// thread, so contiguously; all other stages pass through shared memory, four at a time.
template <class real>
__global__ void __launch_bounds__(2048 / sizeof(real), 4)
hadamard(real* x HOLDS(size), i64 size, i64 columns, i64 h, i64 low, i64 high, real scale) {
    enum { LOG = sizeof(real) == 4 ? 13 : 12, TOP = LOG - 4 };
    __shared__ real tile[1 << LOG];
    const auto place = [=](int number) {
        return ((i64)(number >> columns) << h) + (number & ((1 << columns) - 1));
    };
    const int thread = threadIdx.x, middle = min((int)high, (int)TOP);
    const i64 block = blockIdx.x;
    const int left = (int)min(size - (block << LOG), (i64)1 << LOG);  // the last tile may be short
    const i64 outer = block >> (h - columns), inner = block - (outer << (h - columns));
    real* corner = x + (outer << (h + LOG - columns)) + (inner << columns) + place(thread);
    real v[16];
#pragma unroll
    for (int i = 0; i < 16; ++i)
        v[i] = thread + (i << TOP) < left ? corner[place(i << TOP)] : real(0);
    butterfly(v, TOP, low, high);

    int bit = TOP;
    const auto exchange = [&](int next) {  // no thread overwrites what another has yet to read
#pragma unroll
        for (int i = 0; i < 16; ++i) tile[seat(thread, bit) ^ seat(i << bit)] = v[i];
        __syncthreads();
        bit = next;
#pragma unroll
        for (int i = 0; i < 16; ++i) v[i] = tile[seat(thread, bit) ^ seat(i << bit)];
    };
    for (int next = low; next < middle; next += 4) {
        exchange(next);
        butterfly(v, next, low, middle);
    }
    if (bit != TOP) exchange(TOP);
#pragma unroll
    for (int i = 0; i < 16; ++i)
        if (thread + (i << TOP) < left) corner[place(i << TOP)] = v[i] * scale;
}

// The order of magnitudes is that of their bit patterns.
__device__ u64 magnitude(float v) { return __float_as_uint(v) & 0x7FFFFFFFu; }
__device__ u64 magnitude(double v) { return __double_as_longlong(v) & 0x7FFFFFFFFFFFFFFFu; }

// Whether `blocks` blocks that count in `finished` have come here: true in the last one, which sees
// what the others wrote, and resets the count. All threads of a block call it.
__device__ bool last_to_finish(u32& finished, i64 blocks) {
    __shared__ int last;
    __syncthreads();  // what this block wrote comes before the fence
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&finished, 1u) == blocks - 1;
        __threadfence();
        if (last) finished = 0;
    }
    __syncthreads();
    return last;
}

// The inclusive sums of the threads' values, in the order of threads, or in the opposite one.
__device__ i64 scan(i64 value, bool backwards) {
    __shared__ i64 sums[THREADS];
    const int thread = backwards ? THREADS - 1 - threadIdx.x : threadIdx.x;
    for (int step = 1; step < THREADS; step *= 2) {
        sums[thread] = value;
        __syncthreads();
        if (thread >= step) value += sums[thread - step];
        __syncthreads();
    }
    return value;
}

// Finds the bin of the left-th largest of the counted magnitudes, appends its bits to `prefix`, and
// subtracts from `left` the number of magnitudes in higher bins. A thread takes a run of bins.
__device__ void descend(const u32 (&bins)[BINS], i64 shift, u64& prefix, i64& left) {
    enum { RUN = BINS / THREADS };
    const int thread = threadIdx.x;
    const u32* run = bins + thread * RUN;
    i64 own = 0;
    for (int i = 0; i < RUN; ++i) own += run[(i + thread) % RUN];  // a warp meets no bank twice
    const i64 wanted = left;
    i64 rest = wanted - (scan(own, true) - own);
    if (0 < rest && rest <= own) {
        int i = RUN - 1;
        for (; run[i] < rest; --i) rest -= run[i];
        prefix |= (u64)(thread * RUN + i) << shift;
        left = rest;
    }
    __syncthreads();
}

// Radix selection of the k-th largest magnitude of each row n, the highest bits first. `histogram`
// counts the bits from `shift` to `high` of the magnitudes that agree with prefix[n] above them, and
// the last block of a row descends: k - left[n] magnitudes are then in higher bins than prefix[n].
template <class real>
__global__ void histogram(const real* __restrict__ x HOLDS(prefix * d), i64 d, i64 parts, i64 high,
                          i64 shift, i64 k, u64* prefix HOLDS(blocks / parts), i64* left HOLDS(prefix),
                          u32* counts HOLDS(prefix * BINS * (parts > 1)), u32* finished HOLDS(prefix)) {
    __shared__ u32 bins[BINS];
    __shared__ u64 known;
    __shared__ i64 wanted;
    const i64 n = blockIdx.x / parts, part = blockIdx.x % parts;
    const bool first = high == 8 * sizeof(real) - 1;
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) bins[i] = 0;
    if (threadIdx.x == 0) {
        known = first ? 0 : prefix[n];
        wanted = first ? k : left[n];
    }
    __syncthreads();
    const u64 agreed = known, below = 1ull << (high - shift);
#pragma unroll 4
    for (i64 j = part * blockDim.x + threadIdx.x; j < d; j += parts * blockDim.x) {
        const u64 bin = (magnitude(x[n * d + j]) ^ agreed) >> shift;
        if (bin < below) atomicAdd(&bins[bin], 1u);
    }
    __syncthreads();
    if (parts > 1) {
        for (int i = threadIdx.x; i < BINS; i += blockDim.x)
            if (bins[i]) atomicAdd(&counts[n * BINS + i], bins[i]);
        if (!last_to_finish(finished[n], parts)) return;
        for (int i = threadIdx.x; i < BINS; i += blockDim.x) {
            bins[i] = counts[n * BINS + i];
            counts[n * BINS + i] = 0;
        }
        __syncthreads();
    }
    descend(bins, shift, known, wanted);
    if (threadIdx.x == 0) {
        prefix[n] = known;
        left[n] = wanted;
    }
}

// Finds the bits below `shift`, and where `compact` begins to write. A warp takes `span` entries of a
// row; it counts those above the prefix, and keeps those that agree with it, its candidates. The last
// block of a row descends among the candidates of all spans, and leaves in threshold[n] the k-th
// largest magnitude, in ties[n] how many of this magnitude are taken, and in before[n, :, s] how
// many entries of the spans before s are above the threshold, and equal to it.
template <class real>
__global__ void settle(const real* x HOLDS(threshold * d), i64 d, i64 parts, i64 span, i64 spans,
                       i64 shift, u64* threshold HOLDS(blocks / parts), i64* ties HOLDS(threshold),
                       real* candidates HOLDS(threshold * d * (shift > 0)),
                       i64* before HOLDS(2 * threshold * spans), u32* finished HOLDS(threshold)) {
    enum { WARPS = THREADS / 32 };
    __shared__ u32 bins[BINS];
    __shared__ u64 limit;
    __shared__ i64 most;
    const i64 n = blockIdx.x / parts, warp = threadIdx.x / 32;
    const u32 lane = threadIdx.x % 32, earlier = (1u << lane) - 1;
    const u64 prefix = threshold[n] >> shift;
    i64 *above = before + 2 * n * spans, *equal = above + spans;
    if (const i64 s = blockIdx.x % parts * WARPS + warp; s < spans) {
        const i64 start = s * span, stop = min(d, start + span);
        i64 higher = 0, kept = 0;
#pragma unroll 4
        for (i64 j = start + lane; j - lane < stop; j += 32) {  // all lanes vote, inside or not
            const real value = j < stop ? x[n * d + j] : real(0);
            const u64 bits = magnitude(value) >> shift;
            const u32 agree = __ballot_sync(~0u, j < stop && bits == prefix);
            higher += __popc(__ballot_sync(~0u, j < stop && bits > prefix));
            if (shift && agree >> lane & 1)
                candidates[n * d + start + kept + __popc(agree & earlier)] = value;
            kept += __popc(agree);
        }
        if (lane == 0) {
            above[s] = higher;
            equal[s] = kept;
        }
    }
    if (!last_to_finish(finished[n], parts)) return;
    if (threadIdx.x == 0) {
        limit = threshold[n];
        most = ties[n];
    }
    for (i64 high = shift, low; high; high = low) {
        low = max(high - BITS, (i64)0);
        for (int i = threadIdx.x; i < BINS; i += blockDim.x) bins[i] = 0;
        __syncthreads();
        const u64 agreed = limit, below = 1ull << (high - low);
        for (i64 s = warp; s < spans; s += WARPS)
            for (i64 e = lane; e < equal[s]; e += 32) {
                const u64 bin = (magnitude(candidates[n * d + s * span + e]) ^ agreed) >> low;
                if (bin < below) atomicAdd(&bins[bin], 1u);
            }
        __syncthreads();
        descend(bins, low, limit, most);
    }
    __syncthreads();
    for (i64 s = warp; shift && s < spans; s += WARPS) {
        const i64 count = __shfl_sync(~0u, lane == 0 ? equal[s] : (i64)0, 0);
        int higher = 0, same = 0;
        for (i64 e = lane; e < count; e += 32) {
            const u64 value = magnitude(candidates[n * d + s * span + e]);
            higher += value > limit;
            same += value == limit;
        }
        higher = reduce<32>(higher);
        same = reduce<32>(same);
        if (lane == 0) {
            above[s] += higher;
            equal[s] = same;
        }
    }
    __syncthreads();
    i64 sum_above = 0, sum_equal = 0;  // in the last thread
    for (i64 start = 0; start < spans; start += THREADS) {
        const i64 s = start + threadIdx.x;
        const bool inside = s < spans, last = threadIdx.x == THREADS - 1;
        const i64 own_above = inside ? above[s] : 0, own_equal = inside ? equal[s] : 0;
        const i64 up_above = scan(own_above + sum_above * (threadIdx.x == 0), false);
        const i64 up_equal = scan(own_equal + sum_equal * (threadIdx.x == 0), false);
        if (inside) {
            above[s] = up_above - own_above;
            equal[s] = up_equal - own_equal;
        }
        __shared__ i64 sums[2];
        if (last) {
            sums[0] = up_above;
            sums[1] = up_equal;
        }
        __syncthreads();
        sum_above = sums[0];
        sum_equal = sums[1];
    }
    if (threadIdx.x == 0) {
        threshold[n] = limit;
        ties[n] = most;
    }
}

// Writes the indices of the entries above the threshold, and of the first `ties` equal ones.
template <class real, class Number = int>
__global__ void compact(const real* __restrict__ x HOLDS(rows * d), i64 rows, i64 d, i64 span, i64 spans,
                        const u64* threshold HOLDS(rows), const i64* before HOLDS(2 * rows * spans),
                        const i64* ties HOLDS(rows), i64 k, Number* out HOLDS(rows * k)) {
    const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32, n = warp / spans, s = warp % spans;
    if (n >= rows) return;
    const i64 start = s * span, stop = min(d, start + span);
    const u32 lane = threadIdx.x % 32, earlier = (1u << lane) - 1;
    const u64 limit = threshold[n];
    const i64 most = ties[n];
    i64 above = before[2 * n * spans + s], equal = before[(2 * n + 1) * spans + s];
#pragma unroll 4
    for (i64 j = start + lane; j - lane < stop; j += 32) {  // all lanes vote, inside or not
        const u64 value = j < stop ? magnitude(x[n * d + j]) : 0;
        const bool is_above = j < stop && value > limit, is_equal = j < stop && value == limit;
        const u32 all_above = __ballot_sync(~0u, is_above);
        const u32 all_equal = __ballot_sync(~0u, is_equal);
        const i64 rank = equal + __popc(all_equal & earlier);
        if (is_above || (is_equal && rank < most))
            out[n * k + above + __popc(all_above & earlier) + min(rank, most)] = (Number)j;
        above += __popc(all_above);
        equal += __popc(all_equal);
    }
}

// Inner products: a block sums its part of a row, and the last block of the row the parts.
template <class real>
__global__ void inner(const real* u HOLDS(out * d), const real* v HOLDS(out * d), i64 d, i64 parts,
                      double* sums HOLDS(blocks), u32* finished HOLDS(out),
                      real* out HOLDS(blocks / parts)) {
    const i64 n = blockIdx.x / parts, part = blockIdx.x % parts;
    double sum = 0;
    for (i64 j = part * blockDim.x + threadIdx.x; j < d; j += parts * blockDim.x)
        sum += (double)u[n * d + j] * (double)v[n * d + j];
    double total = reduce<THREADS>(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
    if (!last_to_finish(finished[n], parts)) return;
    sum = 0;
    for (i64 other = threadIdx.x; other < parts; other += blockDim.x) sum += sums[n * parts + other];
    total = reduce<THREADS>(sum);
    if (threadIdx.x == 0) out[n] = (real)total;
}

// y = E x: a block sums its part of LINES rows of E for VECTORS vectors.
template <class Entry, class real, int VECTORS>
__global__ void __launch_bounds__(THREADS, 2)
dense_sketch(u64 key, i64 stream, i64 first, i64 operators, i64 rows, i64 parts,
             const real* x HOLDS((operators - 1) * stride + vectors * d), i64 stride, i64 vectors,
             i64 d, real* y HOLDS(parts * operators * vectors * rows)) {
    enum { LINES = Entry::LINES, CALLS = 32 / LINES, GROUPS = CALLS * Entry::COUNT / 32 };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const i64 heights = (rows + LINES - 1) / LINES, widths = (vectors + VECTORS - 1) / VECTORS;
    const i64 k = blockIdx.x % heights * LINES, n = blockIdx.x / heights % widths * VECTORS;
    const i64 t = blockIdx.x / (heights * widths) % operators;
    const i64 part = blockIdx.x / (heights * widths * operators);
    const real* source = x + t * stride + n * d;
    real sum[LINES][VECTORS] = {};
    for (i64 tile = part * warps + warp; tile * GROUPS * 128 < d; tile += parts * warps) {
        u32 c[4] = {(u32)(tile * CALLS + lane % CALLS), (u32)(k + lane / CALLS), (u32)(first + t),
                    (u32)stream};
        philox(c, key);
        for (int group = 0; group < GROUPS; ++group)
#pragma unroll
            for (int word = 0; word < 4; ++word) {
                const i64 j = (tile * GROUPS + group) * 128 + Entry::column(word, lane);
                real value[VECTORS];
#pragma unroll
                for (int v = 0; v < VECTORS; ++v)
                    value[v] = j < d && n + v < vectors ? source[v * d + j] : real(0);
#pragma unroll
                for (int line = 0; line < LINES; ++line) {
                    const u32 bits = Entry::share(c[word], line * CALLS + group);
                    const real entry = Entry::template entry<real>(bits, lane);
#pragma unroll
                    for (int v = 0; v < VECTORS; ++v) sum[line][v] += entry * value[v];
                }
            }
    }
#pragma unroll
    for (int line = 0; line < LINES; ++line)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            const real total = reduce<THREADS>(sum[line][v]);
            if (threadIdx.x == 0 && k + line < rows && n + v < vectors)
                y[((part * operators + t) * vectors + n + v) * rows + k + line] = total;
        }
}

// x = E' y: a warp sums its part of the rows, `span` of them, of 128 columns of E.
template <class Entry, class real, int VECTORS>
__global__ void dense_desketch(u64 key, i64 stream, i64 first, i64 operators, i64 rows, i64 parts,
                               i64 span, const real* y HOLDS((operators - 1) * stride + vectors * rows),
                               i64 stride, i64 vectors, i64 d,
                               real* x HOLDS(parts * operators * vectors * d)) {
    enum { LINES = Entry::COUNT, CALLS = 32 / LINES };
    const i64 tiles = (d + 127) / 128, widths = (vectors + VECTORS - 1) / VECTORS;
    const i64 index = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const i64 tile = index % tiles, n = index / tiles % widths * VECTORS;
    const i64 t = index / (tiles * widths) % operators;
    const i64 part = index / (tiles * widths * operators);
    if (part >= parts) return;
    const int lane = threadIdx.x % 32;
    const i64 stop = min(rows, (part + 1) * span);
    const real* source = y + t * stride + n * rows;
    real sum[4][VECTORS] = {};
    for (i64 k = part * span; k < stop; k += LINES) {
        u32 c[4] = {(u32)(tile * CALLS + lane % CALLS), (u32)(k + lane / CALLS), (u32)(first + t),
                    (u32)stream};
        philox(c, key);
        for (int line = 0; line < LINES && k + line < stop; ++line) {
            real value[VECTORS];
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                value[v] = n + v < vectors ? source[v * rows + k + line] : real(0);
#pragma unroll
            for (int word = 0; word < 4; ++word) {
                const real entry =
                    Entry::template entry<real>(Entry::share(c[word], line), lane);
#pragma unroll
                for (int v = 0; v < VECTORS; ++v) sum[word][v] += entry * value[v];
            }
        }
    }
#pragma unroll
    for (int word = 0; word < 4; ++word)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            const i64 j = tile * 128 + Entry::column(word, lane);
            if (j < d && n + v < vectors)
                x[((part * operators + t) * vectors + n + v) * d + j] = sum[word][v];
        }
}
"""

_REAL = {"float32": "float", "float64": "double"}
_ENTRIES = {"gaussian": "Normal", "signs": "Sign"}
_LINES = {"gaussian": 1, "signs": 4}  # as in the source: rows per block of `dense_sketch`
_VECTORS = 4  # vectors that one generated entry of a dense matrix multiplies at a time
# For a bucket of `scatter` with at least so many entries on average: so many threads, each with two entries or more,
# since a thread without an entry waits for the others.
_LANES = {0: 1, 8: 4, 16: 8, 32: 16, 64: 32, 1024: _THREADS}
_TILE = {"float32": 13, "float64": 12}  # as in the source: log2 of a tile of `hadamard`
_STAGES = 8  # most stages of `hadamard` in a strided pass, whose runs are then 128 bytes long
_VALUES = 64  # most values that `median` can sort
_BITS, _BINS = 13, 2**13  # of magnitudes that a histogram tells apart; more bins exceed 48 KiB of shared memory
_SPAN, _SPANS = 2**10, 2**12  # least entries of a warp in `settle` and `compact`; most warps for a row
_CONSTANTS = {"THREADS": _THREADS, "VALUES": _VALUES, "BITS": _BITS, "BINS": _BINS}
_NUMBERED = ("collect", "spread", "gather", "median", "compact")  # kernels of row and column numbers, but `scatter`
_OTHERS = ("hadamard", "histogram", "settle", "inner")
_NAMES = [
    *(f"draw<{entry}>" for entry in ("Word", "Sign", "Normal")),
    *("polynomial_hash", "distinct"),
    *(f"scatter<{real}, {lanes}>" for real in _REAL.values() for lanes in _LANES.values()),
    *(f"{name}<{real}>" for name in (*_NUMBERED, *_OTHERS) for real in _REAL.values()),
    *(
        f"{name}<{entry}, {real}, {vectors}>"
        for name in ("dense_sketch", "dense_desketch")
        for entry in _ENTRIES.values()
        for real in _REAL.values()
        for vectors in (1, _VECTORS)
    ),
]
_WIDE_NAMES = [  # of 64 bits
    *(f"scatter<{real}, {lanes}, i64>" for real in _REAL.values() for lanes in _LANES.values()),
    *(f"{name}<{real}, i64>" for name in _NUMBERED for real in _REAL.values()),
]
_OPTIONS = ("--std=c++17", *(f"-D{name}={value}" for name, value in _CONSTANTS.items()))
_MODULES = [cupy.RawModule(code=_CODE, options=_OPTIONS, name_expressions=names) for names in (_NAMES, _WIDE_NAMES)]


@cache
def _kernel(name: str) -> Any:
    """A compiled kernel, by name; the first call compiles all kernels of its module."""
    return _MODULES[name in _WIDE_NAMES].get_function(name)


@cache
def _launches(name: str) -> launch.Launches:
    return launch.Launches(name, launch.parameters(_CODE, name, _CONSTANTS))


def _run(name: str, blocks: int, *arguments: Any, threads: int = _THREADS) -> None:
    """Run a kernel with arguments that it takes. CuPy passes arrays as pointers, and Python's integers as int64."""
    if blocks > _MOST_BLOCKS:
        raise ValueError(f"{name}: {blocks} blocks exceed the {_MOST_BLOCKS} of a launch; use kernels=numba")
    if blocks:
        _launches(name).check(blocks, arguments, cupy.cuda.runtime.getDevice())
        _kernel(name)((blocks,), (threads,), arguments)


def _launch(name: str, size: int, *arguments: Any) -> None:
    _run(name, min(_ratio(size, _THREADS), _BLOCKS), *arguments)


def _instance(name: str, numbers: Array, *parameters: Any) -> str:
    """The name of a kernel's instance for this type of row and column numbers."""
    wide = () if numbers.dtype == np.int32 else ("i64",)
    return f"{name}<{', '.join(map(str, (*parameters, *wide)))}>"


def _ratio(size: int, step: int) -> int:
    """size / step, rounded up."""
    return -(-size // step)


def _draw(entry: str, step: int, key: int, stream: int, first: int, row: int, out: Array) -> Array:
    """Fill `out` (T, rows, d) with random entries; one call of the generator makes `step` of them."""
    operators, rows, d = out.shape
    size = operators * rows * _ratio(d, step)
    place = (np.uint64(key), stream, first, operators, row, rows, d)
    _launch(f"draw<{entry}>", size, *place, out)
    return out


def random_words(key: int, stream: int, first: int, operators: int, count: int) -> Array:
    out = cupy.empty((operators, 1, count), dtype=np.uint32)
    return _draw("Word", 4, key, stream, first, 0, out)[:, 0]


def random_integers(key: int, stream: int, first: int, operators: int, count: int, bound: int) -> Array:
    return integer_rows(key, stream, first, operators, 0, 1, count, bound)[:, 0]


def random_subset(key: int, stream: int, first: int, operators: int, count: int, population: int) -> Array:
    words = random_words(key, stream, first, operators, 2 * population).astype(np.uint64)
    wide = words[:, :population] << np.uint64(32) | words[:, population:]
    order = cupy.argpartition(wide, count - 1, axis=-1)
    return cupy.sort(order[:, :count], axis=-1).astype(index_type(population))


def integer_rows(key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int, bound: int) -> Array:
    share = 1 if bound <= WIDE else 2
    words = cupy.empty((operators, rows, share * d), dtype=np.uint32)
    words = _draw("Word", 4, key, stream, first, row, words).astype(np.uint64)
    if bound > WIDE:
        return times_wide(words[..., 0::2] << np.uint64(32) | words[..., 1::2], bound)
    return (words * np.uint64(bound) >> np.uint64(32)).astype(np.int32)


def sign_rows(key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int) -> Array:
    out = cupy.empty((operators, rows, d), dtype=np.int8)
    return _draw("Sign", 128, key, stream, first, row, out)


def gaussian_rows(key: int, stream: int, first: int, operators: int, row: int, rows: int, d: int) -> Array:
    out = cupy.empty((operators, rows, d), dtype=np.float64)
    return _draw("Normal", 4, key, stream, first, row, out)


def polynomial_hash(coefficients: Array, points: int) -> Array:
    operators, rows, powers = coefficients.shape
    out = cupy.empty((operators, rows, points), dtype=np.uint32)
    coefficients = cupy.ascontiguousarray(coefficients)
    _launch("polynomial_hash", out.size, coefficients, operators * rows, powers, points, out)
    return out


def distinct(words: Array, b: int) -> Array:
    if b > WIDE:
        return distinct_wide(cupy, words, b)
    operators, s, d = words.shape
    out = cupy.empty(words.shape, dtype=np.int32)
    _launch("distinct", operators * d, cupy.ascontiguousarray(words), operators, s, d, b, out)
    return out


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A stack of sparse matrices by column: buckets and signs, (T, s, d) each."""

    buckets: Array  # int32 or int64 (T, s, d)
    signs: Array  # int8 (T, s, d)
    b: int

    @cached_property
    def by_bucket(self) -> tuple[Array, Array, Array]:
        """The entries sorted by bucket, then by r, then by column: columns, int32 (T s d), or int64 for d > 2^31;
        signs, int8 (T s d); and starts, int64 (T b + 1). Bucket k of operator t begins at entry starts[t b + k]."""
        operators, _, d = self.buckets.shape
        offsets = self.b * cupy.arange(operators, dtype=np.int64)[:, None, None]
        count = operators * self.b
        keys = cupy.where(self.signs != 0, self.buckets + offsets, count).ravel()  # dropped: last
        order = cupy.argsort(keys)  # CuPy's sort is stable
        starts = cupy.searchsorted(keys[order], cupy.arange(count + 1, dtype=np.int64))
        return (order % d).astype(index_type(d)), self.signs.ravel()[order], starts


def prepare(buckets: Array, signs: Array, b: int) -> SparseMatrix:
    return SparseMatrix(cupy.ascontiguousarray(buckets), cupy.ascontiguousarray(signs), b)


def scatter(matrix: SparseMatrix, x: Array, out: Array | None = None) -> Array:
    operators, s, d = matrix.buckets.shape
    shape = (operators, x.shape[1], matrix.b)
    y = cupy.empty(shape, dtype=x.dtype) if out is None else out
    mean = s * d // matrix.b  # entries of a bucket
    lanes = _LANES[max(least for least in _LANES if least <= mean)]
    sizes = (operators, x.shape[1], d, matrix.b)
    blocks = _ratio(y.size * lanes, _THREADS)
    columns, signs, starts = matrix.by_bucket
    name = _instance("scatter", columns, _REAL[x.dtype.name], lanes)
    _run(name, blocks, columns, signs, starts, cupy.ascontiguousarray(x), _stride(x), *sizes, y)
    return y


def gather(matrix: SparseMatrix, y: Array) -> Array:
    return _by_column("gather", matrix, y)


def project(matrix: SparseMatrix, x: Array) -> Array:
    return gather(matrix, scatter(matrix, x))


def median(matrix: SparseMatrix, y: Array) -> Array:
    if (s := matrix.buckets.shape[1]) > _VALUES:
        raise ValueError(f"a median of s={s} values exceeds the limit of {_VALUES} on a GPU; use kernels=numba")
    return _by_column("median", matrix, y)


def _by_column(name: str, matrix: SparseMatrix, y: Array) -> Array:
    operators, s, d = matrix.buckets.shape
    x = cupy.empty((operators, y.shape[1], d), dtype=y.dtype)
    entries = (matrix.buckets, matrix.signs)
    sizes = (operators, y.shape[1], s, d, matrix.b)
    source = cupy.ascontiguousarray(y)
    _launch(_instance(name, matrix.buckets, _REAL[y.dtype.name]), x.size, *entries, source, _stride(y), *sizes, x)
    return x


def _stride(v: Array) -> int:
    """The distance from an operator's vectors (T or 1, N, length) to the next operator's; 0 if they are shared."""
    return 0 if v.shape[0] == 1 else v.shape[1] * v.shape[2]


def walsh_hadamard(x: Array) -> Array:
    x = cupy.ascontiguousarray(x)
    tile, stages = _TILE[x.dtype.name], x.shape[-1].bit_length() - 1
    done = min(stages, tile)
    passes = [(tile, tile, 0, done)]  # columns, h, low and high
    while done < stages:  # few passes, of about equally many stages
        share = _ratio(stages - done, _ratio(stages - done, _STAGES))
        passes.append((tile - share, done, tile - share, tile))
        done += share
    name, blocks = f"hadamard<{_REAL[x.dtype.name]}>", _ratio(x.size, 2**tile)
    for place in passes:
        scale = x.dtype.type(x.shape[-1] ** -0.5 if place is passes[-1] else 1.0)
        _run(name, blocks, x, x.size, *place, scale, threads=2**tile // 16)
    return x


def spread_hadamard(at: Array, values: Array, scale: float, out: Array) -> Array:
    return walsh_hadamard(spread(at, values * values.dtype.type(scale), out))


def hadamard_collect(x: Array, at: Array, scale: float) -> Array:
    return _collect(walsh_hadamard(x), at, scale)


def sampled_hadamard(
    x: Array, signs: Array | None, n: int, at: Array, scale: float, room: Callable[[], Array]
) -> Array:
    padded, d = room(), x.shape[-1]
    padded[..., :d], padded[..., d:] = x, 0
    if signs is not None:
        padded[..., :d] *= signs
    return hadamard_collect(padded, at, scale)


def spread_hadamard_collect(terms: Sequence[tuple[Array, Array]], room: Array, at: Array, scale: float) -> Array:
    for number, (places, values) in enumerate(terms):
        spread(places, values, room, keep=number > 0)
    return hadamard_collect(room, at, scale)


def collect(v: Array, at: Array) -> Array:
    return _collect(v, at, 1.0)


def _collect(v: Array, at: Array, scale: float) -> Array:
    operators, indexed, k = at.shape
    out = cupy.empty((operators, v.shape[1], k), dtype=v.dtype)
    sizes = (operators, v.shape[1], indexed, k, v.shape[2], v.dtype.type(scale))
    source, places = cupy.ascontiguousarray(v), cupy.ascontiguousarray(at)
    _launch(_instance("collect", at, _REAL[v.dtype.name]), out.size, source, _stride(v), places, *sizes, out)
    return out


def spread(at: Array, values: Array, out: Array, keep: bool = False) -> Array:
    if not keep:
        out.fill(0)
    operators, vectors, k = values.shape
    sizes = (operators, vectors, at.shape[1], k, out.shape[2])
    places, entries = cupy.ascontiguousarray(at), cupy.ascontiguousarray(values)
    _launch(_instance("spread", at, _REAL[out.dtype.name]), values.size, places, entries, *sizes, out)
    return out


def largest(x: Array, k: int) -> Array:
    rows, d = x.shape
    out = cupy.empty((rows, k), dtype=index_type(d))
    if not out.size:
        return out
    x = cupy.ascontiguousarray(x)
    real, high = _REAL[x.dtype.name], 8 * x.dtype.itemsize - 1
    parts = max(1, min(_ratio(d, 16 * _THREADS), _BUSY // rows))
    zeros = cupy.zeros(rows + rows * _BINS * (parts > 1), dtype=np.uint32)
    finished, counts = zeros[:rows], zeros[rows:]
    threshold, ties = cupy.empty(rows, dtype=np.uint64), cupy.empty(rows, dtype=np.int64)
    few = d <= _SPAN * _SPANS  # for one block to look at the candidates of a row, whatever its entries
    while high and not (few and high < 8 * x.dtype.itemsize - 1):
        shift = max(high - _BITS, 0)
        _run(f"histogram<{real}>", rows * parts, x, d, parts, high, shift, k, threshold, ties, counts, finished)
        high = shift
    span = 32 * _ratio(max(_SPAN, _ratio(d, _SPANS)), 32)
    spans = _ratio(d, span)
    blocks = _ratio(32 * spans, _THREADS)
    candidates = cupy.empty(x.size * (high > 0), dtype=x.dtype)
    before = cupy.empty(2 * rows * spans, dtype=np.int64)
    place = (d, blocks, span, spans, high)
    _run(f"settle<{real}>", rows * blocks, x, *place, threshold, ties, candidates, before, finished)
    name, blocks = _instance("compact", out, real), _ratio(32 * rows * spans, _THREADS)
    _run(name, blocks, x, rows, d, span, spans, threshold, before, ties, k, out)
    return out


def inner(u: Array, v: Array) -> Array:
    # cuBLAS's order of additions depends on the number of rows
    rows, d = u.shape
    parts, real = max(1, min(_ratio(d, 16 * _THREADS), _BUSY)), _REAL[u.dtype.name]
    sums, out = cupy.empty(rows * parts, dtype=np.float64), cupy.empty(rows, dtype=u.dtype)
    _run(f"inner<{real}>", rows * parts, u, v, d, parts, sums, cupy.zeros(rows, dtype=np.uint32), out)
    return out


def add_to_scaled(u: Array, scale: Array, v: Array) -> Array:
    v *= scale
    v += u
    return v


def scale_and_add(x: Array, scale: Array, terms: Sequence[tuple[Array, Array]]) -> Array:
    x *= scale
    for at, values in terms:
        spread(at[None], values[None], x[None], keep=True)
    return x


def move_shared(at: Array, values: Array, others: Array, entries: Array) -> None:
    if not (at.size and others.size):
        return
    row_start = (1 + max(int(at.max()), int(others.max()))) * cupy.arange(len(at))[:, None]
    places, wanted = (at + row_start).reshape(-1), (others + row_start).reshape(-1)
    match = cupy.minimum(cupy.searchsorted(places, wanted), len(places) - 1)
    shared = places[match] == wanted
    values.reshape(-1)[match[shared]] += entries.reshape(-1)[shared]
    entries[shared.reshape(entries.shape)] = 0


def dense_sketch(entries: Entries, key: int, stream: int, first: int, operators: int, rows: int, x: Array) -> Array:
    _, vectors, d = x.shape
    together = 1 if vectors == 1 else _VECTORS
    lines = _LINES[entries]
    blocks = operators * _ratio(vectors, together) * _ratio(rows, lines)
    parts = _parts(blocks, d // (2**12 * lines))
    y = cupy.empty((parts, operators, vectors, rows), dtype=x.dtype)
    place = (np.uint64(key), stream, first, operators, rows, parts)
    name = f"dense_sketch<{_ENTRIES[entries]}, {_REAL[x.dtype.name]}, {together}>"
    source = cupy.ascontiguousarray(x)
    _run(name, blocks * parts, *place, source, _stride(x), vectors, d, y)
    return y.sum(axis=0) if parts > 1 else y[0]


def dense_desketch(entries: Entries, key: int, stream: int, first: int, operators: int, d: int, y: Array) -> Array:
    _, vectors, rows = y.shape
    together = 1 if vectors == 1 else _VECTORS
    warps = operators * _ratio(vectors, together) * _ratio(d, 128)
    parts = _parts(_ratio(32 * warps, _THREADS), rows // 64)
    span = 32 * _ratio(rows, 32 * parts)
    x = cupy.empty((parts, operators, vectors, d), dtype=y.dtype)
    place = (np.uint64(key), stream, first, operators, rows, parts, span)
    name = f"dense_desketch<{_ENTRIES[entries]}, {_REAL[y.dtype.name]}, {together}>"
    source = cupy.ascontiguousarray(y)
    blocks = _ratio(32 * warps * parts, _THREADS)
    _run(name, blocks, *place, source, _stride(y), vectors, d, x)
    return x.sum(axis=0) if parts > 1 else x[0]


def _parts(blocks: int, most: int) -> int:
    """The number of parts of long sums, at most `most`, so that there are enough blocks to fill a GPU."""
    return max(1, min(_ratio(_BUSY, blocks), most)) if blocks else 1


def cosine(x: Array) -> Array:
    # cuFFT plans no empty batch; CuPy's result is a strided view of complex numbers
    return cupy.ascontiguousarray(fft.dct(x, norm="ortho", axis=-1)) if x.size else x


def cosine_transpose(x: Array) -> Array:
    return cupy.ascontiguousarray(fft.idct(x, norm="ortho", axis=-1)) if x.size else x


def empty(shape: tuple[int, ...], dtype: Any) -> Array:
    return cupy.empty(shape, dtype)


def asarray(x: Any) -> Array:
    return cupy.asarray(x)


def to_numpy(x: Array) -> Any:
    return cupy.asnumpy(x)
