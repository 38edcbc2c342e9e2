"""The emulated device catches broken kernels, by the defect and in every order of threads."""

import functools
import platform
import re
import shutil
from typing import Any

import numpy as np
import pytest
from cuda_source import source
from emulator import HERE, OFTEN, Argument, DeviceError, Module

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(
        shutil.which("g++") is None or platform.machine() != "x86_64",
        reason="the emulated device needs g++ and a processor of the kind x86-64",
    ),
]

HEAD = "typedef unsigned int u32; typedef unsigned long long u64; typedef long long i64;\n"
OPTIONS = ("--std=c++17",)

# Small kernels with one defect each: the body, and what the device says. x and y are arrays of 64 floats, n is 64.
BROKEN = {
    "two blocks write one place": ("y[threadIdx.x] = x[threadIdx.x];", 2, "race: .* another wrote"),
    "a block reads what another writes": (
        "if (threadIdx.x < 32) { float* own = y + 32 * blockIdx.x; own[threadIdx.x] = 1;"
        "own[threadIdx.x] = y[threadIdx.x + 32 - 32 * blockIdx.x]; }",
        2,
        "race|nobody has written",
    ),
    "no barrier before the neighbour's value is read": (
        "__shared__ float s[64]; s[threadIdx.x] = 1; y[threadIdx.x] = s[63 - threadIdx.x];",
        1,
        "race|nobody has written",
    ),
    "no barrier before the neighbour's value is overwritten": (
        "__shared__ float s[64]; s[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x] = s[63 - threadIdx.x];"
        "s[threadIdx.x] = 2;",
        1,
        "race: .* another",
    ),
    "warps are no barrier": (
        "__shared__ float s[64]; s[threadIdx.x] = 1; __syncthreads(); float z = s[threadIdx.x ^ 1];"
        "z += __shfl_down_sync(~0u, z, 1); s[threadIdx.x] = z; y[threadIdx.x] = z;",
        1,
        "race: .* another read",
    ),
    "counting without atomics": ("c[0] = c[0] + 1; y[threadIdx.x] = 1;", 1, "race: .* another"),
    "an atomic beside a plain write": (
        "if (threadIdx.x) atomicAdd(c, 1u); else c[0] = 5;",
        1,
        "race: .* another wrote",
    ),
    "an entry too far": ("y[threadIdx.x] = x[threadIdx.x + 1];", 1, "reads outside of all arrays"),
    "an entry too few": ("y[threadIdx.x] = x[(i64)threadIdx.x - 1];", 1, "reads outside of all arrays"),
    "an entry too far is written": ("y[threadIdx.x + (n == 64)] = x[threadIdx.x];", 1, "writes outside of all arrays"),
    "a shared entry too far": (
        "__shared__ float s[64]; s[threadIdx.x + (n == 64)] = 1; __syncthreads(); y[threadIdx.x] = s[threadIdx.x];",
        1,
        "writes outside|nobody has written",
    ),
    "a null pointer": ("float* p = n == 64 ? nullptr : y; p[threadIdx.x] = 1;", 1, "writes outside of all arrays"),
    "shared memory is not zero": (
        "__shared__ float s[64]; if (threadIdx.x) s[threadIdx.x] = 1; __syncthreads();y[threadIdx.x] = s[threadIdx.x];",
        1,
        "reads entry 0 of a shared array, which nobody has written",
    ),
    "shared memory of the last block": (
        "__shared__ float s[64]; if (!blockIdx.x) s[threadIdx.x] = 1; __syncthreads();"
        "if (blockIdx.x) y[threadIdx.x] = s[threadIdx.x];",
        2,
        "which nobody has written",
    ),
    "the result before it is written": ("y[threadIdx.x] += x[threadIdx.x];", 1, "reads entry .* nobody has written"),
    "what is const": ("((float*)x)[threadIdx.x] = 1; y[threadIdx.x] = 1;", 1, "writes argument 0, which is const"),
    "a wide access that is not aligned": ("*(uint4*)(y + 1) = *(const uint4*)x;", 1, "16 bytes that are not aligned"),
    "a barrier that half of the threads reach": (
        "if (threadIdx.x < 32) __syncthreads(); y[threadIdx.x] = 1;",
        1,
        "32 of 64 threads of block 0 reach the barrier",
    ),
    "two barriers for one": (
        "if (threadIdx.x < 32)\n__syncthreads();\nelse\n__syncthreads();\ny[threadIdx.x] = 1;",
        1,
        "at barriers in lines",
    ),
    "a lane that leaves": (
        "float z = 1; if (threadIdx.x != 5) z = __shfl_down_sync(~0u, z, 1); y[threadIdx.x] = z;",
        1,
        "31 of 32 lanes",
    ),
    "lanes at two operations": (
        "float z = 1; if (threadIdx.x & 1)\nz = __shfl_sync(~0u, z, 0);\nelse\nz = __shfl_sync(~0u, z, 1);\n"
        "y[threadIdx.x] = z;",
        1,
        "lanes of a warp of block 0 are at operations in lines",
    ),
    "a mask of some lanes": (
        "float z = __shfl_sync(0xFFFFu, 1.0f, 0); y[threadIdx.x] = z;",
        1,
        "mask other than all lanes",
    ),
    "the last of two blocks reads without a fence": (
        "if (threadIdx.x == 0) { y[blockIdx.x] = 1; if (atomicAdd(c, 1u) == 1) y[2] = y[1 - blockIdx.x]; }",
        2,
        "race: .* another wrote",
    ),
    "a fence before the count only": (
        "if (threadIdx.x == 0) { y[blockIdx.x] = 1; __threadfence();"
        "if (atomicAdd(c, 1u) == 1) y[2] = y[1 - blockIdx.x]; }",
        2,
        "race: .* another wrote",
    ),
    "a fence after the count only": (
        "if (threadIdx.x == 0) { y[blockIdx.x] = 1; const u32 count = atomicAdd(c, 1u); __threadfence();"
        "if (count == 1) y[2] = y[1 - blockIdx.x]; }",
        2,
        "race: .* another wrote",
    ),
    "a count of its own for each block": (
        "if (threadIdx.x == 0) { y[blockIdx.x] = 1; __threadfence(); atomicAdd(c + blockIdx.x, 1u); __threadfence();"
        "y[2 + blockIdx.x] = y[0]; }",
        2,
        "race: .* another wrote|nobody has written",
    ),
    "no barrier before the fence": (
        "if (threadIdx.x < 32) y[32 * blockIdx.x + threadIdx.x] = 1;"
        "if (threadIdx.x == 0) { __threadfence(); const u32 count = atomicAdd(c, 1u); __threadfence();"
        "if (count == 1) y[32 * blockIdx.x] = y[31 + 32 * (1 - blockIdx.x)]; }",
        2,
        "race: .* another wrote",
    ),
    "no barrier after the fence": (
        "u32 count = 0; if (blockIdx.x == threadIdx.x) y[threadIdx.x] = 1; __syncthreads();"
        "if (threadIdx.x == 0) { __threadfence(); count = atomicAdd(c, 1u); __threadfence(); }"
        "count = __shfl_sync(~0u, count, 0); if (count == 1 && threadIdx.x == 1) y[2] = y[1 - blockIdx.x];",
        2,
        "race: .* another wrote",
    ),
}


