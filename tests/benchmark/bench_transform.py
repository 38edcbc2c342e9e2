"""The Walsh-Hadamard transform beside the cosine transform of SciPy."""

from collections.abc import Callable
from typing import Any

import pytest
from peers import SIZES, scipy

from sketchbench.kernels import Kernels

SHAPES = [(1, d) for d in SIZES] + [(1000, 2**10)]


@pytest.mark.parametrize("whose", ["ours", "scipy"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transform(
    timed: Any,
    kernels: Kernels,
    normals: Callable[..., Any],
    shape: tuple[int, int],
    dtype: str,
    whose: str,
) -> None:
    x = normals(shape, dtype)
    if whose == "ours":  # in place, and orthonormal: it stays of order 1
        timed(lambda: kernels.walsh_hadamard(x), x, group="transform", name="walsh_hadamard")
        return
    fft = scipy(kernels, "fft")
    timed(
        lambda: fft.dct(x, norm="ortho"),
        x,
        group="transform",
        name=f"{fft.__name__}.dct",
        ours="walsh_hadamard",
    )
