"""FIHT and IHT are the algorithms that they say they are, and cost what they say."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import check_iterates

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch import (
    BlockSparseEmbedding,
    CountSketch,
    Family,
    Gaussian,
    SubsampledCosine,
    SubsampledHadamard,
    UniformSampling,
)
from sketchbench.sketch.recovery import FIHT, IHT, CountSketchMedian, Desketch, Recovery
from sketchbench.sketch.recovery.iterative import Iterative
from sketchbench.task.recovery.signals import draw, draw_sparse

EACH = pytest.mark.parametrize("kind", [FIHT, IHT], ids=lambda kind: kind.__name__)
SENSING: dict[str, Callable[[int, int], Family]] = {
    "SRHT": SubsampledHadamard,
    "no signs": lambda d, b: SubsampledHadamard(d, b, signs=False),
    "rows repeat": lambda d, b: SubsampledHadamard(d, b, replacement=True, signs=False),
    "DCT": lambda d, b: SubsampledCosine(d, b, signs=False),
    "DCT, padded": lambda d, b: SubsampledCosine(d, b, signs=False, pad=True),
    "dense": Gaussian,
    "hashing": lambda d, b: BlockSparseEmbedding(d, 4 * (b // 4)),
}


@EACH
@pytest.mark.parametrize("sensing", SENSING)
@examples(15)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_iterates_equal_the_reference(
    kernels: Kernels, kind: type[Iterative], sensing: str, data: st.DataObject, seed: int
) -> None:
    d = data.draw(st.integers(16, 60), label="d")
    b = data.draw(st.integers(d // 2, d), label="b")
    k = data.draw(st.integers(4, max(4, b // 3)), label="k")
    noise = data.draw(st.sampled_from([0.0, 0.1]), label="noise")
    stopping: Any = data.draw(st.sampled_from(["paper", "relative", "residual"]), label="stopping")
    support: Any = data.draw(st.sampled_from(["padded", "true"]), label="support")
    sketch = SENSING[sensing](d, b).draw(seed, kernels=kernels)
    x = draw_sparse(d, k, 4, seed, noise=noise) * [[1.0], [1e-4], [3e-5], [1e3]]
    y = kernels.to_numpy(sketch.sketch(kernels.asarray(x)))
    assume(check_iterates(kind(k, stopping, support, 8), sketch, y) > 0)


@EACH
@pytest.mark.long_emulated
@pytest.mark.parametrize("support", ["padded", "true"])
@pytest.mark.parametrize("signals", ["sparse", "heavy_tail"])
def test_long_runs_equal_the_reference(kernels: Kernels, kind: type[Iterative], support: Any, signals: str) -> None:
    """Up to 25 iterations, where most signals settle earlier and some never."""
    sketch = SubsampledHadamard(300, 110, signs=False).draw(5, kernels=kernels)
    y = kernels.to_numpy(sketch.sketch(kernels.asarray(draw(signals, 300, 30, 6, 3))))
    assert check_iterates(kind(30, "paper", support), sketch, y) >= 4


def test_the_support_may_lie_in_the_padding(kernels: Kernels) -> None:
    """With `padded`, what is chosen there is cut off, so that fewer than k entries are left."""
    sketch = SubsampledHadamard(300, 110, signs=False).draw(5, kernels=kernels)
    y = sketch.sketch(kernels.asarray(draw("heavy_tail", 300, 30, 6, 3)))
    nonzeros = {
        support: (kernels.to_numpy(FIHT(30, support=support).recover(sketch, y).x) != 0).sum(axis=1)
        for support in ("padded", "true")
    }
    assert (nonzeros["true"] == 30).all()
    assert (nonzeros["padded"] < 30).all()


@EACH
@pytest.mark.parametrize("signals", [1, 5])
def test_transforms(monkeypatch: pytest.MonkeyPatch, kernels: Kernels, kind: type[Iterative], signals: int) -> None:
    """Two to start with; then five an iteration (two of them transposes), and three (one) for IHT."""
    calls: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., Array]:
        transform = getattr(kernels, name)

        def call(*arguments: Any) -> Array:
            calls[name] += not inside
            inside.append(name)  # what a transform calls for its own sake does not count
            try:
                return transform(*arguments)
            finally:
                inside.pop()

        return call

    inside: list[str] = []
    fused = ("spread_hadamard", "hadamard_collect", "sampled_hadamard", "spread_hadamard_collect")
    for name in ("walsh_hadamard", *fused, "cosine", "cosine_transpose"):
        monkeypatch.setattr(kernels, name, counted(name))
    x = kernels.asarray(draw_sparse(100, 10, signals, 1, noise=0.1))
    each, transposes = (5, 2) if kind is FIHT else (3, 1)
    for family in (SubsampledHadamard(100, 60), SubsampledCosine(100, 60)):
        sketch = family.draw(2, kernels=kernels)
        y = sketch.sketch(x)
        calls.clear()
        steps = int(kind(10).recover(sketch, y).iterations.max())
        assert steps >= 3
        assert calls.total() == 2 + each * steps
        assert calls["cosine_transpose"] + calls["spread_hadamard"] == 1 + transposes * steps
    assert calls["cosine_transpose"]


@EACH
def test_iterations_are_cut(kernels: Kernels, kind: type[Iterative]) -> None:
    sketch = SubsampledHadamard(200, 70).draw(3, kernels=kernels)
    y = sketch.sketch(kernels.asarray(draw("heavy_tail", 200, 20, 8, 2)))
    whole = kind(20, iterations=60).recover(sketch, y)
    counts, trace = kernels.to_numpy(whole.iterations), kernels.to_numpy(whole.trace)
    assert len(set(counts.tolist())) > 1
    for limit in (1, 2, int(counts.max()) - 1):
        found = kind(20, iterations=limit).recover(sketch, y)
        np.testing.assert_array_equal(kernels.to_numpy(found.iterations), np.minimum(counts, limit))
        np.testing.assert_array_equal(kernels.to_numpy(found.trace), trace[:, :limit])


@pytest.mark.parametrize("unit", [1.0, 3.0, 1e-9])
def test_thresholds_of_the_stopping_rules(kernels: Kernels, unit: float) -> None:
    """1e-4 in the unit, or of the estimate's norm; the residual, which vanishes here, is below it in any unit."""
    sketch = SubsampledHadamard(64, 64, signs=False).draw(1, kernels=kernels)  # orthogonal
    x = np.zeros((2, 64))
    x[:, :4] = unit
    x[1, 4] = 1e3 * unit
    y = sketch.sketch(kernels.asarray(x))
    for stopping, once in (("paper", unit < 1e-4 / 2), ("relative", False), ("residual", True)):
        found = FIHT(5, stopping=stopping).recover(sketch, y)  # type: ignore[arg-type]
        np.testing.assert_allclose(kernels.to_numpy(found.x), x, atol=1e-10 * unit)
        assert (int(found.iterations[0]) == 1) is once


