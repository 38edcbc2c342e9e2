"""The d/32 entries of largest magnitude, beside NumPy and PyTorch."""

from collections.abc import Callable
from typing import Any

import pytest
from peers import SIZES, same, tensor, torch

from sketchbench.kernels import Kernels


@pytest.mark.parametrize("whose", ["ours", "numpy", "torch"])
@pytest.mark.parametrize("d", SIZES)
def test_top_k(timed: Any, kernels: Kernels, normals: Callable[..., Any], d: int, whose: str) -> None:
    k, xp, x = d // 32, kernels.xp, normals((d,))
    ours = kernels.largest(x[None], k)[0]
    if whose == "ours":
        timed(lambda: kernels.largest(x[None], k), x, group="top_k", name="largest")
        return
    if whose == "numpy":
        name, run = f"{xp.__name__}.argpartition", lambda: xp.argpartition(abs(x), d - k)[d - k :]
    else:
        v, topk = tensor(kernels, x), torch(kernels).topk
        name, run = "torch.topk", lambda: topk(v.abs(), k, sorted=False).indices
    found = timed(run, x, group="top_k", name=name, ours="largest")
    same(kernels, ours, xp.sort(kernels.asarray(found)))
