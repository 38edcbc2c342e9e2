"""Deterministic Hypothesis, one thread for each worker, and the kernels that tests run on."""

import functools
import gc
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from sketchbench.base import arithmetic

HELD = arithmetic.hold()  # before NumPy and torch are imported, which read variables once
if os.environ.get("EMULATED_CUDA"):  # as emulator.py in tests/cuda has it; other processes find the stand-in as well
    STAND_IN = str(Path(__file__).parent / "cuda" / "emulated")
    sys.path.insert(0, STAND_IN)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [STAND_IN, os.environ.get("PYTHONPATH")]))

import numba
import pytest
from examples import EMULATED, FUZZ, examples
from hypothesis import settings
from once import take_folder
from threadpoolctl import threadpool_limits

from sketchbench import kernels as backends
from sketchbench.kernels import Kernels

TRIED = examples(40, deadline=None, derandomize=not FUZZ, database=None, print_blob=bool(FUZZ))
settings.register_profile("tried", TRIED)
settings.load_profile("tried")


LONG = ("tests/workflow/", "tests/mutant/", "tests/cuda/test_compiles.py")
ON_DEVICE = re.compile(r": Kernels\b|\bGPU\b|\bmark\.(?:gpu|cuda)\b")


@functools.cache
def for_device(path: Path) -> bool:
    """Whether a file of tests looks like one with tests for a device; to collect all others takes half a minute."""
    return ON_DEVICE.search(path.read_text()) is not None


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if EMULATED and collection_path.name.startswith("test_") and not for_device(collection_path):
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no worker is left alone with it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
    marked = {item.path for item in items if item.get_closest_marker("gpu") or item.get_closest_marker("cuda")}
    if missed := [str(path) for path in marked if not for_device(path)]:
        raise pytest.UsageError(f"the emulated device would not see the tests of {', '.join(missed)}: see ON_DEVICE")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("git") and shutil.which("git") is None:
        pytest.skip("not installed: git")


def pytest_collection_finish() -> None:
    """No later garbage collection looks at modules and tests again, which took a twentieth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Enough for small problems; workers side by side then don't wait for each other's threads."""
    numba.set_num_threads(1)
    threadpool_limits(limits=1)  # Numba began with as many as there are cores, which torch takes over


@pytest.fixture(scope="session", autouse=True)
def folder_of_all_workers(tmp_path_factory: pytest.TempPathFactory) -> None:
    take_folder(tmp_path_factory)


KNOWN: set[str] = set()  # modules that are no user's


@pytest.fixture(autouse=True)
def no_modules_of_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A user's module, which a test wrote, does not outlive it: another test's may have its name."""
    yield
    written = str(tmp_path_factory.getbasetemp())
    for name in sys.modules.keys() - KNOWN:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(written):
            del sys.modules[name]
        else:
            KNOWN.add(name)


_MISSING = backends.device_missing()
GPU = pytest.param("cupy", marks=[pytest.mark.gpu, pytest.mark.skipif(_MISSING is not None, reason=str(_MISSING))])


@pytest.fixture(scope="session", params=["numpy", "numba", GPU])
def kernels(request: pytest.FixtureRequest) -> Kernels:
    return backends.load(request.param)


@pytest.fixture(scope="session", params=["numba", GPU])
def compiled(request: pytest.FixtureRequest) -> Kernels:
    return backends.load(request.param)


@pytest.fixture(scope="session")
def reference() -> Kernels:
    """The NumPy backend, which defines what the others must give."""
    return backends.load("numpy")
