"""NVRTC, the compiler of CUDA that CuPy uses, by ctypes: it needs neither CuPy nor a driver nor a device."""

import ctypes
import importlib.util
import re
from pathlib import Path
from typing import Any, NamedTuple

# What CuPy adds to the options of a RawModule, besides the architecture.
CUPY = ("-ftz=true", "--device-as-default-execution-space")
STRICT = ("--ptxas-options=-v", "-Werror=all-warnings")
_KERNEL = re.compile(
    r"Compiling entry function '(\w+)' for '\w+'.*?"
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers([^\n]*)",
    re.DOTALL,
)


class Resources(NamedTuple):
    """What a kernel takes: a thread's registers, bytes of stack and of spills, and a block's bytes of shared memory."""

    registers: int
    stack: int
    spilled: int
    shared: int


class CompileError(Exception):
    """The log of NVRTC."""


def library() -> Any | None:
    """The library of the wheel nvidia-cuda-nvrtc, or None without it."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in sorted(Path(folder).glob("cu*/lib/libnvrtc.so.*")):
            for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
                ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(path))
    return None


def compile_kernels(
    nvrtc: Any, code: str, options: tuple[str, ...], names: tuple[str, ...], architecture: int
) -> dict[str, Resources]:
    """The resources of every kernel, compiled to machine code.

    Raises:
        CompileError: where something does not compile, and for every warning.
    """
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), code.encode(), b"kernels.cu", 0, None, None)
    try:
        for name in names:
            if nvrtc.nvrtcAddNameExpression(program, name.encode()):
                raise CompileError(f"{name} is no name of a kernel")
        given = [option.encode() for option in (*options, *CUPY, *STRICT, f"-arch=sm_{architecture}")]
        failed = nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
        log = _text(nvrtc, program)
        if failed or "warning" in log:
            raise CompileError(log)
        found = {match[1]: match for match in _KERNEL.finditer(log)}
        return {name: _resources(found[_symbol(nvrtc, program, name)]) for name in names}
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text(nvrtc: Any, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.value.decode()


def _symbol(nvrtc: Any, program: ctypes.c_void_p, name: str) -> str:
    symbol = ctypes.c_char_p()
    if nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(symbol)) or symbol.value is None:
        raise CompileError(f"{name} was not compiled")
    return symbol.value.decode()


def _resources(match: re.Match[str]) -> Resources:
    shared = re.search(r"(\d+) bytes smem", match[6])
    return Resources(int(match[5]), int(match[2]), int(match[3]) + int(match[4]), int(shared[1]) if shared else 0)
