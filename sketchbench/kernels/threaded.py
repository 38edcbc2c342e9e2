"""Functions that Numba compiles twice, with threads and without."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
from numba import njit


class Threaded:
    """A function with loops over `prange`, which return nothing; compiled as it is called for. A decorator.

    `alone` is the function without threads: it starts, and is loaded from Numba's cache, faster. It is what a call
    takes where there is one thread only; what has too little work for a team calls it by name.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self.team = njit(cache=True, parallel=True)(function)
        self.alone = njit(cache=True)(_renamed(function))

    def __call__(self, *arguments: Any) -> None:
        (self.team if threads() > 1 else self.alone)(*arguments)


def threads() -> int:
    """How many threads may run; without starting them, where it is one."""
    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    return most if most == 1 else int(numba.get_num_threads())


def _renamed(function: Any) -> Callable[..., None]:
    """The function under another name: Numba's cache knows one by its name, its place and the types of its arguments,
    not by how it was compiled, so under one name each of the two would be loaded in the other's stead."""
    name = f"{function.__name__}_alone"
    copy = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    copy.__qualname__, copy.__module__ = name, function.__module__
    return copy
