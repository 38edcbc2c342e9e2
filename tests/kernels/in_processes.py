"""Sketches in threads, forked children and new processes: prints the threading layer that Numba has chosen.

usage: python tests/kernels/in_processes.py [START ...], of fork, spawn and forkserver
"""

import multiprocessing
import sys
import threading

import numba
import numpy as np

from sketchbench.sketch import CountSketch, Sketch, SubsampledHadamard

D, B = 2**16, 2**10  # worth a team of threads
FAMILIES = [SubsampledHadamard(D, B), CountSketch(D, B)]


def sketched(sketch: Sketch) -> bytes:
    x = np.random.default_rng(1).standard_normal((2, D), np.float32)
    return sketch.sketch(x).tobytes() + sketch.desketch(x[:, :B]).tobytes()


def main(starts: list[str]) -> None:
    operators = [family.draw(7, kernels="numba") for family in FAMILIES]
    expected = [sketched(one) for one in operators]

    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            wrong.extend(place for place, one in enumerate(operators) if sketched(one) != expected[place])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    for start in starts:
        with multiprocessing.get_context(start).Pool(1) as pool:
            assert pool.map(sketched, operators) == expected, start
    print(numba.threading_layer())


if __name__ == "__main__":
    main(sys.argv[1:])
