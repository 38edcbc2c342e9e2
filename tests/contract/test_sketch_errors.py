"""What every sketch refuses, and how it says so."""

import dataclasses
import re

import numpy as np
import pytest
from configs import NAMES, family

from sketchbench.kernels import Kernels
from sketchbench.sketch.control import Zero

EVERY = pytest.mark.parametrize("name", NAMES)
SIDES = pytest.mark.parametrize("side", ["sketch", "desketch"])


@EVERY
@SIDES
def test_wrong_length(kernels: Kernels, name: str, side: str) -> None:
    made = family(name)
    length, letter = (made.d, "d") if side == "sketch" else (made.b, "b")
    apply = getattr(made.draw(1, kernels=kernels), side)
    for shape in ((length + 1,), (2, length - 1), (length, 2), ()):
        message = re.escape(f"an array of shape {shape} must end in {letter}={length}")
        with pytest.raises(ValueError, match=message):
            apply(kernels.asarray(np.ones(shape)))


@EVERY
@SIDES
def test_wrong_dtype(kernels: Kernels, name: str, side: str) -> None:
    made = family(name)
    length = made.d if side == "sketch" else made.b
    apply = getattr(made.draw(1, kernels=kernels), side)
    for dtype in ("int64", "complex128", "float16", "bool"):
        with pytest.raises(TypeError, match=f"dtype {dtype} must be float32 or float64"):
            apply(kernels.asarray(np.ones(length, dtype=dtype)))
    with pytest.raises(TypeError, match=r"not builtins\.list; convert with kernels\.asarray"):
        apply([1.0] * length)


@EVERY
@SIDES
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_non_finite_entry(kernels: Kernels, name: str, side: str, value: str) -> None:
    made = family(name)
    sketch = made.draw(1, operators=2, kernels=kernels)
    x = np.ones((2, 3, made.d if side == "sketch" else made.b), dtype=np.float32)
    x[1, 2, 5] = float(value)
    message = re.escape(f"entry (1, 2, 5) of the vector is {value}; every entry must be finite")
    with pytest.raises(ValueError, match=message):
        getattr(sketch, side)(kernels.asarray(x))


@EVERY
@SIDES
def test_unchecked_nan_passes(kernels: Kernels, name: str, side: str) -> None:
    made = family(name)
    if isinstance(made, Zero):
        pytest.skip("R = 0 looks at no entry")
    x = np.full(made.d if side == "sketch" else made.b, np.nan)
    apply = getattr(made.draw(1, kernels=kernels), side)
    result = kernels.to_numpy(apply(kernels.asarray(x), check_finite=False))
    assert np.isnan(result).any()


@EVERY
@SIDES
def test_wrong_first_axis_of_a_stack(kernels: Kernels, name: str, side: str) -> None:
    made = family(name)
    length = made.d if side == "sketch" else made.b
    apply = getattr(made.draw(1, operators=3, kernels=kernels), side)
    for shape in ((2, length), (4, 3, length), (length,), (0, length)):
        message = re.escape(f"shape {shape} for a stack of 3 operators must start with 3, or with 1")
        with pytest.raises(ValueError, match=message):
            apply(kernels.asarray(np.ones(shape)))


@EVERY
def test_sizes_below_one(name: str) -> None:
    for b in (0, -3):
        with pytest.raises(ValueError, match=f"sketch size b={b} must satisfy 1 <= b"):
            dataclasses.replace(family(name), b=b)
    with pytest.raises(ValueError, match="dimension d=0 must be >= 1"):
        dataclasses.replace(family(name), d=0)


@EVERY
@pytest.mark.parametrize("value", [8.0, True, "8", None])
def test_sizes_of_another_type(name: str, value: object) -> None:
    with pytest.raises(TypeError, match=re.escape(f"sketch size b={value!r} must be an integer")):
        dataclasses.replace(family(name), b=value)  # type: ignore[arg-type]


@EVERY
def test_bad_draws(kernels: Kernels, name: str) -> None:
    for key in (-1, 2**64):
        with pytest.raises(ValueError, match=f"key={key} must be an integer of 64 bits"):
            family(name).draw(key, kernels=kernels)
    with pytest.raises(ValueError, match="operators=0 must be >= 1"):
        family(name).draw(1, operators=0, kernels=kernels)
