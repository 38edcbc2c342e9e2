"""What the benchmarks share: the kernels they time, and the copy that every time is compared with.

Run by `make bench`, never by a plain `pytest`: the files are called bench_*.py, and nothing in them
fails because it is slow but bench_busy.py.
"""

import os
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sketchbench import kernels as backends
from sketchbench.kernels import Array, Kernels, threaded
from sketchbench.kernels.device import recorded_name

ROUNDS = 20  # of a copy, before a benchmark and again after it
ROUND = 1e-3  # seconds, at least


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kernels", default="numba", help="what is timed: numba, cupy or numpy")


def pytest_configure(config: pytest.Config) -> None:
    try:
        backends.usable(_kernels(config))
    except (RuntimeError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None


def pytest_report_header() -> str:
    """A thread that has to wait for another program's time slice makes all others wait."""
    return f"load: {os.getloadavg()[0]:.1f} (times on all cores mean little above 0.5)"


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Not here: times are those of all threads."""


def _kernels(config: pytest.Config) -> str:
    return str(config.getoption("--kernels", default="numba"))


@pytest.fixture(scope="session")
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels that are timed."""
    return backends.load(_kernels(request.config))


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """What the table wants to know of the machine."""
    name = backends.usable(_kernels(config))
    if name == "cupy":
        import cupy

        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        device, threads = properties["name"].decode(), 1
    else:
        device = machine_info["cpu"].get("brand_raw", machine_info["machine"])
        threads = threaded.threads(threaded.WORTH_A_TEAM) if name == "numba" else os.cpu_count()
    machine_info["sketchbench"] = {"kernels": recorded_name(name), "device": device, "threads": threads}


class Timed:
    """Times a function and, before and after it, a copy of its input, since clocks drift; a first call compiles."""

    def __init__(self, benchmark: Any, kernels: Kernels) -> None:
        self._benchmark = benchmark
        self._kernels = kernels

    def __call__(
        self,
        run: Callable[[], Any],
        x: Array,
        *,
        group: str,
        name: str,
        b: int | None = None,
        ours: str | None = None,
        **others: Any,
    ) -> Any:
        """Time `run`, whose vectors of d entries are x (..., d), and return its result.

        ours: the benchmark of this group and size that a function of another library is a peer of.
        others: more columns of the table.
        """
        result = run()
        before = self._copy_seconds(x)
        self._benchmark.group, self._benchmark.name = group, f"{name} {x.shape} {x.dtype}"
        self._benchmark(self._waiting(run))
        self._benchmark.extra_info |= {
            "name": name,
            "dtype": str(x.dtype),
            "d": x.shape[-1],
            "b": b,
            "rows": x.size // x.shape[-1],
            "ours": ours,
            "copy_seconds": min(before, self._copy_seconds(x)),
            **others,
        }
        return result

    def _waiting(self, run: Callable[[], Any]) -> Callable[[], Any]:
        """The same on a GPU until it is done."""
        if self._kernels.NAME != "cupy":
            return run
        wait = self._kernels.xp.cuda.Device().synchronize

        def finished() -> None:
            run()
            wait()

        return finished

    def _copy_seconds(self, x: Array) -> float:
        target = self._kernels.xp.empty_like(x)
        copy = self._waiting(lambda: self._kernels.xp.copyto(target, x))
        timer, loops = timeit.Timer(copy), 1
        while timer.timeit(loops) < ROUND:
            loops *= 2
        return min(timer.repeat(ROUNDS, loops)) / loops


@pytest.fixture
def timed(benchmark: Any, kernels: Kernels) -> Timed:
    return Timed(benchmark, kernels)


@pytest.fixture
def normals(kernels: Kernels) -> Callable[..., Array]:
    """Arrays of normals, where the kernels compute: normals(shape, dtype)."""

    def draw(shape: tuple[int, ...], dtype: str = "float64") -> Array:
        return kernels.asarray(np.random.default_rng(0).standard_normal(shape).astype(dtype))

    return draw
