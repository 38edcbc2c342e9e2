"""SRHT and CountSketch of one vector, up to the gradient of a language model: time, and memory beside the input."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from peers import on_cpu

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.sketch import CountSketch, SubsampledHadamard

SIZES = [2**20, 2**22, 2**24, 124_000_000]
FAMILIES = {"srht": SubsampledHadamard, "count_sketch": CountSketch}
RATIO = 16  # d / b
RESIDENT = Path(__file__).with_name("resident.py")


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("d", SIZES)
def test_gradient(timed: Any, kernels: Kernels, d: int, name: str) -> None:
    x = kernels.asarray(np.random.default_rng(0).standard_normal((d,), dtype=np.float32))
    sketch = FAMILIES[name](d, d // RATIO).draw(seeds.key(0), kernels=kernels)
    timed(lambda: sketch.sketch(x), x, group="gradient", name=name, b=d // RATIO)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("d", SIZES)
def test_memory(benchmark: Any, kernels: Kernels, d: int, name: str) -> None:
    on_cpu(kernels)

    def measure() -> dict[str, float]:
        arguments = [kernels.NAME, FAMILIES[name].__name__, str(d), str(d // RATIO)]
        done = subprocess.run([sys.executable, RESIDENT, *arguments], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    benchmark.group, benchmark.name = "memory", f"{name} {d}"
    values = benchmark.pedantic(measure, rounds=1, iterations=1)
    size = {"d": d, "b": d // RATIO, "rows": 1, "dtype": "float32"}
    benchmark.extra_info |= {"name": name, "values": values, **size}