def test_rounding_decides_nothing() -> None:
    """In any unit, though for k = 2 the residual after two steps is 0 up to rounding, as is the next step's length."""
    sketch = SubsampledHadamard(200, 150, signs=False).draw(0, kernels="numpy")
    y = sketch.sketch(draw_sparse(200, 2, 100, 0, noise=0.05))
    one, three = FIHT(2).recover(sketch, y), FIHT(2).recover(sketch, 3 * y)
    np.testing.assert_allclose(three.x / 3, one.x, rtol=0, atol=1e-6)


# Measurements and operators that recoveries refuse, on every backend


REFUSING = pytest.mark.parametrize("kind", [FIHT, IHT, Desketch, CountSketchMedian])
D, B = 20, 10


def drawn(kind: type[Recovery], kernels: Kernels, **options: Any) -> Any:
    family = BlockSparseEmbedding if kind is CountSketchMedian else SubsampledHadamard
    return family(D, B, **({"s": 5} if family is BlockSparseEmbedding else {})).draw(1, kernels=kernels, **options)


def _measured(value: float) -> Any:
    y = np.ones((2, 3, B))
    y[1, 2, 5] = value
    return y


@REFUSING
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


@REFUSING
@pytest.mark.parametrize(("y", "message"), WRONG)
def test_wrong_measurements(kernels: Kernels, kind: type[Recovery], y: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        kind(2).recover(drawn(kind, kernels), kernels.asarray(y))


@REFUSING
def test_masked_measurements(compiled: Kernels, kind: type[Recovery]) -> None:
    with pytest.raises(TypeError, match="the mask of a masked array would be ignored"):
        kind(2).recover(drawn(kind, compiled), np.ma.masked_array(np.ones(B), mask=np.arange(B) == 2))


@REFUSING
def test_a_stack_shares_no_measurements(kernels: Kernels, kind: type[Recovery]) -> None:
    stack = drawn(kind, kernels, operators=2)
    with pytest.raises(ValueError, match=r"shape .* must start with 2, one for each operator"):
        kind(2).recover(stack, kernels.asarray(np.ones((1, B))))


@REFUSING
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_estimate_beyond_the_type(kernels: Kernels, kind: type[Recovery], dtype: Any) -> None:
    sketch = drawn(kind, kernels)
    y = np.finfo(dtype).max * kernels.xp.sign(sketch.sketch(kernels.asarray(np.eye(D, dtype=dtype)[3])))
    with pytest.raises(OverflowError, match=f"exceed {np.dtype(dtype)}, which ends at .*; scale the measurements down"):
        kind(2).recover(sketch, y)


@REFUSING
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
