"""Time a copy, the Walsh-Hadamard transform, CountSketch and FIHT at the size of tang2021, and write them as JSON.

usage: python workflow/kernel_speed.py [--kernels cupy] [--largest 26] [--small] --out FILE

Bandwidths count each byte that an operation must read or write once, so that the copy's is the most there is. `--small`
takes a hundredth of the paper's size, to try the program on a CPU.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.kernels import device
from sketchbench.sketch import CountSketch, SubsampledHadamard
from sketchbench.sketch.recovery import FIHT
from sketchbench.task.recovery import signals

PAPER = {"d": 668_426, "b": 334_213, "k": 30_000}
REPEATS = 7


def seconds(backend: Any, operation: Callable[[], Any]) -> float:
    """The least of some repeats, after one that is not timed."""
    times = []
    for repeat in range(REPEATS + 1):
        start = time.perf_counter()
        operation()
        if backend.NAME == "cupy":
            backend.xp.cuda.Device().synchronize()
        if repeat:
            times.append(time.perf_counter() - start)
    return min(times)


def speeds(backend: Any, largest: int) -> Iterator[dict[str, Any]]:
    """Seconds and bytes of each operation in float32 at lengths 2^20 and above, or at 2^largest alone."""
    for log in range(min(20, largest), largest + 1, 2):
        n = 2**log
        x = backend.asarray(np.random.default_rng(log).standard_normal(n, dtype=np.float32))
        target = backend.empty((n,), np.float32)
        rows, family = x[None], CountSketch(n, n // 10)
        operator = family.draw(seeds.key(0), kernels=backend)
        operator.sketch(rows, check_finite=False)  # which sorts the entries by bucket

        def copy(target: Any = target, x: Any = x) -> None:
            target[...] = x

        def transform(rows: Any = rows) -> None:
            backend.walsh_hadamard(rows)

        def sketch(operator: Any = operator, rows: Any = rows) -> None:
            operator.sketch(rows, check_finite=False)

        moved = {"copy": 8 * n, "walsh_hadamard": 8 * n, "count_sketch": (4 + 4 + 1) * n + (8 + 4) * (n // 10)}
        for name, operation in (("copy", copy), ("walsh_hadamard", transform), ("count_sketch", sketch)):
            took = seconds(backend, operation)
            yield {"name": name, "n": n, "seconds": took, "gigabytes_per_second": moved[name] / took / 1e9}


def fiht(backend: Any, size: dict[str, int]) -> dict[str, Any]:
    """A recovery at the size of tang2021."""
    recovery = FIHT(size["k"], stopping="paper", support="padded")
    family = SubsampledHadamard(size["d"], size["b"], signs=False)
    operator = family.draw(seeds.key(0), kernels=backend)
    y = operator.sketch(backend.asarray(signals.draw("sparse", size["d"], size["k"], 1, seed=0)))
    return {"name": "fiht", **size, "seconds": seconds(backend, lambda: recovery.recover(operator, y))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--kernels", default="cupy")
    parser.add_argument("--largest", type=int, default=26, help="log2 of the longest vector (26)")
    parser.add_argument("--small", action="store_true", help="FIHT at a hundredth of the paper's size")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    backend = kernels.load(options.kernels)
    size = {name: value // 100 for name, value in PAPER.items()} if options.small else PAPER
    found = [*speeds(backend, options.largest), fiht(backend, size)]
    options.out.write_text(json.dumps({"kernels": device.recorded_name(options.kernels), "speeds": found}, indent=1))


if __name__ == "__main__":
    main()
