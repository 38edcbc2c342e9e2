"""Every instance of every CUDA kernel compiles to machine code, without a warning, within limits: no GPU is needed."""

from typing import Any

import pytest
from cuda_source import source
from nvrtc import CompileError, Resources, compile_kernels, library

NVRTC = library()
pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(NVRTC is None, reason="NVRTC is not installed (pip install nvidia-cuda-nvrtc)"),
]

ARCHITECTURES = [80, 90, 100]  # A100, H100 and H200, B200
KIB = 1024
# By the name of the kernel: at most so many registers of a thread, and bytes of stack and of shared memory. A
# multiprocessor has 65,536 registers: 128 are those of two blocks of 256 threads, and 64 of four.
LIMITS = {
    "dense_sketch": Resources(128, 0, 0, 64),
    "dense_desketch": Resources(128, 0, 0, 0),
    "hadamard": Resources(64, 0, 0, 32 * KIB),
    "histogram": Resources(40, 0, 0, 35 * KIB),  # bins of 32 KiB: six blocks of a multiprocessor with 228 KiB
    "settle": Resources(80, 0, 0, 35 * KIB),  # three blocks
    "scatter": Resources(40, 0, 0, 64),
    "inner": Resources(40, 0, 0, 72),
    "median": Resources(40, 512, 0, 0),  # 64 values, which it sorts
}
OTHERS = Resources(40, 0, 0, 0)
# With one block instead of two it takes 226 registers, and spills nothing; which is faster, nobody has measured.
SPILLS = {("dense_sketch<Sign, double, 4>", 100): Resources(128, 32, 88, 64)}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kernel_compiles_within_its_limits(architecture: int) -> None:
    names = source().names
    taken = compile_kernels(NVRTC, *source(), architecture)
    assert taken.keys() == set(names)
    beyond = {}
    for name, resources in taken.items():
        limit = SPILLS.get((name, architecture)) or LIMITS.get(name.partition("<")[0], OTHERS)
        if any(value > most for value, most in zip(resources, limit, strict=True)):
            beyond[name] = (resources, limit)
    assert not beyond


def compiled(code: str) -> Any:
    return compile_kernels(NVRTC, code, ("--std=c++17",), ("kernel",), 90)["kernel"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("__global__ void kernel(int* x) { int unused = 3; x[0] = 1; }", "never referenced"),
        ("__global__ void kernel(unsigned* x) { x[0] = x[1] < 0; }", "comparison"),
        ("__global__ void kernel(int* x) { x[0] = missing; }", 'identifier "missing" is undefined'),
        ("__global__ void other(int* x) { x[0] = 1; }", "kernel"),
    ],
)
def test_a_warning_is_an_error(code: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compiled(code)


def test_what_a_kernel_takes_is_read() -> None:
    plain = compiled("__global__ void kernel(float* x) { __shared__ float s[64]; s[threadIdx.x] = 1; x[0] = s[3]; }")
    assert (plain.stack, plain.spilled, plain.shared) == (0, 0, 256)
    assert 0 < plain.registers < 20
    many = "; ".join(f"float v{i} = x[{i} * threadIdx.x]" for i in range(200))
    total = " + ".join(f"v{i} * v{(i + 100) % 200} * (v{(i + 7) % 200} + k)" for i in range(200))
    crowded = compiled(
        f"__global__ void __launch_bounds__(1024, 2) kernel(float* x, int n) {{ {many}; "
        f"for (int k = 0; k < n; ++k) x[k] = {total}; }}"
    )
    assert crowded.spilled > 0
