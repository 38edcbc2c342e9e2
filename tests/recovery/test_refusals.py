"""What recoveries refuse, and how they say so."""

import re
from typing import Any

import numpy as np
import pytest

from sketchbench.kernels import Kernels
from sketchbench.recovery import FIHT, IHT, CountSketchMedian, Desketch, Recovery
from sketchbench.sketch import (
    BlockSparseEmbedding,
    CountSketch,
    Gaussian,
    SubsampledCosine,
    SubsampledHadamard,
    UniformSampling,
)

EACH = pytest.mark.parametrize("kind", [FIHT, IHT, Desketch, CountSketchMedian])
D, B = 20, 10


def drawn(kind: type[Recovery], kernels: Kernels, **options: Any) -> Any:
    """An operator that this recovery can decode."""
    family = BlockSparseEmbedding if kind is CountSketchMedian else SubsampledHadamard
    return family(D, B, **({"s": 5} if family is BlockSparseEmbedding else {})).draw(1, kernels=kernels, **options)


@EACH
@pytest.mark.parametrize("k", [0, -1])
def test_too_few_nonzeros(kind: type[Recovery], k: int) -> None:
    with pytest.raises(ValueError, match=f"k={k} must be >= 1"):
        kind(k)


@EACH
@pytest.mark.parametrize("k", [2.0, True, "3", None, np.float64(2)])
def test_nonzeros_of_another_type(kind: type[Recovery], k: Any) -> None:
    message = re.escape(f"k={k!r} must be an integer")
    with pytest.raises(TypeError, match=message):
        kind(k)


@EACH
def test_more_nonzeros_than_coordinates(kernels: Kernels, kind: type[Recovery]) -> None:
    """Of the signal, not of the padded domain (32 here)."""
    sketch = drawn(kind, kernels)
    y = kernels.asarray(np.ones(B))
    with pytest.raises(ValueError, match="k=21 must be <= d=20"):
        kind(21).recover(sketch, y)
    assert kind(20).recover(sketch, y).x.shape == (20,)


@EACH
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_non_finite_measurement(kernels: Kernels, kind: type[Recovery], value: str) -> None:
    y = np.ones((2, 3, B))
    y[1, 2, 5] = float(value)
    message = re.escape(f"entry (1, 2, 5) of the vector is {value}; every entry must be finite")
    with pytest.raises(ValueError, match=message):
        kind(2).recover(drawn(kind, kernels), kernels.asarray(y))


@EACH
def test_wrong_length(kernels: Kernels, kind: type[Recovery]) -> None:
    for shape in ((B + 1,), (3, D), (B, 2), (), (0,)):
        message = re.escape(f"an array of shape {shape} must end in b={B}")
        with pytest.raises(ValueError, match=message):
            kind(2).recover(drawn(kind, kernels), kernels.asarray(np.ones(shape)))


@EACH
def test_wrong_kind_of_array(kernels: Kernels, kind: type[Recovery]) -> None:
    sketch = drawn(kind, kernels)
    for dtype in ("int64", "complex128", "float16", "bool"):
        with pytest.raises(TypeError, match=f"dtype {dtype} must be float32 or float64"):
            kind(2).recover(sketch, kernels.asarray(np.ones(B, dtype=dtype)))
    with pytest.raises(TypeError, match=r"not builtins\.list; convert with kernels\.asarray"):
        kind(2).recover(sketch, [1.0] * B)


@EACH
def test_stack_of_operators(kernels: Kernels, kind: type[Recovery]) -> None:
    for operators in (1, 3):
        stack = drawn(kind, kernels, operators=operators)
        message = f"recovery takes one operator, not a stack of {operators}; draw it without `operators`"
        with pytest.raises(ValueError, match=message):
            kind(2).recover(stack, kernels.asarray(np.ones((operators, B))))


@pytest.mark.parametrize("kind", [FIHT, IHT])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stopping": "never"}, "stopping=never is unknown; choose one of paper, relative"),
        ({"support": True}, "support=True is unknown; choose one of padded, true"),
        ({"support": "full"}, "support=full is unknown; choose one of padded, true"),
        ({"iterations": 0}, "iterations=0 must be >= 1"),
        ({"iterations": -5}, "iterations=-5 must be >= 1"),
    ],
)
def test_unknown_options(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(2, **options)


@pytest.mark.parametrize("family", [SubsampledHadamard(D, B), UniformSampling(D, B), Gaussian(D, B)], ids=repr)
def test_median_of_what_has_no_cells(kernels: Kernels, family: Any) -> None:
    sketch = family.draw(1, kernels=kernels)
    message = (
        "the median decodes sketches with a few signed cells per coordinate, not "
        f"{type(sketch).__name__}; use BlockSparseEmbedding or CountSketch"
    )
    with pytest.raises(TypeError, match=message):
        CountSketchMedian(2).recover(sketch, kernels.asarray(np.ones(B)))


def test_the_remedies_work(kernels: Kernels) -> None:
    for family in (BlockSparseEmbedding(D, B, s=5), CountSketch(D, B)):
        sketch = family.draw(1, kernels=kernels)
        y = sketch.sketch(kernels.asarray(np.eye(D)))
        assert CountSketchMedian(1).recover(sketch, y).x.shape == (D, D)


def test_lengths_that_need_padding() -> None:
    message = "d=20 must be a power of two without padding; set pad=true to work at 32"
    with pytest.raises(ValueError, match=message):
        SubsampledHadamard(20, 10, pad=False)
    assert SubsampledHadamard(20, 10, pad=True).n == 32
    assert SubsampledHadamard(32, 10, pad=False).n == 32
    assert SubsampledHadamard(1, 1, pad=False).n == 1


@pytest.mark.parametrize(("kind", "d", "n"), [(SubsampledHadamard, 20, 32), (SubsampledCosine, 20, 20)])
def test_more_rows_than_the_transform_has(kind: Any, d: int, n: int) -> None:
    message = re.escape(
        f"b={n + 1} rows without replacement need b <= {n}, the length of the transform for d={d}; "
        "set replacement=true or lower b"
    )
    with pytest.raises(ValueError, match=message):
        kind(d, n + 1)
    assert kind(d, n + 1, replacement=True).b == n + 1
    assert kind(d, n).b == n
