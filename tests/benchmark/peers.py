"""The other libraries, on the device of the kernels."""

import importlib
from types import ModuleType
from typing import Any

import pytest

from sketchbench.kernels import Array, Kernels

SIZES = [2**14, 2**16, 2**18, 2**20, 2**22]  # d


def scipy(kernels: Kernels, module: str) -> ModuleType:
    """A module of SciPy, or of CuPy's copy of it."""
    return importlib.import_module(f"{'cupyx.' * (kernels.NAME == 'cupy')}scipy.{module}")


def on_cpu(kernels: Kernels) -> None:
    """Skip where a peer would run on another device."""
    if kernels.NAME == "cupy":
        pytest.skip("runs on a CPU only")


def torch(kernels: Kernels) -> Any:
    """PyTorch; skips where it is not installed, or has no GPU to be compared on."""
    module = pytest.importorskip("torch")
    if kernels.NAME == "cupy" and not module.cuda.is_available():
        pytest.skip("PyTorch finds no CUDA device")
    return module


def tensor(kernels: Kernels, x: Array) -> Any:
    """The same memory as a tensor."""
    return torch(kernels).as_tensor(x, device="cuda" if kernels.NAME == "cupy" else "cpu")


def same(kernels: Kernels, ours: Array, theirs: Any) -> None:
    """What is compared must compute the same."""
    theirs = kernels.to_numpy(kernels.asarray(theirs)).reshape(ours.shape)
    assert abs(kernels.to_numpy(ours) - theirs).max() < 1e-9
