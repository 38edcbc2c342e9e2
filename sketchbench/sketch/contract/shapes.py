"""Checks that results don't depend on how many vectors or operators there are, nor on the axes that arrange them."""

from typing import Any

import numpy as np

from sketchbench.sketch.contract.probes import MOST, Floats, Subject, dense, errors, matrix_of, norms, size_of
from sketchbench.sketch.operator import Sketch

BATCHES, WIDE = 12, 2**16 + 1  # batches have up to 2^12 + 1 vectors, and one has 2^16 + 1
STACKS, TALL = 10, 2**16 + 1  # stacks have up to 2^10 + 1 operators, and one has 2^16 + 1,
ENTRIES = 2**23  # if they have no more entries
AXES = ((1,), (5,), (2, 3), (0,), (3, 0, 2), (1, 1, 1, 7), (4, 1, 3, 2))  # of batches beside (N,); stacks have one more
KINDS: dict[Any, str] = {np.float64: "linearity", np.float32: "precision"}


def sizes(most: int, random: np.random.Generator) -> list[int]:
    """The numbers 2^k - 1, 2^k and 2^k + 1 up to k = `most`, and `most` that are log-uniform, ascending."""
    near = [2**k + step for k in range(most + 1) for step in (-1, 0, 1)]
    drawn = np.exp(random.uniform(0, np.log(2**most), most)).astype(int)
    return sorted({*near, *drawn.tolist()} - {0})


def in_batches(subject: Subject) -> dict[str, Floats]:
    """Errors, in units of rounding and by quantity (calls,), of vectors in batches of 1 to WIDE vectors, and in AXES,
    against the dense matrix: of a single operator and of a stack of two, in both types."""
    random, faults = subject.random("batches"), dict[str, list[float]](linearity=[], projection=[], precision=[])
    for count in (None, 2):
        drawn = subject.family.draw(subject.key, operators=count, kernels=subject.kernels)
        matrices = matrix_of(drawn).reshape(count or 1, subject.b, subject.d)
        size = size_of(matrices)
        down = matrices.swapaxes(-1, -2)
        for method, matrix, power in (("sketch", down, 1), ("desketch", matrices, 1), ("project", down @ matrices, 2)):
            vectors = random.integers(-8, 9, (2**BATCHES + 1, matrix.shape[1])).astype(np.float64)
            expected = vectors @ matrix
            for dtype, kind in KINDS.items():
                batch, quantity = vectors.astype(dtype), "projection" if method == "project" else kind
                numbers = sizes(BATCHES, random)[:: 1 if count and method == "sketch" else 2]
                for axes in (*AXES, *((number,) for number in numbers)):
                    number = int(np.prod(axes))
                    first = int(random.integers(len(vectors) - number + 1))
                    part = slice(first, first + number)
                    shaped = batch[part].reshape(*(1,) * (count is not None), *axes, batch.shape[1])
                    faults[quantity].append(fault(drawn, method, shaped, expected[:, part], size**power))
                if method == "sketch":
                    places = np.arange(WIDE) % len(vectors)
                    shaped = batch[places] if count is None else batch[None, places]
                    faults[quantity].append(fault(drawn, method, shaped, expected[:, places], size))
    return {quantity: np.array(found) for quantity, found in faults.items()}


def in_stacks(subject: Subject) -> dict[str, Floats]:
    """Errors `sameness` (n,) of stacks of 1 to TALL operators, against the same operators in stacks of 64: for five
    vectors that they share, and for five of each operator's own."""
    random, most = subject.random("stacks"), 2**STACKS + 1
    parts = [subject.matrices(subject.key, 64, first) for first in range(0, 2 * most, 64)]
    matrices = np.concatenate(parts).swapaxes(-1, -2)
    size = size_of(matrices)
    vectors = random.integers(-8, 9, (most, 5, subject.d)).astype(np.float64)
    faults = []
    for number in sizes(STACKS, random):
        first = int(random.integers(most))
        stack = subject.family.draw(subject.key, operators=number, first=first, kernels=subject.kernels)
        for dtype in KINDS:
            for part in (vectors[:1], vectors[:number]):
                wanted = part @ matrices[first : first + number]
                faults.append(fault(stack, "sketch", part.astype(dtype), wanted, size))
    if TALL * subject.b * subject.d <= ENTRIES:
        stack = subject.family.draw(subject.key, operators=TALL, kernels=subject.kernels)
        found = dense(subject.kernels, stack.sketch(subject.kernels.asarray(vectors[:1, :1]), check_finite=False))
        wanted = vectors[:1, :1] @ matrices
        last = subject.matrices(subject.key, 64, TALL - 64).swapaxes(-1, -2)
        faults += [
            _error(found[: len(wanted)], wanted, norms(vectors[0, :1]) * size, subject.d, np.float64),
            _error(found[-64:], vectors[:1, :1] @ last, norms(vectors[0, :1]) * size, subject.d, np.float64),
        ]
    return {"sameness": np.array(faults)}


def fault(drawn: Sketch, method: str, vectors: Any, expected: Floats, size: float) -> float:
    """The error of a method's results for vectors (..., n), of one type; expected are (T, N, m)."""
    result = getattr(drawn, method)(drawn.kernels.asarray(vectors), check_finite=False)
    stack = () if drawn.operators is None else (drawn.operators,)
    if result.shape != (*stack, *vectors.shape[len(stack) : -1], expected.shape[-1]) or result.dtype != vectors.dtype:
        return MOST
    found = dense(drawn.kernels, result.real).reshape(expected.shape)
    longest = float(norms(vectors.astype(np.float64)).max(initial=0.0))
    return _error(found, expected, longest * size, drawn.d + drawn.b, vectors.dtype)


def _error(found: Floats, expected: Floats, scale: Any, terms: int, dtype: Any) -> float:
    return float(errors(found, expected, scale, terms, float(np.finfo(dtype).eps)).max(initial=0.0))
