"""Sparse embeddings with s = 4, and their transpose, beside sparse matrices of SciPy and scikit-learn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from peers import on_cpu, scipy

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.sketch import SparseEmbedding

S = 4


@pytest.mark.parametrize("case", ["sketch", "scipy.sparse.csc_matrix", "desketch", "scipy.sparse.csr_matrix"])
def test_sparse_embedding(timed: Any, kernels: Kernels, normals: Callable[..., Any], case: str) -> None:
    d, b = 2**20, 2**16
    x, y, xp = normals((d,)), normals((b,)), kernels.xp

    def measure(run: Callable[[], Any], ours: str | None = None) -> None:
        timed(run, x, group="sparse_embedding", name=case, b=b, ours=ours)

    if not case.startswith("scipy"):
        sketch = SparseEmbedding(d, b, s=S).draw(seeds.key(0), kernels=kernels)
        if case == "sketch":
            measure(lambda: sketch.sketch(x, check_finite=False))
        else:
            measure(lambda: sketch.desketch(y, check_finite=False))
        return
    rng = np.random.default_rng(0)
    rows = kernels.asarray(rng.integers(b, size=S * d, dtype=np.int32))
    signs = kernels.asarray(rng.choice([-(S**-0.5), S**-0.5], S * d))
    starts = xp.arange(0, S * d + 1, S, dtype="int32")
    matrix = scipy(kernels, "sparse").csc_matrix((signs, rows, starts), (b, d))
    if case.endswith("csr_matrix"):
        measure(lambda: matrix.T @ y, "desketch")
    else:
        measure(lambda: matrix @ x, "sketch")


@pytest.mark.parametrize("case", ["sketch", "sklearn.SparseRandomProjection"])
@pytest.mark.parametrize("rows", [1, 64])
def test_few_rows(timed: Any, kernels: Kernels, normals: Callable[..., Any], rows: int, case: str) -> None:
    """Both check that the input is finite."""
    d, b = 2**16, 256
    x = normals((rows, d))
    if case == "sketch":
        sketch = SparseEmbedding(d, b, s=S).draw(seeds.key(0), kernels=kernels)
        timed(lambda: sketch.sketch(x), x, group="sparse_embedding", name=case, b=b)
        return
    on_cpu(kernels)
    from sklearn.random_projection import SparseRandomProjection

    peer = SparseRandomProjection(b, density=S / b, random_state=0).fit(x)
    timed(lambda: peer.transform(x), x, group="sparse_embedding", name=case, b=b, ours="sketch")
