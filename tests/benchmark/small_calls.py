"""Times small calls on two cores, as Numba shares them out by default: prints the median seconds of each as JSON.

usage: python tests/benchmark/small_calls.py
"""

import json
import statistics
import time
from collections.abc import Callable

import numpy as np

from sketchbench import CountSketch, SubsampledHadamard
from sketchbench.kernels import load

SECONDS = 1.0  # of each call's repetitions


def median(call: Callable[[], object]) -> float:
    """The median of the seconds of single calls; the first compiles, and does not count."""
    call()
    seconds: list[float] = []
    end = time.perf_counter() + SECONDS
    while (start := time.perf_counter()) < end:
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main() -> None:
    kernels = load("numba")
    x, long = np.random.default_rng(0).standard_normal(1024), np.zeros((1, 2**18), np.float32)
    srht, count_sketch = (family(1024, 256).draw(1, kernels=kernels) for family in (SubsampledHadamard, CountSketch))
    calls: dict[str, Callable[[], object]] = {
        "SRHT of 2^10 entries": lambda: srht.sketch(x),
        "CountSketch of 2^10 entries": lambda: count_sketch.sketch(x),
        "top-k of 2^10 entries": lambda: kernels.largest(x[None], 32),
        "Walsh-Hadamard transform of 2^18 entries": lambda: kernels.walsh_hadamard(long),
    }
    print(json.dumps({name: median(call) for name, call in calls.items()}))


if __name__ == "__main__":
    main()
