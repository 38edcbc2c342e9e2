"""Checks that results don't depend on the memory layout of vectors, and that arguments and old results don't change."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sketchbench.kernels import Array
from sketchbench.sketch.contract.probes import MOST, Floats, dense, errors
from sketchbench.sketch.operator import Sketch

FEW = 6  # vectors, also arranged as 2 x 3


def check(stack: Sketch, name: str, vectors: Floats, results: Floats, sizes: Floats, terms: int) -> Floats:
    """The largest error of each operator for vectors in other memory layouts, in units of rounding, (T,). An operator
    that changes its argument or an earlier result gets MOST. There are at least six vectors (N, n), with results (T, N,
    m) of the method `name`; `sizes` (N, 1) are the sizes of the summed terms, `terms` their number."""
    kernels, apply = stack.kernels, getattr(stack, name)
    few, expected, sizes = vectors[:FEW], results[:, :FEW], sizes[:FEW]
    finite = np.isfinite(expected).all(axis=(1, 2))
    if not finite.all():  # `apply` would raise for the whole stack
        return np.where(finite, 0.0, MOST)
    batch = kernels.asarray(few[None].copy())
    first = apply(batch)
    copy = dense(kernels, first.real).copy()
    apply(2 * batch)
    if not np.array_equal(dense(kernels, batch)[0], few) or not np.array_equal(dense(kernels, first.real), copy):
        return np.full(len(results), MOST)
    faults = [errors(copy, expected, sizes, terms)]
    for same in _layouts(kernels.xp, batch):
        faults.append(errors(dense(kernels, apply(same).real), expected, sizes, terms))
    shared = dense(kernels, apply(kernels.xp.broadcast_to(batch[:, :1], batch.shape)).real)
    faults.append(errors(shared, np.repeat(expected[:, :1], FEW, axis=1), sizes[:1], terms))
    grid = dense(kernels, apply(batch.reshape(1, 2, 3, -1)).real)
    faults.append(errors(grid, expected.reshape(len(expected), 2, 3, -1), sizes.reshape(2, 3, 1), terms))
    faults.append(errors(dense(kernels, apply(batch, check_finite=False).real), expected, sizes, terms))
    return np.asarray(np.max(faults, axis=0))


def _layouts(xp: Any, batch: Array) -> Iterator[Array]:
    """The same vectors (1, N, n): column by column, with gaps, and backwards in memory."""
    yield xp.asfortranarray(batch)
    wide = xp.zeros((*batch.shape[:-1], 2 * batch.shape[-1]))
    wide[..., ::2] = batch
    yield wide[..., ::2]
    yield xp.ascontiguousarray(batch[:, ::-1])[:, ::-1]
