"""The device that kernels compute on, if their name alone does not say it."""

import functools
import importlib.util

EMULATED = "cupy-emulated"  # the name in records of the tests' emulated device, which is not a device


@functools.cache
def on_emulated_device() -> bool:
    """Return whether the installed CuPy is the tests' stand-in, which computes on the CPU."""
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    return bool(getattr(cupy, "EMULATED", False))


def recorded_name(kernels: str) -> str:
    """The name of kernels in records, seals and reports: EMULATED for `cupy` on the emulated device."""
    return EMULATED if kernels == "cupy" and on_emulated_device() else kernels
