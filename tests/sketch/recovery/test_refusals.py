"""Measurements and operators that recoveries refuse, on every backend."""

import re
from typing import Any

import numpy as np
import pytest

from sketchbench.kernels import Kernels
from sketchbench.sketch import (
    BlockSparseEmbedding,
    CountSketch,
    Gaussian,
    SubsampledHadamard,
    UniformSampling,
)
from sketchbench.sketch.recovery import FIHT, IHT, CountSketchMedian, Desketch, Recovery

EACH = pytest.mark.parametrize("kind", [FIHT, IHT, Desketch, CountSketchMedian])
D, B = 20, 10


def drawn(kind: type[Recovery], kernels: Kernels, **options: Any) -> Any:
    """An operator that this recovery can decode."""
    family = BlockSparseEmbedding if kind is CountSketchMedian else SubsampledHadamard
    return family(D, B, **({"s": 5} if family is BlockSparseEmbedding else {})).draw(1, kernels=kernels, **options)


def _measured(value: float) -> Any:
    """Measurements of which one is this value."""
    y = np.ones((2, 3, B))
    y[1, 2, 5] = value
    return y


@EACH
def test_more_nonzeros_than_coordinates(kernels: Kernels, kind: type[Recovery]) -> None:
    """Of the signal, not of the padded domain (32 here)."""
    sketch = drawn(kind, kernels)
    y = kernels.asarray(np.ones(B))
    with pytest.raises(ValueError, match="k=21 must be <= d=20"):
        kind(21).recover(sketch, y)
    assert kind(20).recover(sketch, y).x.shape == (20,)


WRONG: list[tuple[Any, str]] = [
    (_measured(np.nan), "entry (1, 2, 5) of the vector is nan; every entry must be finite"),
    (_measured(-np.inf), "entry (1, 2, 5) of the vector is -inf; every entry must be finite"),
    (np.ones((3, D)), f"an array of shape (3, {D}) must end in b={B}"),
    (np.ones(()), f"an array of shape () must end in b={B}"),
    (np.ones(B, dtype="float16"), "dtype float16 must be float32 or float64"),
]


@EACH
@pytest.mark.parametrize(("y", "message"), WRONG)
def test_wrong_measurements(kernels: Kernels, kind: type[Recovery], y: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        kind(2).recover(drawn(kind, kernels), kernels.asarray(y))


@EACH
def test_masked_measurements(compiled: Kernels, kind: type[Recovery]) -> None:
    with pytest.raises(TypeError, match="the mask of a masked array would be ignored"):
        kind(2).recover(drawn(kind, compiled), np.ma.masked_array(np.ones(B), mask=np.arange(B) == 2))


@EACH
def test_a_stack_shares_no_measurements(kernels: Kernels, kind: type[Recovery]) -> None:
    stack = drawn(kind, kernels, operators=2)
    with pytest.raises(ValueError, match=r"shape .* must start with 2, one for each operator"):
        kind(2).recover(stack, kernels.asarray(np.ones((1, B))))


@EACH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_estimate_beyond_the_type(kernels: Kernels, kind: type[Recovery], dtype: Any) -> None:
    sketch = drawn(kind, kernels)
    y = np.finfo(dtype).max * kernels.xp.sign(sketch.sketch(kernels.asarray(np.eye(D, dtype=dtype)[3])))
    with pytest.raises(OverflowError, match=f"exceed {np.dtype(dtype)}, which ends at .*; scale the measurements down"):
        kind(2).recover(sketch, y)


@EACH
@pytest.mark.parametrize("thing", [np.eye(B), None, SubsampledHadamard(D, B)], ids=["matrix", "None", "family"])
def test_no_operator(kernels: Kernels, kind: type[Recovery], thing: Any) -> None:
    with pytest.raises(TypeError, match=f"recovery takes an operator, not .*{type(thing).__name__}; draw one from a"):
        kind(2).recover(thing, kernels.asarray(np.ones(B)))


@pytest.mark.parametrize("family", [SubsampledHadamard(D, B), UniformSampling(D, B), Gaussian(D, B)], ids=repr)
def test_median_of_what_has_no_cells(kernels: Kernels, family: Any) -> None:
    sketch = family.draw(1, kernels=kernels)
    message = (
        "the median decodes sketches with a few signed cells per coordinate, not "
        f"{type(sketch).__name__}; use BlockSparseEmbedding or CountSketch"
    )
    with pytest.raises(TypeError, match=message):
        CountSketchMedian(2).recover(sketch, kernels.asarray(np.ones(B)))


def test_the_median_of_sketches_with_cells(kernels: Kernels) -> None:
    for family in (BlockSparseEmbedding(D, B, s=5), CountSketch(D, B)):
        sketch = family.draw(1, kernels=kernels)
        y = sketch.sketch(kernels.asarray(np.eye(D)))
        assert CountSketchMedian(1).recover(sketch, y).x.shape == (D, D)


def test_lengths_that_need_no_padding() -> None:
    assert SubsampledHadamard(20, 10, pad=True).n == 32
    assert SubsampledHadamard(32, 10, pad=False).n == 32
    assert SubsampledHadamard(1, 1, pad=False).n == 1
