"""Vectors, sizes and keys that every sketch refuses."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from configs import NAMES, family, one_of_each_operator

from sketchbench.kernels import Kernels
from sketchbench.sketch.control import Zero

EVERY = pytest.mark.parametrize("name", NAMES)
EACH_OPERATOR = pytest.mark.parametrize("name", one_of_each_operator())
SIDES = pytest.mark.parametrize("side", ["sketch", "desketch"])


def wrong(n: int, letter: str) -> Iterator[tuple[int | None, Any, str]]:
    """Numbers of operators, vectors that do not fit them, and the messages; n: the right length."""
    for shape in ((n + 1,), (2, n - 1), (n, 2), ()):
        yield None, np.ones(shape), f"an array of shape {shape} must end in {letter}={n}"
    for dtype in ("int64", "complex128", "float16", "bool"):
        yield None, np.ones(n, dtype=dtype), f"dtype {dtype} must be float32 or float64"
    for value in (np.nan, np.inf, -np.inf):
        x = np.ones((2, 3, n), dtype=np.float32)
        x[1, 2, 5] = value
        yield 2, x, f"entry (1, 2, 5) of the vector is {value}; every entry must be finite"
    for shape in ((2, n), (4, 3, n), (n,), (0, n)):
        yield 3, np.ones(shape), f"shape {shape} for a stack of 3 operators must start with 3, or with 1"


@EACH_OPERATOR
@SIDES
def test_wrong_vectors(kernels: Kernels, name: str, side: str) -> None:
    made = family(name)
    for operators, x, message in wrong(*((made.d, "d") if side == "sketch" else (made.b, "b"))):
        apply = getattr(made.draw(1, operators=operators, kernels=kernels), side)
        with pytest.raises((ValueError, TypeError), match=re.escape(message)):
            apply(kernels.asarray(x))
    with pytest.raises(TypeError, match=r"not builtins\.list; convert with kernels\.asarray"):
        made.draw(1, kernels=kernels).sketch([1.0] * made.d)


@EACH_OPERATOR
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


@EACH_OPERATOR
def test_bad_draws(kernels: Kernels, name: str) -> None:
    for key in (-1, 2**64):
        with pytest.raises(ValueError, match=f"key={key} must be an integer of 64 bits"):
            family(name).draw(key, kernels=kernels)
    with pytest.raises(ValueError, match="operators=0 must be >= 1"):
        family(name).draw(1, operators=0, kernels=kernels)
