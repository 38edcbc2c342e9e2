"""SRHT and CountSketch of one vector, up to the gradient of a language model: time, and memory beside the input."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from peers import on_cpu

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.sketch import CountSketch, SubsampledHadamard

SIZES = [2**20, 2**22, 2**24, 124_000_000]
FAMILIES = {"srht": SubsampledHadamard, "count_sketch": CountSketch}
RATIO = 16  # d / b


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("d", SIZES)
def test_gradient(timed: Any, kernels: Kernels, d: int, name: str) -> None:
    x = kernels.asarray(np.random.default_rng(0).standard_normal((d,), dtype=np.float32))
    sketch = FAMILIES[name](d, d // RATIO).draw(seeds.key(0), kernels=kernels)
    timed(lambda: sketch.sketch(x), x, group="gradient", name=name, b=d // RATIO)


# In a process of its own, which has compiled what it times, and holds its input, before what counts. The peak is that
# of what is resident, which Linux can set back.
MEASURED = """
import json, sys, time
from pathlib import Path
import numpy as np
from sketchbench import sketch

kernels, name, d, b = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
family = getattr(sketch, name)

def resident(which):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(which))

family(2**18, 2**14).draw(0, kernels=kernels).sketch(np.ones(2**18, np.float32))
x = np.ones(d, np.float32)
before = resident("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
start = time.perf_counter()
drawn = family(d, b).draw(1, kernels=kernels)
middle = time.perf_counter()
drawn.sketch(x)
seconds = {"draw_seconds": middle - start, "sketch_seconds": time.perf_counter() - middle}
copies = {"peak_copies": (resident("VmHWM") - before) / x.nbytes}
json.dump(copies | seconds, sys.stdout)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("d", SIZES)
def test_memory(benchmark: Any, kernels: Kernels, d: int, name: str) -> None:
    on_cpu(kernels)

    def measure() -> dict[str, float]:
        arguments = [kernels.NAME, FAMILIES[name].__name__, str(d), str(d // RATIO)]
        done = subprocess.run([sys.executable, "-c", MEASURED, *arguments], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    benchmark.group, benchmark.name = "memory", f"{name} {d}"
    values = benchmark.pedantic(measure, rounds=1, iterations=1)
    size = {"d": d, "b": d // RATIO, "rows": 1, "dtype": "float32"}
    benchmark.extra_info |= {"name": name, "values": values, **size}
