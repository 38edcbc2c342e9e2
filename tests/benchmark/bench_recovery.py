"""Recoveries of sparse signals (tang2021 Appendix C), and FIHT at the size of the paper."""

from typing import Any

import pytest
from peers import SIZES

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
