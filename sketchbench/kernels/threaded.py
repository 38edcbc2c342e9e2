"""Functions that Numba compiles twice: with threads and without.

They may be called in any process and thread, under each of Numba's threading layers. A forked child has none of its
parent's threads, and OpenMP would end it, for which a pool waits for ever; so functions run without threads there.
Numba's workqueue aborts where two teams run at once, so they run one after the other.
"""

import os
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
from numba import njit


class Threaded:
    """A decorator for functions with loops over `prange` and without a result, compiled at their first call.

    `alone` is the function without threads, which starts faster, and loads faster from Numba's cache. A call uses it
    where only one thread may run; callers with little work use it by name.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self.team = njit(cache=True, parallel=True)(function)
        self.alone = njit(cache=True)(_rename(function))

    def __call__(self, *arguments: Any) -> None:
        if threads() == 1:
            self.alone(*arguments)
        elif numba.threading_layer() == "workqueue":  # type: ignore[attr-defined]
            with _ONE_TEAM:
                self.team(*arguments)
        else:
            self.team(*arguments)


_ONE_TEAM = threading.RLock()
_FORKED = threading.Event()  # set in a forked child
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_FORKED.set)


def threads() -> int:
    """The number of threads that may run: 1 in a forked child. Numba's threads are not started where it is 1."""
    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    return 1 if most == 1 or _FORKED.is_set() else int(numba.get_num_threads())


def _rename(function: Any) -> Callable[..., None]:
    """A copy of the function under another name.

    Numba's cache finds a function by its name, place and argument types, not by its compiler options, so under one name
    it would load one of the two versions for the other.
    """
    name = f"{function.__name__}_alone"
    copy = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    copy.__qualname__, copy.__module__ = name, function.__module__
    return copy
