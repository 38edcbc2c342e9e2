"""A copy, the least that a pass over memory costs: how far its `copies` are from 1 is the noise."""

from collections.abc import Callable
from typing import Any

import pytest
from peers import SIZES

from sketchbench.kernels import Kernels


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", SIZES)
def test_copy(timed: Any, kernels: Kernels, normals: Callable[..., Any], d: int, dtype: str) -> None:
    x = normals(d, dtype)
    target = kernels.xp.empty_like(x)
    timed(lambda: kernels.xp.copyto(target, x), x, group="copy", name="copyto")
