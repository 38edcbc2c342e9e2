"""Checks of the arrays that enter and leave a round of a compressor: of the right kind and size, and finite."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sketchbench.kernels import Array
from sketchbench.measure.numbers import check_finite

END = float(np.finfo(np.float32).max)


def check_array(name: str, array: Any, xp: Any) -> None:
    """Raise TypeError if `array`, which the message calls `name`, is no float32 array of the array module xp."""
    if not isinstance(array, xp.ndarray) or isinstance(array, np.ma.MaskedArray):
        kind = f"{type(array).__module__}.{type(array).__name__}"
        raise TypeError(f"{name} must be an array of {xp.__name__} without a mask, not {kind}; see kernels.asarray")
    if array.dtype != np.float32:
        raise TypeError(f"{name} of dtype {array.dtype} must be float32; convert with astype('float32')")


def check_count(name: str, count: Any, least: int) -> None:
    """Raise TypeError if `count`, which the message calls `name`, is no integer, and ValueError if it is too small."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise TypeError(f"{name}={count!r} must be an integer")
    if count < least:
        raise ValueError(f"{name}={count} must be >= {least}")


def check_server(kept: Any, begun: Any, trials: int, xp: Any) -> None:
    """Raise TypeError or ValueError if the server's memory, `kept`, has other arrays than `begun`, its memory of one
    trial before the first round (None if its form is not known), with a first axis of `trials`."""
    found = [array.shape for array in arrays(kept)]
    wanted = [(trials, *array.shape[1:]) for array in arrays(begun)]
    if begun is not None and found != wanted:
        raise ValueError(f"the server's memory has arrays of shapes {found}, and needs {wanted}; make it with `begin`")
    for array in arrays(kept):
        if not isinstance(array, xp.ndarray):
            raise TypeError(f"the server's memory must have arrays of {xp.__name__}, not of {type(array).__module__}")
        if array.shape[:1] != (trials,):
            raise ValueError(f"an array of shape {array.shape} in the server's memory must start with {trials} trials")
        check_finite("the server's memory", array, xp)


def check_sums(maker: str, name: str, array: Array, xp: Any) -> None:
    """Raise OverflowError if what `maker` made of finite entries is not finite."""
    why = f", which {maker} made of finite updates: either sums exceed {END:.2g}, where float32 ends, and updates must"
    check_finite(name, array, xp, OverflowError, f"{why} be scaled down, or it divides by 0")


def largest(x: Array) -> Array:
    """Return the largest magnitude of each row of x (..., d): (..., 1); NaN if an entry is NaN."""
    return abs(abs(x.max(axis=-1, keepdims=True)).clip(-x.min(axis=-1, keepdims=True)))  # -0 for zeros else


def arrays(kept: Any) -> Iterator[Array]:
    """Yield all arrays in lists, tuples and mappings."""
    collected: list[Array] = []
    replace(kept, collected.append)
    return iter(collected)


def replace(kept: Any, change: Callable[[Array], Any]) -> Any:
    """Return the same lists, tuples and mappings, with `change` of each array in its place."""
    if hasattr(kept, "dtype") and hasattr(kept, "shape"):
        return change(kept)
    if isinstance(kept, Mapping):
        return {name: replace(part, change) for name, part in kept.items()}
    if isinstance(kept, Sequence) and not isinstance(kept, str | bytes):
        parts = [replace(part, change) for part in kept]
        return type(kept)(*parts) if hasattr(kept, "_fields") else type(kept)(parts)  # type: ignore[call-arg]
    return kept
