"""Checks of sizes before anything is allocated; their messages name the needed and the available size."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sketchbench.kernels import Kernels

UNCHECKED = 2**24  # bytes, or entries of a vector, that are allocated without a look at the memory


class SizeError(ValueError):
    """Sizes that a family cannot have. A study skips such a combination of settings and reports the message."""


def require(condition: bool, message: str) -> None:
    """Raise SizeError(message) unless the condition holds."""
    if not condition:
        raise SizeError(message)


def check_memory(kernels: Kernels, nbytes: int, what: str) -> None:
    """Raise MemoryError if `what`, an array of `nbytes` for these kernels, exceeds the free memory."""
    if nbytes > UNCHECKED and nbytes > (free := free_memory(kernels.NAME)):
        raise MemoryError(
            f"{what} takes {nbytes / 2**30:.3g} GiB, and {free / 2**30:.3g} GiB of memory are free for "
            f"{kernels.NAME} kernels; lower d, b, or the number of operators or of vectors"
        )


def free_memory(kernels: str) -> int:
    """The bytes that kernels of this name may allocate: of the GPU's memory, or of the machine and the container."""
    if kernels == "cupy":
        import cupy

        return int(cupy.cuda.runtime.memGetInfo()[1])  # all of it: CuPy keeps some for itself, and rejects more
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, KeyError):  # Linux
        lines: Any = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        kibibytes = {name: int(number) for name, number, *_ in lines}
        free = 1024 * (kibibytes["MemAvailable:"] + kibibytes["SwapFree:"])
    with suppress(OSError, ValueError):  # a container
        free = min(free, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return free