RIGHT = (  # the body, and the number of blocks
    ("y[threadIdx.x] = 2 * x[threadIdx.x];", 1),
    (
        "__shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); "
        "y[63 - threadIdx.x] = 2 * s[63 - threadIdx.x];",
        1,
    ),
    ("float z = __shfl_sync(~0u, x[threadIdx.x], threadIdx.x); y[threadIdx.x] = z + x[threadIdx.x];", 1),
    ("atomicAdd(c, 1u); __syncthreads(); y[threadIdx.x] = 2 * x[threadIdx.x] + (c[0] - 64);", 1),
    (
        "__shared__ u32 count; const u32 half = threadIdx.x / 32; atomicAdd(c + 1, 1u);"
        "if (half == blockIdx.x) y[threadIdx.x] = x[threadIdx.x]; __syncthreads();"
        "if (threadIdx.x == 0) { __threadfence(); count = atomicAdd(c, 1u); __threadfence(); }"
        "__syncthreads(); if (count == 1) y[threadIdx.x] *= 2.0f * c[1] / 128;",
        2,
    ),
)


@functools.cache
def small_kernels() -> Module:
    bodies = [body for body, *_ in (*BROKEN.values(), *RIGHT)]
    text = "\n".join(
        f"__global__ void kernel{i}(const float* x, float* y, u32* c, i64 n) {{ {body} }}"
        for i, body in enumerate(bodies)
    )
    return Module(HEAD + text, OPTIONS, [f"kernel{i}" for i in range(len(bodies))], watch=True)


