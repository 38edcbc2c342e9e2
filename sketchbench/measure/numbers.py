"""What numbers a function takes, said in the types of its parameters: `parameters.checked` calls these checks."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray


def check_real(name: str, value: Any) -> None:
    """Raise TypeError unless a value (an array, a list or a number) has real numbers only, and none is masked."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be ignored; pass {name}.compressed() or .filled()")
    kind = np.asarray(value).dtype
    if kind.kind not in "fiub":
        raise TypeError(f"{name} of dtype {kind} must be real numbers")


def check_finite(name: str, value: Any) -> None:
    """Raise as `check_real`, and ValueError unless all numbers are finite, with the first other one and its index."""
    check_real(name, value)
    numbers = np.asarray(value)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"{name}: entry {at} is {numbers[at]}; every entry must be finite")


def check_some(name: str, value: Any) -> None:
    """Raise ValueError for an array or a list without entries."""
    if np.size(value) == 0:
        raise ValueError(f"{name} of shape {np.shape(value)} must not be empty")


Real = Annotated[NDArray[np.float64], check_some, check_real]
Finite = Annotated[NDArray[np.float64], check_finite]
Sample = Annotated[NDArray[np.float64], check_some, check_finite]  # finite, and at least one
