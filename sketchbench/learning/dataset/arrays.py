"""Checks of data arrays; their errors name the first wrong entry and its place."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def check_array(name: str, value: Any, dtype: DTypeLike, *axes: str) -> None:
    """Check that a value is a plain NumPy array of a type and a number of axes; the error begins with `name`, and names
    the axes. O(1) for a right array; a wrong one is searched for an entry that the type can't hold. Raises ValueError
    for anything else, and for a masked array, whose mask would be lost."""
    masked = isinstance(value, np.ma.MaskedArray)
    if isinstance(value, np.ndarray) and not masked and value.dtype == dtype and value.ndim == len(axes):
        return
    shape = f"({axes[0]},)" if len(axes) == 1 else f"({', '.join(axes)})"
    wanted = f"a NumPy array {shape} of type {np.dtype(dtype)}"
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{name}: a {type(value).__name__} must be {wanted}")
    if masked:
        raise ValueError(f"{name}: a masked array must be {wanted}; leave out what is masked")
    wrong = _first_wrong(value, np.dtype(dtype))
    raise ValueError(f"{name}: shape {value.shape} and type {value.dtype} must be {wanted}{wrong}")


def check_range(name: str, value: NDArray[Any], low: int, high: int, condition: str) -> None:
    """Raise ValueError, with the first wrong entry, its place and the condition, unless integers are in a range."""
    if value.size and (value.min() < low or value.max() > high):
        wrong = (value < low) | (value > high)
        raise ValueError(f"{name}: {entry(value, int(wrong.argmax()))} must be {low} to {high}, {condition}")


def entry(array: NDArray[Any], place: int) -> str:
    """An entry and its place, for messages: `5 at (0, 2)`, or `5 at 2` if there is one axis."""
    indices = tuple(int(i) for i in np.unravel_index(place, array.shape))
    return f"{array[indices]} at {indices if len(indices) > 1 else indices[0]}"


def _first_wrong(array: NDArray[Any], dtype: np.dtype[Any]) -> str:
    """The end of a message: the first entry that another type can't hold; "" if there is none."""
    if array.dtype.kind not in "iuf" or dtype.kind not in "iu":
        return ""
    with np.errstate(invalid="ignore"):
        wrong = array.astype(dtype) != array
    return f", which can't hold {entry(array, int(wrong.argmax()))}" if wrong.any() else ""