def launched(number: int, blocks: int, order: int) -> Any:
    module = small_kernels()
    module.schedule(order)
    x, y = np.arange(64, dtype=np.float32), np.empty(64, np.float32)
    arrays = (Argument(x), Argument(y, np.zeros(64, np.uint8)), Argument(np.zeros(2, np.uint32)))
    module.launch(f"kernel{number}", blocks, 64, (*arrays, 64))
    return y


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_kernel_is_caught(name: str) -> None:
    _, blocks, message = BROKEN[name]
    for order in (0, 1, 4242):
        with pytest.raises(DeviceError, match=message):
            launched(list(BROKEN).index(name), blocks, order)


@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_a_right_kernel_is_not(number: int) -> None:
    for order in (0, 1, 4242):
        np.testing.assert_array_equal(launched(len(BROKEN) + number, RIGHT[number][1], order), 2 * np.arange(64))


def test_later_launches_with_the_same_sizes() -> None:
    """Which are not watched: their results and what they wrote are the same."""
    module = small_kernels()
    module.schedule(0)
    for _ in range(OFTEN + 2):
        x, y, filled = np.arange(64, dtype=np.float32), np.empty(64, np.float32), np.zeros(64, np.uint8)
        arrays = (Argument(x), Argument(y, filled), Argument(np.zeros(1, np.uint32)))
        module.launch(f"kernel{len(BROKEN)}", 1, 64, (*arrays, 64))
        np.testing.assert_array_equal(y, 2 * np.arange(64))
        assert filled.all()
    module.launch(f"kernel{len(BROKEN)}", 1, 64, (*arrays, 65))  # other sizes are watched
    with pytest.raises(DeviceError, match="nobody has written"):  # as is the launch that reads what is not there
        module.launch(f"kernel{len(BROKEN)}", 1, 64, (Argument(x, 0 * filled), *arrays[1:], 64))


def test_every_complaint_is_shown() -> None:
    """Of what the device says about kernels, nothing is left untried."""
    said = set()
    for number, (_, blocks, _) in enumerate(BROKEN.values()):
        with pytest.raises(DeviceError) as caught:
            launched(number, blocks, 0)
        said.add(str(caught.value))
    text = (HERE / "runtime.cpp").read_text()
    formats = re.findall(r'(?:FAIL|complain)\("([^"]*)"', text)
    assert len(formats) > 9
    for form in formats:
        pattern = re.sub(r"%(?:s|u|d|ll[du])", ".+", re.escape(form).replace(r"\%", "%"))
        assert any(re.search(pattern, one) for one in said), form


def test_arguments_of_another_type() -> None:
    code = f"{HEAD}__global__ void kernel(const float* x, int n, i64 m, double z) {{}}\n"
    module = Module(code, OPTIONS, ("kernel",), watch=True)
    x = Argument(np.zeros(4, np.float32))
    module.launch("kernel", 1, 32, (x, np.int32(1), 2, np.float64(3)))
    for arguments, message in (
        ((x, 1, 2, np.float64(3)), "argument 1 is 1 of int, where i4 belongs"),
        ((x, np.int32(1), 2, 3.0), "argument 3 is 3.0 of float, where f8 belongs"),
        ((x, np.int32(1), x, np.float64(3)), "argument 2 is an array"),
        ((3, np.int32(1), 2, np.float64(3)), "argument 0 is 3 of int"),
        ((Argument(np.zeros(4)), np.int32(1), 2, np.float64(3)), "is of float64, where float32 belongs"),
        ((Argument(np.zeros(4, np.float32)[::2]), np.int32(1), 2, np.float64(3)), "is strided"),
        ((x, np.int32(1), 2), "takes 4 arguments, not 3"),
    ):
        with pytest.raises(DeviceError, match=message):
            module.launch("kernel", 1, 32, arguments)
    with pytest.raises(DeviceError, match="can't be launched"):
        module.launch("kernel", 1, 1025, (x, np.int32(1), 2, np.float64(3)))


