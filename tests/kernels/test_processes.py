"""Kernels in threads, forked children and new processes, under every threading layer of Numba that is installed.

Each test is a process of its own with a time limit, since what went wrong before hung or aborted.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "in_processes.py"
LIMIT = 300  # seconds; it takes three


def run(layer: str, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "3", "OMP_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.mark.parametrize(
    ("layer", "starts"), [("omp", ["fork", "spawn", "forkserver"]), ("workqueue", ["fork"]), ("tbb", ["fork"])]
)
def test_every_layer(layer: str, starts: list[str]) -> None:
    """Threads at once, and pools after a sketch in the parent, give the same bits."""
    done = run(layer, str(SCRIPT), *starts)
    if "No threading layer could be loaded" in done.stderr:
        pytest.skip(f"Numba's layer {layer} is not installed")
    assert (done.returncode, done.stdout) == (0, f"{layer}\n"), done.stderr


LAYER = """
import multiprocessing, torch
from sketchbench.learning.model.sketched import SketchedLinear
from sketchbench.sketch import SubsampledHadamard

torch.manual_seed(0)
layer, x = SketchedLinear(2048, 256, SubsampledHadamard(2048, 256)), torch.randn(500, 2048)
layer.draw(3)

def outputs(layer):
    layer.zero_grad()
    z = layer(x)
    z.sum().backward()
    return torch.cat([z.flatten(), layer.weight.grad.flatten()]).detach().numpy()

expected = outputs(layer)
with multiprocessing.get_context("fork").Pool(1) as pool:
    (found,) = pool.map(outputs, [layer])
print(torch.allclose(torch.from_numpy(found), torch.from_numpy(expected), rtol=1e-3, atol=1e-3))
"""


def test_a_sketched_layer_in_a_forked_child() -> None:
    done = run("omp", "-c", LAYER)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
