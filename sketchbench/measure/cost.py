"""What a computation costs: operations, which are counted, and seconds, measured side by side."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def operations(function: Callable[[Any], Any], x: NDArray[Any]) -> int:
    """The arithmetic operations of a function of NumPy arrays, counted while it computes: one for each entry that an
    element-wise operation returns, and 2n for each entry of a product over n. Moves of entries cost nothing.

    Only what passes through NumPy's operations on arrays is counted, not compiled code of other libraries.

    >>> operations(lambda x: x + 2 * x, np.ones(5))
    10
    >>> operations(lambda x: np.ones((3, 5)) @ x, np.ones(5))
    30
    """
    total = 0

    class Counting(np.ndarray):  # a class for each call, since new arrays inherit from their class only
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            nonlocal total
            if method != "__call__" or options:
                raise NotImplementedError(f"{ufunc.__name__}.{method} with {list(options)} is not counted")
            plain = [np.asarray(part) if isinstance(part, Counting) else part for part in inputs]
            result = np.asarray(ufunc(*plain))
            total += result.size * (2 * plain[0].shape[-1] if ufunc is np.matmul else 1)
            return result.view(Counting)

        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            result = super().__array_function__(function, types, args, kwargs)  # such as np.stack, which forgets
            return result.view(Counting)

    function(np.array(x).view(Counting))
    return total


def side_by_side(work: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, NDArray[np.float64]]:
    """The seconds of several computations (repetitions,) each, which take turns, so that whatever slows down the
    machine for a while slows down all of them. One round before, which may compile, is not measured."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for repetition in range(repetitions + 1):
        for name, compute in work.items():
            start = time.perf_counter()
            compute()
            if repetition:
                seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def exponents(sizes: list[int], costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The slopes of log cost over log size, (...), for costs of shape (..., sizes)."""
    logs = np.log(np.asarray(sizes, dtype=float))
    centred = logs - logs.mean()
    return np.asarray(np.log(costs) @ centred / (centred @ centred))
