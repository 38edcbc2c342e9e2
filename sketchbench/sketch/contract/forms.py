"""Checks of an operator's methods other than R and Rᵀ: copies, selected and joined operators, forms, sparse vectors."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from sketchbench.sketch.contract.probes import MOST, Floats, Subject, dense, matrix_of, norms, size_of
from sketchbench.sketch.contract.shapes import KINDS, fault
from sketchbench.sketch.operator import Sketch

COUNTS = (1, 2, 7)  # operators of a stack
TERMS = (1, 2, 3)  # sparse vectors whose sum is sketched


def check(subject: Subject) -> dict[str, Floats]:
    """Errors (n,) by quantity, in units of rounding or MOST, of a single operator and of stacks, in both types.

    `sameness`: sizes and equality; operators that were pickled and copied are equal, and give the same results; others
    differ. `transpose`: `materialize` and SciPy's operator. `projection`: `padded`, `with_workspace`, both, `select`,
    `join`, and `sketch_sparse` with any number of nonzeros."""
    random, faults = subject.random("forms"), dict[str, list[float]](sameness=[], transpose=[], projection=[])
    for count in (None, *COUNTS):
        drawn = subject.family.draw(subject.key, operators=count, kernels=subject.kernels)
        matrices = matrix_of(drawn).reshape(count or 1, subject.b, subject.d)
        faults["sameness"] += _copies(subject, drawn, matrices, random)
        faults["transpose"] += _formed(drawn, matrices, random)
        faults["projection"] += _changed(drawn, matrices, random)
        faults["projection"] += [_sparse(drawn, matrices, terms, dtype, random) for terms in TERMS for dtype in KINDS]
    return {name: np.array(found) for name, found in faults.items()}


def _both(drawn: Sketch, matrices: Floats, random: np.random.Generator) -> list[float]:
    """Errors of R x and Rᵀy of an operator with these matrices (T, b, d), for three vectors of either type."""
    found = []
    for method, matrix in (("sketch", matrices.swapaxes(-1, -2)), ("desketch", matrices)):
        vectors = random.integers(-8, 9, (3, matrix.shape[1])).astype(np.float64)
        shaped = vectors if drawn.operators is None else vectors[None]
        found += [fault(drawn, method, shaped.astype(dtype), vectors @ matrix, size_of(matrices)) for dtype in KINDS]
    return found


def _copies(subject: Subject, drawn: Sketch, matrices: Floats, random: np.random.Generator) -> list[float]:
    family, count = subject.family, drawn.operators
    sizes = (drawn.d, drawn.b, drawn.kernels.NAME) == (family.d, family.b, subject.kernels.NAME)
    other = family.draw(subject.key ^ 1, operators=count, kernels=subject.kernels)
    found = [MOST * (not sizes or drawn == other)]
    makes: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
    for make in makes:
        again = make(drawn)
        found += [MOST * (again != drawn or hash(again) != hash(drawn)), *_both(again, matrices, random)]
        found.append(MOST * (make(family) != family or hash(make(family)) != hash(family)))
    return found


def _formed(drawn: Sketch, matrices: Floats, random: np.random.Generator) -> list[float]:
    """Errors of the dense matrix in float32, and of SciPy's operator for single vectors."""
    kernels, found = drawn.kernels, []
    single = drawn.materialize(np.float32)
    close = abs(dense(kernels, single).reshape(matrices.shape) - matrices) <= 1e-5 * size_of(matrices)
    found.append(MOST * (single.dtype != np.float32 or not close.all()))
    if drawn.operators is None:
        for dtype in KINDS:
            linear = drawn.as_linear_operator(dtype)
            x, y = (random.integers(-8, 9, n).astype(dtype) for n in (drawn.d, drawn.b))
            down, up = linear.matvec(x), linear.rmatvec(y)
            right = linear.shape == matrices.shape[1:] and {down.dtype, up.dtype, linear.dtype} == {np.dtype(dtype)}
            slack = 100 * float(np.finfo(dtype).eps) * size_of(matrices) * (drawn.d + drawn.b)
            right = right and bool((abs(down - matrices[0] @ x) <= slack * norms(x.astype(float))).all())
            found.append(MOST * (not right or bool((abs(up - y @ matrices[0]) > slack * norms(y.astype(float))).any())))
    return found


def _changed(drawn: Sketch, matrices: Floats, random: np.random.Generator) -> list[float]:
    """Errors of other forms of an operator: with a workspace, padded, selected and joined."""
    found = _both(drawn.with_workspace(), matrices, random)
    for padded in (drawn.padded(), drawn.padded().with_workspace()):
        # A copy, as the next call may overwrite what a workspace holds.
        whole = matrix_of(padded).reshape(len(matrices), padded.b, padded.d).copy()
        found += [MOST * bool((abs(whole[..., : drawn.d] - matrices) > 1e-12 * size_of(matrices)).any())]
        found += _both(padded, whole, random)
    if drawn.operators is None:
        origin = drawn.drawn
        assert origin is not None  # `Family.draw` sets it
        others = [origin.family.draw(origin.key, first=number, kernels=drawn.kernels) for number in (3, 1)]
        try:
            joined = drawn.join(others)
        except TypeError:  # most operators can't be joined
            return found
        return found + _both(joined, np.concatenate([matrices, *(matrix_of(one)[None] for one in others)]), random)
    mask = random.random(drawn.operators) < 0.5
    mask[int(random.integers(drawn.operators))] = True
    return found + _both(drawn.select(drawn.kernels.asarray(mask)), matrices[mask], random)


def _sparse(drawn: Sketch, matrices: Floats, terms: int, dtype: Any, random: np.random.Generator) -> float:
    """The error of a sum of sparse vectors, each with any number of nonzeros: three, or one for each operator."""
    kernels, count = drawn.kernels, drawn.operators or 3
    whole, pairs = np.zeros((count, drawn.d)), []
    for _ in range(terms):
        kept = int(np.exp(random.uniform(0, np.log(drawn.d + 1))))
        at = np.sort(random.permuted(np.tile(np.arange(drawn.d), (count, 1)), axis=1)[:, :kept], axis=1)
        values = random.integers(1, 9, at.shape).astype(np.float64)
        whole[np.arange(count)[:, None], at] += values
        pairs.append((kernels.asarray(at.astype(np.int32)), kernels.asarray(values.astype(dtype))))
    result = drawn.sketch_sparse(*pairs)
    expected = (matrices @ whole[..., None])[..., 0]
    eps = 100 * float(np.finfo(dtype).eps) * size_of(matrices) * (drawn.d + drawn.b)
    right = result.dtype == dtype and result.shape == expected.shape
    return MOST * (not right or bool((abs(dense(kernels, result) - expected) > eps * norms(whole)[:, None]).any()))
