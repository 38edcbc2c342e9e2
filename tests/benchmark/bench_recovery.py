"""Recoveries of sparse signals (tang2021 Appendix C), and FIHT at the size of the paper."""

from collections.abc import Callable
from typing import Any

import pytest
from peers import SIZES, same, tensor, torch

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.sketch import BlockSparseEmbedding, SubsampledHadamard
from sketchbench.sketch.recovery import FIHT, IHT, CountSketchMedian, Desketch
from sketchbench.task.recovery import signals

PAPER = {"d": 668_426, "b": 334_213, "k": 30_000}
METHODS = {"fiht": FIHT, "iht": IHT, "count_sketch_median": CountSketchMedian, "desketch": Desketch}


def measure(timed: Any, kernels: Kernels, name: str, d: int, b: int, k: int, count: int) -> None:
    x = signals.draw("sparse", d, k, count, seed=0)
    method = name.partition(".")[0]
    if method in ("fiht", "iht"):
        recovery = METHODS[method](k, stopping="paper", support="padded")
        family = SubsampledHadamard(d, b, signs=False)
    else:
        recovery, family = METHODS[method](k), BlockSparseEmbedding(d, b, s=5)
    sketch = family.draw(seeds.key(0), kernels=kernels)
    x = kernels.asarray(x)
    y = sketch.sketch(x)
    iterations = float(recovery.recover(sketch, y).iterations.mean())
    more = {"group": "recovery", "name": name, "b": b, "iterations": iterations}
    timed(lambda: recovery.recover(sketch, y), x, **more)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("d", SIZES)
def test_recovery(timed: Any, kernels: Kernels, d: int, name: str) -> None:
    k = d * PAPER["k"] // PAPER["d"]
    b = d // 2 if name in ("fiht", "iht") else 5 * (d // 10)
    measure(timed, kernels, name, d, b, k, 1)


@pytest.mark.parametrize("count", [1, 20])
def test_paper_size(timed: Any, kernels: Kernels, count: int) -> None:
    measure(timed, kernels, "fiht.paper", **PAPER, count=count)


# The d/32 entries of largest magnitude, beside NumPy and PyTorch


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
