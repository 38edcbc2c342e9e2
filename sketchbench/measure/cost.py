"""Costs of computations: counted arithmetic operations, and seconds, measured in turns."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import checked
from sketchbench.measure.numbers import Sample


def count_operations(function: Callable[[Any], Any], x: NDArray[Any]) -> int:
    """Count the arithmetic operations of a function of a NumPy array while it computes.

    An element-wise operation counts 1 for each entry of its result, a matrix product over n terms 2n, moving entries 0.
    Compiled code of other libraries is not counted. Raises NotImplementedError for an operation that cannot be counted,
    such as a reduction.

    >>> count_operations(lambda x: x + 2 * x, np.ones(5))
    10
    >>> count_operations(lambda x: np.ones((3, 5)) @ x, np.ones(5))
    30
    """
    total = 0

    class Counting(np.ndarray):  # a class for each call, since new arrays inherit from their class only
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            nonlocal total
            if method != "__call__" or options:
                raise NotImplementedError(f"{ufunc.__name__}.{method} with {list(options)} cannot be counted")
            plain = [np.asarray(part) if isinstance(part, Counting) else part for part in inputs]
            result = np.asarray(ufunc(*plain))
            total += result.size * (2 * plain[0].shape[-1] if ufunc is np.matmul else 1)
            return result.view(Counting)

        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            result = super().__array_function__(function, types, args, kwargs)  # np.stack, for example, loses the class
            return result.view(Counting)

    function(np.array(x).view(Counting))
    return total


def time_in_turns(work: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, NDArray[np.float64]]:
    """Time several functions, by name, in turns, so that a slow phase of the machine slows down all of them: name ->
    seconds (repetitions,). A first round, which may compile code, is not measured."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for repetition in range(repetitions + 1):
        for name, compute in work.items():
            start = time.perf_counter()
            compute()
            if repetition:
                seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


@checked
def exponents(sizes: list[int], costs: Sample) -> NDArray[np.float64]:
    """Growth exponents (...): least-squares slopes of log cost over log size, for costs (..., sizes). Raises ValueError
    for fewer than two sizes, or costs that are not positive or don't fit."""
    if len(set(sizes)) < 2 or min(sizes) < 1 or costs.shape[-1:] != (len(sizes),) or not (costs > 0).all():
        raise ValueError(f"costs of shape {costs.shape} must be > 0, (..., {len(sizes)}), of two sizes >= 1 or more")
    logs = np.log(np.asarray(sizes, dtype=float))
    centred = logs - logs.mean()
    return np.asarray(np.log(costs) @ centred / (centred @ centred))
