// The Walsh-Hadamard transform, without a scale, on one thread: what `make bench` compares with. It stands for the
// vectorised C code of FFHT (Andoni et al. 2015): butterflies of AVX registers, recursion by eight, depth first.
#include <stdint.h>

#if WIDTH == 4
typedef float real;
typedef int32_t word;
#else
typedef double real;
typedef int64_t word;
#endif
enum { BYTES = 32, LANES = BYTES / WIDTH, LEAF = 8 * LANES };
typedef real vec __attribute__((vector_size(BYTES)));
typedef word ints __attribute__((vector_size(BYTES)));
typedef real loose __attribute__((vector_size(BYTES), aligned(WIDTH), may_alias));  // anywhere in an array
#define INLINE static inline __attribute__((always_inline))

// The stage within a vector: lane i becomes the sum of lanes i and i ^ h, or, at the upper one, the difference.
#define SIGN(i, h) ((i) & (h) ? (word)((uint64_t)1 << (8 * WIDTH - 1)) : 0)
#if WIDTH == 4
#define SWAP(h) {0 ^ h, 1 ^ h, 2 ^ h, 3 ^ h, 4 ^ h, 5 ^ h, 6 ^ h, 7 ^ h}
#define FLIP(h) {SIGN(0, h), SIGN(1, h), SIGN(2, h), SIGN(3, h), SIGN(4, h), SIGN(5, h), SIGN(6, h), SIGN(7, h)}
#else
#define SWAP(h) {0 ^ h, 1 ^ h, 2 ^ h, 3 ^ h}
#define FLIP(h) {SIGN(0, h), SIGN(1, h), SIGN(2, h), SIGN(3, h)}
#endif
#define WITHIN(v, h) (__builtin_shuffle(v, (ints)SWAP(h)) + (vec)((ints)(v) ^ (ints)FLIP(h)))

// The stages between `count` vectors, h apart, from x on.
INLINE void combine(real *x, long h, int count, int within) {
    vec v[8];
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) {
        v[i] = *(loose *)(x + i * h);
        if (within) {
            v[i] = WITHIN(v[i], 1);
            v[i] = WITHIN(v[i], 2);
#if WIDTH == 4
            v[i] = WITHIN(v[i], 4);
#endif
        }
    }
#pragma GCC unroll 3
    for (int half = 1; half < count; half *= 2)
#pragma GCC unroll 8
        for (int i = 0; i < count; ++i)
            if (!(i & half)) {
                const vec sum = v[i] + v[i + half];
                v[i + half] = v[i] - v[i + half];
                v[i] = sum;
            }
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) *(loose *)(x + i * h) = v[i];
}

static void transform(real *x, long n) {
    if (n == LEAF) {
        combine(x, LANES, 8, 1);
        return;
    }
    const long parts = n >= 8 * LEAF ? 8 : n / LEAF, h = n / parts;
    for (long i = 0; i < parts; ++i) transform(x + i * h, h);
    if (parts == 8)
        for (long j = 0; j < h; j += LANES) combine(x + j, h, 8, 0);
    else if (parts == 4)
        for (long j = 0; j < h; j += LANES) combine(x + j, h, 4, 0);
    else
        for (long j = 0; j < h; j += LANES) combine(x + j, h, 2, 0);
}

// Every n entries of x, in place; n is a power of two, and at least 64.
void walsh_hadamard(real *x, long size, long n) {
    for (long first = 0; first < size; first += n) transform(x + first, n);
}
