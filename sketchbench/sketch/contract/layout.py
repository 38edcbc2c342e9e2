"""Is a vector treated alike however it lies in memory, and are arguments and earlier results left alone?"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sketchbench.kernels import Array
from sketchbench.sketch.contract.probes import MOST, Floats, dense, errors
from sketchbench.sketch.operator import Sketch

FEW = 6  # vectors, 2 x 3 in a grid


def check(stack: Sketch, name: str, vectors: Floats, results: Floats, sizes: Floats, terms: int) -> Floats:
    """The largest error of each operator, in units of rounding, (T,).

    Arguments:
        stack: T operators.
        name: `sketch` or `desketch`.
        vectors, results: (N, n), at least six, and what came of them, (T, N, m).
        sizes: of what is summed, for each vector, (N, 1).
        terms: the number of terms of the sums.
    """
    kernels, apply = stack.kernels, getattr(stack, name)
    few, expected, sizes = vectors[:FEW], results[:, :FEW], sizes[:FEW]
    finite = np.isfinite(expected).all(axis=(1, 2))
    if not finite.all():  # which `apply` refuses below; the others of the stack are looked at in other stacks
        return np.where(finite, 0.0, MOST)
    given = kernels.asarray(few[None].copy())
    first = apply(given)
    kept = dense(kernels, first.real).copy()
    apply(2 * given)
    if not np.array_equal(dense(kernels, given)[0], few) or not np.array_equal(dense(kernels, first.real), kept):
        return np.full(len(results), MOST)
    found = [errors(kept, expected, sizes, terms)]
    for laid_out in _layouts(kernels.xp, given):
        found.append(errors(dense(kernels, apply(laid_out).real), expected, sizes, terms))
    shared = dense(kernels, apply(kernels.xp.broadcast_to(given[:, :1], given.shape)).real)
    found.append(errors(shared, np.repeat(expected[:, :1], FEW, axis=1), sizes[:1], terms))
    grid = dense(kernels, apply(given.reshape(1, 2, 3, -1)).real)
    found.append(errors(grid, expected.reshape(len(expected), 2, 3, -1), sizes.reshape(2, 3, 1), terms))
    found.append(errors(dense(kernels, apply(given, check_finite=False).real), expected, sizes, terms))
    return np.asarray(np.max(found, axis=0))


def _layouts(xp: Any, given: Array) -> Iterator[Array]:
    """The same vectors (1, N, n): column by column, with gaps, and backwards in memory."""
    yield xp.asfortranarray(given)
    wide = xp.zeros((*given.shape[:-1], 2 * given.shape[-1]))
    wide[..., ::2] = given
    yield wide[..., ::2]
    yield xp.ascontiguousarray(given[:, ::-1])[:, ::-1]
