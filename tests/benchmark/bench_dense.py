"""Dense sketches, generated while they are applied, beside the stored matrix of scikit-learn; and the
memory that the largest one takes."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from peers import on_cpu

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.sketch import AMS, Gaussian

FAMILIES = {"gaussian": Gaussian, "ams": AMS}
STORED = "sklearn.GaussianRandomProjection"  # fitted, that is drawn, before
DRAWN = f"{STORED}+fit"  # drawn and applied: what the others do


@pytest.mark.parametrize("case", [*FAMILIES, STORED, DRAWN])
@pytest.mark.parametrize("rows", [1, 64])
def test_dense(timed: Any, kernels: Kernels, normals: Callable[..., Any], rows: int, case: str) -> None:
    d, b = 2**16, 256
    x = normals((rows, d))
    if case in FAMILIES:
        sketch = FAMILIES[case](d, b).draw(seeds.key(0), kernels=kernels)
        timed(lambda: sketch.sketch(x), x, group="dense", name=case, b=b)
        return
    on_cpu(kernels)
    from sklearn.random_projection import GaussianRandomProjection

    peer = GaussianRandomProjection(b, random_state=0).fit(x)
    run = peer.transform if case == STORED else peer.fit_transform
    timed(lambda: run(x), x, group="dense", name=case, b=b, ours="gaussian")


# In a process of its own: what this one holds already is not counted. VmHWM, and not what getrusage
# says, which starts with the memory of the process that a new one is forked from.
LARGE = """
import json, os, sys, time
import numpy as np
from sketchbench.sketch import Gaussian

kernels = sys.argv[1]
Gaussian(2**14, 2**9).draw(0, kernels=kernels).sketch(np.ones(2**14))  # compiles
sketch, x = Gaussian(668_426, 10_000).draw(1, kernels=kernels), np.ones(668_426)
wall, cpu = time.perf_counter(), time.process_time()
sketch.sketch(x)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
json.dump({"peak_mib": peak / 2**10, "wall_seconds": wall, "cpu_per_wall": cpu / wall}, sys.stdout)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory(benchmark: Any, kernels: Kernels) -> None:
    on_cpu(kernels)

    def measure() -> dict[str, float]:
        command = [sys.executable, "-c", LARGE, kernels.NAME]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    benchmark.group, benchmark.name = "memory", "gaussian"
    values = benchmark.pedantic(measure, rounds=1, iterations=1)
    size = {"d": 668_426, "b": 10_000, "rows": 1, "dtype": "float64"}
    benchmark.extra_info |= {"name": "gaussian", "values": values, **size}
