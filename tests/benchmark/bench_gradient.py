"""SRHT and CountSketch of one vector, up to the gradient of a language model: time, and memory beside the input."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from peers import on_cpu, scipy

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.sketch import AMS, CountSketch, Gaussian, SparseEmbedding, SubsampledHadamard

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


# Sparse embeddings with s = 4, and their transpose, beside sparse matrices of SciPy and scikit-learn


S = 4


@pytest.mark.parametrize("case", ["sketch", "scipy.sparse.csc_matrix", "desketch", "scipy.sparse.csr_matrix"])
def test_sparse_embedding(timed: Any, kernels: Kernels, normals: Callable[..., Any], case: str) -> None:
    d, b = 2**20, 2**16
    x, y, xp = normals((d,)), normals((b,)), kernels.xp

    def measure(run: Callable[[], Any], ours: str | None = None) -> None:
        timed(run, x, group="sparse_embedding", name=case, b=b, ours=ours)

    if not case.startswith("scipy"):
        sketch = SparseEmbedding(d, b, s=S).draw(seeds.key(0), kernels=kernels)
        if case == "sketch":
            measure(lambda: sketch.sketch(x, check_finite=False))
        else:
            measure(lambda: sketch.desketch(y, check_finite=False))
        return
    rng = np.random.default_rng(0)
    rows = kernels.asarray(rng.integers(b, size=S * d, dtype=np.int32))
    signs = kernels.asarray(rng.choice([-(S**-0.5), S**-0.5], S * d))
    starts = xp.arange(0, S * d + 1, S, dtype="int32")
    matrix = scipy(kernels, "sparse").csc_matrix((signs, rows, starts), (b, d))
    if case.endswith("csr_matrix"):
        measure(lambda: matrix.T @ y, "desketch")
    else:
        measure(lambda: matrix @ x, "sketch")


@pytest.mark.parametrize("case", ["sketch", "sklearn.SparseRandomProjection"])
@pytest.mark.parametrize("rows", [1, 64])
def test_few_rows(timed: Any, kernels: Kernels, normals: Callable[..., Any], rows: int, case: str) -> None:
    """Both check that the input is finite."""
    d, b = 2**16, 256
    x = normals((rows, d))
    if case == "sketch":
        sketch = SparseEmbedding(d, b, s=S).draw(seeds.key(0), kernels=kernels)
        timed(lambda: sketch.sketch(x), x, group="sparse_embedding", name=case, b=b)
        return
    on_cpu(kernels)
    from sklearn.random_projection import SparseRandomProjection

    peer = SparseRandomProjection(b, density=S / b, random_state=0).fit(x)
    timed(lambda: peer.transform(x), x, group="sparse_embedding", name=case, b=b, ours="sketch")


# Dense sketches beside the stored matrix of scikit-learn, and the memory that the largest one takes


DENSE = {"gaussian": Gaussian, "ams": AMS}
STORED = "sklearn.GaussianRandomProjection"  # fitted, that is drawn, before
DRAWN = f"{STORED}+fit"  # drawn and applied: what the others do


@pytest.mark.parametrize("case", [*DENSE, STORED, DRAWN])
@pytest.mark.parametrize("rows", [1, 64])
def test_dense(timed: Any, kernels: Kernels, normals: Callable[..., Any], rows: int, case: str) -> None:
    d, b = 2**16, 256
    x = normals((rows, d))
    if case in DENSE:
        sketch = DENSE[case](d, b).draw(seeds.key(0), kernels=kernels)
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
def test_memory_of_dense(benchmark: Any, kernels: Kernels) -> None:
    on_cpu(kernels)

    def measure() -> dict[str, float]:
        command = [sys.executable, "-c", LARGE, kernels.NAME]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    benchmark.group, benchmark.name = "memory", "gaussian"
    values = benchmark.pedantic(measure, rounds=1, iterations=1)
    size = {"d": 668_426, "b": 10_000, "rows": 1, "dtype": "float64"}
    benchmark.extra_info |= {"name": "gaussian", "values": values, **size}
