"""Checks of numbers, for the types of parameters: `parameters.checked` calls them."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray


def check_real(name: str, value: Any) -> None:
    """Raise TypeError unless a value (an array, a list or a number) has real numbers only, none of them masked."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be ignored; pass {name}.compressed() or .filled()")
    kind = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    if kind.kind not in "fiub":
        raise TypeError(f"{name} of dtype {kind} must be real numbers")


def check_finite(name: str, value: Any, xp: Any = np, error: type[Exception] = ValueError, why: str = "") -> None:
    """Raise as `check_real`, and `error` unless all numbers are finite, with the first non-finite one and its index.
    `xp` is the module of an array on a device; `why` follows the number in the message."""
    check_real(name, value)
    numbers = value if hasattr(value, "dtype") else np.asarray(value)
    if numbers.dtype.kind == "f" and not bool(xp.isfinite(numbers).all()):
        at = tuple(int(i) for i in xp.argwhere(~xp.isfinite(numbers))[0])
        raise error(f"entry {at} of {name} is {float(numbers[at])}{why}; every entry must be finite")


def check_some(name: str, value: Any) -> None:
    """Raise ValueError for an array or a list without entries."""
    if np.size(value) == 0:
        raise ValueError(f"{name} of shape {np.shape(value)} must not be empty")


def check_vectors(name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless a value is a non-empty NumPy array (..., d) of finite numbers."""
    check_some(name, value)
    check_finite(name, value)
    if not isinstance(value, np.ndarray) or not value.ndim:
        raise TypeError(f"{name} must be a NumPy array (..., d), not {type(value).__name__}")


def check_matrix(name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless a value is a non-empty matrix of finite numbers."""
    check_finite(name, value)
    if not isinstance(value, np.ndarray) or value.ndim != 2 or not value.size:
        raise ValueError(f"{name} of shape {np.shape(value)} must be a NumPy matrix with a row and a column or more")


def check_naturals(name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless a value (a non-empty array or a number) has integers >= 0 only."""
    check_some(name, value)
    check_real(name, value)
    if (dtype := np.asarray(value).dtype).kind not in "iu":
        raise TypeError(f"{name} of dtype {dtype} must be integers")
    if np.min(value) < 0:
        raise ValueError(f"{name} must be >= 0, and its smallest entry is {np.min(value)}")


def check_not_negative(name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless a value (an array or a number) has finite numbers >= 0 only."""
    check_some(name, value)
    check_finite(name, value)
    if np.any(np.asarray(value) < 0):
        raise ValueError(f"{name} must be >= 0, and an entry is {np.min(value)}")


def check_positive(name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless a value (an array or a number) has finite numbers > 0 only."""
    check_not_negative(name, value)
    if not np.all(value):
        raise ValueError(f"{name} must be > 0, and an entry is 0")


Real = Annotated[NDArray[np.float64], check_some, check_real]
Finite = Annotated[NDArray[np.float64], check_finite]
NonNegatives = Annotated[NDArray[np.float64] | float, check_not_negative]
Positives = Annotated[NDArray[np.float64] | float, check_positive]
Vectors = Annotated[NDArray[np.float64], check_vectors]
Matrix = Annotated[NDArray[np.float64], check_matrix]
Naturals = Annotated[NDArray[np.int64], check_naturals]
Sample = Annotated[NDArray[np.float64], check_some, check_finite]  # finite, and at least one
