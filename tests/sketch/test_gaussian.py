"""Gaussian entries, and the memory that a large dense sketch takes."""

import tracemalloc

import numpy as np
import pytest
from drawn import KEY, stack
from numpy.typing import NDArray
from scipy.stats import kstest

from sketchbench.sketch import AMS, Gaussian, Sketch
from sketchbench.sketch import dense as module

ERROR = 1e-6


def normal(values: NDArray[np.float64], b: int) -> bool:
    """Are these N(0, 1/b), by Kolmogorov and Smirnov, at error rate 1e-6?"""
    return bool(kstest(values.ravel() * np.sqrt(b), "norm").pvalue > ERROR)


@pytest.mark.statistical
def test_entries() -> None:
    """200,000 entries: a scale off by 5% has power > 0.999 (distance 0.0121 against 0.0060)."""
    R = stack(Gaussian(100, 10), 200)
    assert normal(R, 10)
    assert not normal(1.05 * R, 10)
    assert not normal(stack(AMS(100, 10), 200), 10)


@pytest.mark.statistical
def test_neighbours_are_independent() -> None:
    """Sums of two neighbours, over rows, columns and operators: a repeated one would show."""
    R = stack(Gaussian(100, 10), 200)
    assert normal((R[:, ::2] + R[:, 1::2]) / np.sqrt(2), 10)
    assert normal((R[:, :, ::2] + R[:, :, 1::2]) / np.sqrt(2), 10)
    assert normal((R[::2] + R[1::2]) / np.sqrt(2), 10)
    assert not normal((R[::2] + R[::2]) / np.sqrt(2), 10)


@pytest.mark.parametrize("family", [Gaussian(50, 7), AMS(50, 7), AMS(50, 7, "polynomial")])
@pytest.mark.parametrize("workspace", [1, 50, 333, 1050])
def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch, family: Gaussian | AMS, workspace: int) -> None:
    """Rows generated one by one, in uneven blocks or at once are the same matrix."""
    whole = stack(family, 3)
    monkeypatch.setattr(module, "WORKSPACE", workspace)
    sketch = family.draw(KEY, operators=3, kernels="numpy")
    np.testing.assert_array_equal(sketch.materialize(), whole)
    x = np.random.default_rng(0).standard_normal((3, 2, 50))
    np.testing.assert_allclose(sketch.sketch(x), x @ whole.swapaxes(1, 2), rtol=1e-12, atol=1e-12)
    y = np.random.default_rng(1).standard_normal((1, 2, 7))
    np.testing.assert_allclose(sketch.desketch(y), y @ whole, rtol=1e-12, atol=1e-12)


def peak(sketch: Sketch, x: NDArray[np.float64]) -> float:
    """MiB that sketching x needs at most, on top of what is there."""
    tracemalloc.start()
    try:
        sketch.sketch(x)
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def test_memory() -> None:
    """1.5 GiB of entries are applied in 300 MiB."""
    d, b = 100_000, 2_000
    sketch = Gaussian(d, b).draw(KEY, kernels="numba")
    assert peak(sketch, np.ones(d)) < 300
    assert d * b * 8 / 2**20 > 1500
