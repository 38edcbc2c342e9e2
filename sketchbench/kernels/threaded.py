"""Functions that Numba compiles twice: with threads and without."""

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
        (self.team if threads() > 1 else self.alone)(*arguments)


def threads() -> int:
    """The number of threads that may run. Numba's threads are not started where it is 1."""
    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    return most if most == 1 else int(numba.get_num_threads())


def _rename(function: Any) -> Callable[..., None]:
    """A copy of the function under another name.

    Numba's cache finds a function by its name, place and argument types, not by its compiler options, so under one name
    it would load one of the two versions for the other.
    """
    name = f"{function.__name__}_alone"
    copy = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    copy.__qualname__, copy.__module__ = name, function.__module__
    return copy
