"""The CUDA source of the CuPy kernels, as the code hands it to CuPy, without CuPy."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

STAND_IN = Path(__file__).parent / "emulated"
ROOT = Path(__file__).parents[2]
_SHOW = (
    "import json; from sketchbench.kernels import cupy_kernels as k; "
    "print(json.dumps([k._CODE, k._OPTIONS, k._NAMES + k._WIDE_NAMES]))"
)


class Source(NamedTuple):
    code: str
    options: tuple[str, ...]
    names: tuple[str, ...]


@functools.cache
def source() -> Source:
    search = os.pathsep.join([str(STAND_IN), str(ROOT)])
    shown = subprocess.run(
        [sys.executable, "-c", _SHOW],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=True,
    )
    code, options, names = json.loads(shown.stdout)
    return Source(code, tuple(options), tuple(names))
