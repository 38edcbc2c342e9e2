"""Memory and time of a sketch: `python resident.py KERNELS FAMILY D B` prints JSON. Linux only.

The process compiles what it measures and makes its input before it measures the peak, which Linux can set back.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from sketchbench import sketch


def resident(which: str) -> int:
    """Bytes, as the kernel counts them: VmRSS for now, VmHWM for the peak."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(which))


def main(kernels: str, name: str, d: int, b: int) -> dict[str, float]:
    """The peak beside the float32 input, in copies of it, while an operator is drawn and applied; and seconds."""
    family = getattr(sketch, name)
    d_first = 2**22 + 1  # from here on every loop has a team of threads, which is compiled apart
    family(d_first, d_first // 16).draw(0, kernels=kernels).sketch(np.ones(d_first, np.float32))
    x = np.ones(d, np.float32)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    start = time.perf_counter()
    drawn = family(d, b).draw(1, kernels=kernels)
    middle = time.perf_counter()
    drawn.sketch(x)
    stop = time.perf_counter()
    copies = (resident("VmHWM") - before) / x.nbytes
    return {"peak_copies": copies, "draw_seconds": middle - start, "sketch_seconds": stop - middle}


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:3], *map(int, sys.argv[3:])), sys.stdout)
