"""What numbers a function takes, said in the types of its parameters: `parameters.checked` calls these checks."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray


def check_finite(name: str, value: Any) -> None:
    """Raise TypeError unless a value (an array, a list or a number) has real numbers only, none of them masked, and
    ValueError unless they are finite; the message has the name, the first wrong entry and its index."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be ignored; pass {name}.compressed() or .filled()")
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "fiub":
        raise TypeError(f"{name} of dtype {numbers.dtype} must be real numbers")
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"{name}: entry {at} is {numbers[at]}; every entry must be finite")


def check_some(name: str, value: Any) -> None:
    """Raise ValueError for an array or a list without entries."""
    if np.size(value) == 0:
        raise ValueError(f"{name} of shape {np.shape(value)} must not be empty")


Finite = Annotated[NDArray[np.float64], check_finite]
Sample = Annotated[NDArray[np.float64], check_some, check_finite]  # finite, and at least one