# Defects planted into the project's own kernels: what is replaced, by what, and the kernel that shows it.
PLANTED = {
    "no first barrier in reduce": (
        "        __syncthreads();  // the last call's sums have been read\n",
        "",
        "dense_sketch<Sign, float, 1>",
        "race: .* another read",
    ),
    "no second barrier in reduce": (
        "threadIdx.x / 32] = sum;\n        __syncthreads();",
        "threadIdx.x / 32] = sum;",
        "dense_sketch<Sign, float, 1>",
        "race|nobody has written",
    ),
    "no barrier in the exchange of hadamard": (
        "        __syncthreads();\n        bit = next;",
        "        bit = next;",
        "hadamard<float>",
        "race|nobody has written",
    ),
    "the last tile is not cut": (
        "v[i] = thread + (i << TOP) < left ? corner",
        "v[i] = true ? corner",
        "hadamard<float>",
        "reads outside",
    ),
    "no barrier after bins are cleared": (
        "wanted = first ? k : left[n];\n    }\n    __syncthreads();",
        "wanted = first ? k : left[n];\n    }",
        "histogram<float>",
        "race|nobody has written",
    ),
    "bins are counted without atomics": (
        "if (bin < below) atomicAdd(&bins[bin], 1u);\n    }\n    __syncthreads();\n    if (parts",
        "if (bin < below) bins[bin] += 1u;\n    }\n    __syncthreads();\n    if (parts",
        "histogram<float>",
        "race: .* another",
    ),
    **{
        f"no {which} in last_to_finish, {kernel}": (old, new, kernel, "race: .* another")
        for kernel in ("histogram<float>", "settle<float>", "inner<float>")
        for which, old, new in (
            ("fence before the count", "__threadfence();\n        last", "last"),
            ("fence after the count", "__threadfence();\n        if (last)", "if (last)"),
        )
    },
    "no barrier before the fence": (
        "    __syncthreads();  // what this block wrote comes before the fence\n",
        "",
        "settle<float>",
        "race: .* another wrote",
    ),
    "lanes read what the first of them counts anew": (
        "e < count; e += 32",
        "e < equal[s]; e += 32",
        "settle<float>",
        "race: .* another",
    ),
    "no barrier between descents": (
        "        left = rest;\n    }\n    __syncthreads();",
        "        left = rest;\n    }",
        "settle<float>",
        "race: .* another",
    ),
    "compact's lanes leave the loop alone": (
        "j - lane < stop; j += 32) {  // all lanes vote, inside or not\n        const u64",
        "j < stop; j += 32) {\n        const u64",
        "compact<float>",
        "of 32 lanes",
    ),
    "an int for a size": (
        "i64 operators, i64 s, i64 d,",
        "i64 operators, i64 s, int d,",
        "distinct",
        "where i4 belongs",
    ),
    "a whole pack at the end of a draw": (
        "if (i < left) target",
        "if (i < left + 1) target",
        "draw<Word>",
        "race: .* another wrote|writes outside",
    ),
    "packs of lines that are not aligned": (
        "if (d % WIDTH == 0 && left > 0)",
        "if (left >= WIDTH)",
        "draw<Word>",
        "not aligned",
    ),
    "collect reads one further": (
        "v[t * stride + n * d + place] *",
        "v[t * stride + n * d + place + 1] *",
        "collect<float>",
        "reads outside",
    ),
    "every thread of a run adds it": ("if (i == 0 || places[i] != places[i - 1]) {", "{", "spread<float>", "race"),
}


def filled(size: int, dtype: Any) -> Argument:
    return Argument(np.zeros(size, dtype))


def empty(size: int, dtype: Any) -> Argument:
    return Argument(np.zeros(size, dtype), np.zeros(size, np.uint8))


