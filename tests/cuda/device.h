// CUDA C++ as far as the CuPy kernels need it, for a CPU with the x86-64 instruction set: what their source sees.
// All functions are in runtime.cpp, which runs the threads.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__ __attribute__((noinline))
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define UNWATCHED __attribute__((no_sanitize("thread"), noinline))

struct uint4 {
    unsigned x, y, z, w;
} __attribute__((aligned(16)));

extern "C" {
// A thread's own numbers do not change while it runs: the compiler may keep them.
unsigned emulated_thread() __attribute__((const));
unsigned emulated_block() __attribute__((const));
unsigned emulated_threads() __attribute__((const));
unsigned emulated_blocks() __attribute__((const));
void emulated_barrier(int line);
unsigned long long emulated_exchange(unsigned mask, unsigned long long value, int source, int line);
unsigned emulated_ballot(unsigned mask, int vote, int line);
void emulated_fence();
unsigned emulated_add(unsigned* at, unsigned value);
double emulated_quantile(double probability);
int emulated_launch(void (*kernel)(void**), unsigned blocks, unsigned threads, void** arguments);
extern char emulated_base;
}

struct EmulatedIndex {
    unsigned x, y, z;
};
#define threadIdx (EmulatedIndex{emulated_thread(), 0, 0})
#define blockIdx (EmulatedIndex{emulated_block(), 0, 0})
#define blockDim (EmulatedIndex{emulated_threads(), 1, 1})
#define gridDim (EmulatedIndex{emulated_blocks(), 1, 1})

template <class A, class B>
inline std::common_type_t<A, B> min(A a, B b) {
    return b < a ? b : a;
}
template <class A, class B>
inline std::common_type_t<A, B> max(A a, B b) {
    return a < b ? b : a;
}

template <class T>
inline T emulated_shuffle(unsigned mask, T value, int source, int line) {
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = emulated_exchange(mask, bits, source, line);
    memcpy(&value, &bits, sizeof value);
    return value;
}
#define __syncthreads() emulated_barrier(__LINE__)
#define __threadfence() emulated_fence()
#define __shfl_sync(mask, value, source) emulated_shuffle(mask, value, (source) & 31, __LINE__)
#define __shfl_down_sync(mask, value, by) \
    emulated_shuffle(mask, value, min((int)(threadIdx.x & 31) + (int)(by), 31), __LINE__)
#define __ballot_sync(mask, vote) emulated_ballot(mask, vote, __LINE__)
inline unsigned atomicAdd(unsigned* at, unsigned value) { return emulated_add(at, value); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline unsigned __float_as_uint(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline long long __double_as_longlong(double value) {
    long long bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline double normcdfinv(double probability) { return emulated_quantile(probability); }

// The arguments of a launch are addresses of values, as for the driver's cuLaunchKernel.
template <class... A, size_t... I>
UNWATCHED void emulated_call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*(std::remove_reference_t<A>*)arguments[I]...);
}
template <class... A>
UNWATCHED void emulated_call(void (*kernel)(A...), void** arguments) {
    emulated_call(kernel, arguments, std::index_sequence_for<A...>{});
}

// The type of each parameter in letters: P for a pointer, p for one to what is const; i, u and f with the bytes.
template <class T>
UNWATCHED void emulated_type(char*& out) {
    if constexpr (std::is_pointer_v<T>) {
        *out++ = std::is_const_v<std::remove_pointer_t<T>> ? 'p' : 'P';
        emulated_type<std::remove_cv_t<std::remove_pointer_t<T>>>(out);
    } else {
        *out++ = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
        *out++ = '0' + sizeof(T);
    }
}
template <class... A>
UNWATCHED void emulated_types(void (*)(A...), char* out) {
    (emulated_type<A>(out), ...);
    *out = 0;
}
