"""Small calls beside busy programs: the one time that `make bench` holds to a limit, since it was a thousand times the
quiet one. It is a ratio of two times of one machine, and was 1 to 2 once no team of threads started for a small call.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sketchbench.kernels import Kernels

CALLS = Path(__file__).with_name("small_calls.py")
BUSY = "while True: pass"
MOST = 10  # times the quiet median


@pytest.fixture
def two_cores() -> Iterator[None]:
    """Two of the machine's cores, for this process and those that it starts."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("the system can't keep processes on two cores")
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("times threads on two cores, and there is one")
    os.sched_setaffinity(0, sorted(before)[:2])
    yield
    os.sched_setaffinity(0, before)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def medians() -> dict[str, float]:
    """Of a process of its own, in which Numba's threads wait as they do by default."""
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OMP_WAIT_POLICY")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run([sys.executable, CALLS], env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.usefixtures("two_cores")
def test_small_calls_beside_busy_processes(kernels: Kernels, capsys: pytest.CaptureFixture[str]) -> None:
    if kernels.NAME != "numba":
        pytest.skip("times Numba's threads")
    quiet = medians()
    with busy_processes(2):
        busy = medians()
    with capsys.disabled():
        for name, seconds in quiet.items():
            print(f"\n{name}: {1e6 * seconds:.1f} us, beside two busy processes {1e6 * busy[name]:.1f} us", end="")
    assert {name: busy[name] / seconds for name, seconds in quiet.items() if busy[name] > MOST * seconds} == {}
