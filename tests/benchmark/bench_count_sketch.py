"""CountSketch, b = d/16: applied, drawn and applied, transposed; a Numba loop, PyTorch and SciPy on its buckets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from peers import SIZES, on_cpu, same, scipy, tensor, torch

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.sketch import CountSketch

CASES = (
    "sketch",
    "torch.index_add_",
    "scipy.sparse.csc_matrix",
    "scipy.sparse.csr_matrix",
    "numba.loop",
    "sketch_checked",
    "draw_and_sketch",
    "scipy.linalg.clarkson_woodruff_transform",
    "desketch",
    "torch.index_select",
    "numba.loop_transposed",
)


@njit
def scattered(buckets: Any, signs: Any, x: Any, b: int) -> Any:
    """The sketch in the fewest lines, of which ours must not be slower."""
    y = np.zeros(b, x.dtype)
    for j in range(x.shape[0]):
        y[buckets[j]] += signs[j] * x[j]
    return y


@njit
def gathered(buckets: Any, signs: Any, y: Any) -> Any:
    x = np.empty(buckets.shape[0], y.dtype)
    for j in range(x.shape[0]):
        x[j] = signs[j] * y[buckets[j]]
    return x


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("d", SIZES)
def test_count_sketch(timed: Any, kernels: Kernels, normals: Callable[..., Any], d: int, case: str) -> None:
    b, xp, x = d // 16, kernels.xp, normals((d,))
    family, key = CountSketch(d, b), seeds.key(0)
    sketch = family.draw(key, kernels=kernels)
    y = sketch.sketch(x)
    cells = sketch.desketch(xp.arange(1.0, b + 1))  # the bucket of each column, with its sign
    buckets, signs = abs(cells).astype("int64") - 1, xp.sign(cells)

    def measure(run: Callable[[], Any], ours: str | None = None) -> Any:
        return timed(run, x, group="count_sketch", name=case, b=b, ours=ours)

    if case == "sketch":
        measure(lambda: sketch.sketch(x, check_finite=False))
    elif case == "sketch_checked":
        measure(lambda: sketch.sketch(x))
    elif case == "draw_and_sketch":
        measure(lambda: family.draw(key, kernels=kernels).sketch(x, check_finite=False))
    elif case == "desketch":
        measure(lambda: sketch.desketch(y, check_finite=False))
    elif case == "torch.index_add_":
        v, at, sign = (tensor(kernels, part) for part in (x, buckets, signs))
        zeros = torch(kernels).zeros
        run = lambda: zeros(b, dtype=v.dtype, device=v.device).index_add_(0, at, sign * v)  # noqa: E731
        same(kernels, y, measure(run, "sketch"))
    elif case == "torch.index_select":
        v, at, sign = (tensor(kernels, part) for part in (y, buckets, signs))
        ours = sketch.desketch(y)
        same(kernels, ours, measure(lambda: sign * v.index_select(0, at), "desketch"))
    elif case.startswith("numba.loop"):
        on_cpu(kernels)
        at, flips = buckets.astype("int32"), signs.astype("int8")
        if case == "numba.loop":
            same(kernels, y, measure(lambda: scattered(at, flips, x, b), "sketch"))
        else:
            same(kernels, sketch.desketch(y), measure(lambda: gathered(at, flips, y), "desketch"))
    elif case.startswith("scipy.sparse"):
        csc = scipy(kernels, "sparse").csc_matrix
        matrix = csc((signs, buckets.astype("int32"), xp.arange(d + 1, dtype="int32")), (b, d))
        matrix = matrix.tocsr() if case.endswith("csr_matrix") else matrix
        same(kernels, y, measure(lambda: matrix @ x, "sketch"))
    else:  # draws and applies; it has no way to do either alone
        on_cpu(kernels)
        from scipy.linalg import clarkson_woodruff_transform

        column = x[:, None]
        measure(lambda: clarkson_woodruff_transform(column, b, rng=0), "draw_and_sketch")
