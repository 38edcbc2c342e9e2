"""What drawing and applying a sketch of a long vector takes beside the vector."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RESIDENT = Path(__file__).parents[1] / "benchmark" / "resident.py"
D = 7_750_000  # padded by as much as a language model's gradient of 124 million, to a power of two


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("family", "limit"), [("SubsampledHadamard", 2.0), ("CountSketch", 2.0)])
def test_memory_beside_the_input(family: str, limit: float) -> None:
    """The padded copy of SRHT is 1.08 of it, the buckets of CountSketch 1 and the signs of either 0.25."""
    command = [sys.executable, RESIDENT, "numba", family, str(D), str(D // 16)]
    returned = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}  # what is freed is at once no longer resident
    done = subprocess.run(command, env=returned, capture_output=True, text=True, check=True)
    peak = json.loads(done.stdout)["peak_copies"]
    assert 1 < peak < limit