def launch_own(module: Module, name: str) -> None:
    f4, i4, u4, i8, u8 = np.float32, np.int32, np.uint32, np.int64, np.uint64
    key, ascending = np.uint64(7), Argument(np.arange(40, dtype=i4) // 2 * 2)
    ascending.array[-1] = 99
    calls: dict[str, tuple[int, int, tuple[Any, ...]]] = {
        "draw": (1, 256, (key, 0, 0, 1, 0, 2, 1003, empty(2006, u4))),
        "distinct": (1, 256, (filled(300, u4), 1, 3, 100, 9, empty(300, i4))),
        "dense_sketch": (2, 256, (key, 0, 0, 1, 5, 1, filled(3000, f4), 0, 1, 3000, empty(5, f4))),
        "hadamard": (1, 512, (filled(2**12, f4), 2**12, 13, 13, 0, 12, f4(1))),
        "histogram": (
            2,
            256,
            (filled(5000, f4), 5000, 2, 31, 18, 7, empty(1, u8), empty(1, i8), filled(2**13, u4), filled(1, u4)),
        ),
        "settle": (
            2,
            256,
            (
                *(filled(5000, f4), 5000, 2, 320, 16, 18, filled(1, u8), Argument(np.full(1, 7))),
                *(empty(5000, f4), empty(32, i8), filled(1, u4)),
            ),
        ),
        "inner": (
            2,
            256,
            (filled(5000, f4), filled(5000, f4), 5000, 2, empty(2, np.float64), filled(1, u4), empty(1, f4)),
        ),
        "compact": (
            1,
            256,
            (filled(1003, f4), 1, 1003, 1024, 1, filled(1, u8), filled(2, i8), filled(1, i8), 7, empty(7, i4)),
        ),
        "collect": (1, 256, (filled(100, f4), 0, ascending, 1, 1, 1, 40, 100, f4(1), empty(40, f4))),
        "spread": (1, 256, (ascending, filled(40, f4), 1, 1, 1, 40, 100, filled(100, f4))),
    }
    blocks, threads, arguments = calls[name.partition("<")[0]]
    module.launch(name, blocks, threads, arguments)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_caught(name: str) -> None:
    old, new, kernel, message = PLANTED[name]
    code, options, _ = source()
    assert code.count(old) == 1
    module = Module(code.replace(old, new), options, (kernel,), watch=True)
    for order in (0, 1, 4242):
        module.schedule(order)
        with pytest.raises(DeviceError, match=message):
            launch_own(module, kernel)


def test_without_defects_nothing_is_caught() -> None:
    code, options, _ = source()
    kernels = tuple({kernel for _, _, kernel, _ in PLANTED.values()})
    module = Module(code, options, kernels, watch=True)
    for order in (0, 1, 4242):
        module.schedule(order)
        for kernel in kernels:
            launch_own(module, kernel)


@pytest.mark.parametrize("reset", ["if (last) finished = 0;", ""])
def test_a_count_that_is_not_reset_is_seen(reset: str) -> None:
    """By the next launch, in which no block is the last one: the lower bits of the 7-th largest magnitude are wrong."""
    code, options, _ = source()
    module = Module(code.replace("if (last) finished = 0;", reset), options, ("histogram<float>",), watch=True)
    x = np.arange(5000, dtype=np.float32)
    prefix, left = empty(1, np.uint64), empty(1, np.int64)
    counts, finished = filled(2**13, np.uint32), filled(1, np.uint32)
    for high, shift in ((31, 18), (18, 5), (5, 0)):
        arguments = (Argument(x), 5000, 2, high, shift, 7, prefix, left, counts, finished)
        module.launch("histogram<float>", 2, 256, arguments)
    assert (prefix.array.item() == x[-7:-6].view(np.uint32).item()) == bool(reset)


def test_only_integers_are_added_by_atomics() -> None:
    """So the order of threads changes no number: sums of floating-point numbers have an order of their own."""
    targets = re.findall(r"atomic\w+\(&(\w+)", source().code)
    assert len(targets) == source().code.count("atomic") > 3
    assert set(targets) == {"bins", "counts", "finished"}
    assert all(re.search(rf"u32(?:\*|&)? {name}\b", source().code) for name in targets)
