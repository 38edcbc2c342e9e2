"""Gaussian entries, and the memory that a large dense sketch takes."""

import tracemalloc

import numpy as np
import pytest
from drawn import KEY, stack
from numpy.typing import NDArray
from scipy.stats import kstest

from sketchbench.sketch import AMS, Gaussian, Sketch

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
