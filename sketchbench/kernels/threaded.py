"""Functions that Numba compiles twice: with threads and without.
They may be called in any process and thread, under each of Numba's threading layers. A forked child has none of its
parent's threads, and OpenMP would end the child, for which a pool waits for ever; so functions run without threads
there. Numba's workqueue aborts if two teams run at once, so they run one after the other."""

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba import njit

WORTH_A_TEAM = 2**16  # nanoseconds, about: with less work, one thread has finished before others help


class Threaded:
    """A decorator for functions with loops over `prange` and without a result, compiled at their first call. A call
    runs `alone`, without threads, which starts and loads faster, if only one thread may run or has enough to do."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.team = njit(cache=True, parallel=True)(function)
        self.alone = njit(cache=True)(_rename(function))

    def __call__(self, *arguments: Any, work: int) -> None:
        """Run the function. `work` is the work of the loop after its first turn, which other threads may take over, in
        steps of about a nanosecond; 0 for a loop of one turn."""
        count = threads(work)
        if count == 1:
            self.alone(*arguments)
        elif numba.threading_layer() == "workqueue":  # type: ignore[attr-defined]
            with _ONE_TEAM:
                self._share(count, arguments)
        else:
            self._share(count, arguments)

    def _share(self, count: int, arguments: tuple[Any, ...]) -> None:
        before = numba.get_num_threads()
        if count == before:
            self.team(*arguments)
            return
        numba.set_num_threads(count)
        try:
            self.team(*arguments)
        finally:
            numba.set_num_threads(before)


def cores(root: Path = Path("/")) -> int:
    """The number of cores that this process may use: in its affinity mask, or fewer if the CPU quota of a container (a
    cgroup of version 1 or 2) pays for fewer, rounded up."""
    return min([numba.config.NUMBA_DEFAULT_NUM_THREADS, *_quotas(root)])  # type: ignore[attr-defined]


def _quotas(root: Path) -> Iterator[int]:
    """The quotas, in cores, of this process's groups and the groups around them; none if no group has one."""
    groups = root / "proc/self/cgroup"
    for line in groups.read_text().splitlines() if groups.exists() else []:
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top, files = root / "sys/fs/cgroup", ["cpu.max"]
        if controllers:  # version 1
            top, files = top / "cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        own = top / group.lstrip("/")
        for folder in (own, *own.parents[: len(own.parts) - len(top.parts)]):
            with suppress(FileNotFoundError):
                quota, period = " ".join((folder / name).read_text() for name in files).split()
                if quota not in ("max", "-1"):
                    yield max(1, -(-int(quota) // int(period)))


_ASKED_FOR = "NUMBA_NUM_THREADS" in os.environ
_MOST: int = numba.config.NUMBA_NUM_THREADS if _ASKED_FOR else cores()  # type: ignore[attr-defined]
_ONE_TEAM = threading.RLock()
_FORKED = threading.Event()  # set in a forked child
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_FORKED.set)


def threads(work: int) -> int:
    """The number of threads for so much work, as a call of `Threaded` states it: 1 for little, and in a forked child;
    then Numba's threads are not started. At most `cores()`, unless NUMBA_NUM_THREADS says otherwise."""
    if work < WORTH_A_TEAM or _MOST == 1 or _FORKED.is_set():
        return 1
    _start()
    return min(_MOST, int(numba.get_num_threads()))


@functools.cache
def _start() -> None:
    """Start Numba's threads, with OpenMP's set to sleep while they wait for each other. By default they spin, and if
    other programs run, keep the thread that they wait for from its core. OpenMP reads the variable when it is loaded,
    so an OpenMP that is already loaded, such as torch's, is unchanged; the variable is restored for others."""
    given = "OMP_WAIT_POLICY" in os.environ
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    numba.get_num_threads()
    if not given:
        os.environ.pop("OMP_WAIT_POLICY", None)


def _rename(function: Any) -> Callable[..., None]:
    """A copy of the function under another name. Numba's cache finds a function by its name, place and argument types,
    not by its compiler options, so under one name it would load one of the two versions for the other."""
    name = f"{function.__name__}_alone"
    copy = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    copy.__qualname__, copy.__module__ = name, function.__module__
    return copy
