"""Medians over cells, transforms without signs, and dense matrices that are not kept."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.kernels import Kernels
from sketchbench.sketch import (
    AMS,
    BlockSparseEmbedding,
    CountSketch,
    Family,
    Gaussian,
    SparseEmbedding,
    SubsampledCosine,
    SubsampledHadamard,
)
from sketchbench.sketch import dense as module
from sketchbench.sketch.draws import ROWS, SIGNS, Draws
from sketchbench.sketch.scattered import Scattered

KEY = 77
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@DTYPES
@pytest.mark.parametrize("s", [1, 2, 3, 4, 5, 8])
@given(seed=st.integers(0, 2**32), d=st.integers(1, 30), block=st.integers(1, 9), N=st.integers(0, 3))
def test_median(kernels: Kernels, dtype: Any, s: int, seed: int, d: int, block: int, N: int) -> None:
    """In each block of b/s cells, a coordinate's sign times its cell over the scale 1/√s."""
    sketch = BlockSparseEmbedding(d, s * block, s).draw(seed, kernels=kernels)
    assert isinstance(sketch, Scattered)
    R = kernels.to_numpy(sketch.materialize()).reshape(s, block, d)
    assert ((R != 0).sum(axis=1) == 1).all()
    y = np.random.default_rng(seed).uniform(-1, 1, (N, s * block)).astype(dtype)
    cells = np.einsum("nrc,rcj->nrj", y.reshape(N, s, block), np.sign(R)) * s**0.5
    found = kernels.to_numpy(sketch.median(kernels.asarray(y)))
    assert found.dtype == dtype
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found, np.median(cells, axis=1), rtol=0, atol=tolerance)
    lower = kernels.to_numpy(sketch.median(kernels.asarray(y), lower=True))
    assert lower.dtype == dtype
    np.testing.assert_allclose(lower, np.sort(cells, axis=1)[:, (s - 1) // 2], rtol=0, atol=tolerance)


@pytest.mark.parametrize("family", [CountSketch(30, 7), SparseEmbedding(30, 9, 3)], ids=repr)
def test_median_of_a_stack(kernels: Kernels, family: Family) -> None:
    stack = family.draw(KEY, operators=4, kernels=kernels)
    assert isinstance(stack, Scattered)
    y = kernels.asarray(np.random.default_rng(1).standard_normal((4, 2, 3, family.b)))
    found = kernels.to_numpy(stack.median(y))
    assert found.shape == (4, 2, 3, 30)
    shared = kernels.to_numpy(stack.median(y[:1]))
    for t in range(4):
        one = family.draw(KEY, first=t, kernels=kernels)
        assert isinstance(one, Scattered)
        np.testing.assert_array_equal(found[t], kernels.to_numpy(one.median(y[t])))
        np.testing.assert_array_equal(shared[t], kernels.to_numpy(one.median(y[0])))
    with pytest.raises(ValueError, match="must start with 4, or with 1"):
        stack.median(y[:2])


def test_median_refuses_what_desketching_does(kernels: Kernels) -> None:
    sketch = CountSketch(6, 3).draw(KEY, kernels=kernels)
    assert isinstance(sketch, Scattered)
    with pytest.raises(ValueError, match="must end in b=3"):
        sketch.median(kernels.asarray(np.ones(6)))
    with pytest.raises(ValueError, match=r"entry \(1,\) of the vector is nan"):
        sketch.median(kernels.asarray(np.array([1, np.nan, 1])))


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize(
    ("kind", "n", "options"),
    [(SubsampledHadamard, 16, {}), (SubsampledCosine, 11, {}), (SubsampledCosine, 12, {"pad": True})],
)
def test_without_signs(kernels: Kernels, kind: Any, n: int, options: dict[str, Any], replacement: bool) -> None:
    d, b = 11, 9
    hadamard = kind is SubsampledHadamard
    whole = scipy.linalg.hadamard(n) / n**0.5 if hadamard else scipy.fft.dct(np.eye(n), axis=0, norm="ortho")
    draws = Draws(KEY, 0, 3, kernels)
    rows = draws.integers(ROWS, b, n) if replacement else draws.subset(ROWS, b, n)
    drawn = np.sort(kernels.to_numpy(rows), axis=1)
    expected = (n / b) ** 0.5 * whole[drawn][:, :, :d]
    signs = kernels.to_numpy(draws.signs(SIGNS, d))[:, None]
    for signed in (False, True):
        family = kind(d, b, replacement, signed, **options)
        assert family.n == n
        stack = kernels.to_numpy(family.draw(KEY, operators=3, kernels=kernels).materialize())
        plain = stack * signs if signed else stack
        number = np.abs(plain[:, :, None] - (n / b) ** 0.5 * whole[:, :d]).sum(axis=3).argmin(axis=2)
        np.testing.assert_array_equal(np.sort(number, axis=1), drawn)
        for R, rows_of, places in zip(plain, expected, number, strict=True):
            np.testing.assert_allclose(R[np.argsort(places)], rows_of, rtol=1e-12, atol=1e-13)


@DTYPES
@pytest.mark.parametrize("operators", [None, 3])
@pytest.mark.parametrize("family", [Gaussian(40, 9), AMS(40, 9), AMS(40, 9, "polynomial")], ids=repr)
def test_generated_entries(
    monkeypatch: pytest.MonkeyPatch, kernels: Kernels, family: Family, operators: int | None, dtype: Any
) -> None:
    stack = () if operators is None else (operators,)
    rng = np.random.default_rng(1)
    x = kernels.asarray(rng.standard_normal((*stack, 5, 40)).astype(dtype))
    y = kernels.asarray(rng.standard_normal((*stack, 5, 9)).astype(dtype))
    entries = 40 * 9 * (operators or 1)
    found = {}
    for workspace in (entries, entries - 1, 100, 1):
        monkeypatch.setattr(module, "WORKSPACE", workspace)
        sketch = family.draw(KEY, operators=operators, kernels=kernels)
        results = [sketch.sketch(x), sketch.desketch(y), sketch.materialize(dtype)]
        assert all(result.dtype == dtype for result in results)
        found[workspace] = [kernels.to_numpy(result) for result in results]
    whole = found.pop(entries)
    R = whole[2].astype(np.float64)
    np.testing.assert_allclose(whole[0], kernels.to_numpy(x) @ R.swapaxes(-1, -2), rtol=1e-4, atol=1e-4)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    for results in found.values():
        for one, other in zip(whole, results, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
