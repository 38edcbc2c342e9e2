"""Checks that key and number determine an operator: not the stack, the backend, the process, or other draws."""

import dataclasses
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sketchbench import kernels as backends
from sketchbench.kernels import Kernels
from sketchbench.sketch.contract import elsewhere
from sketchbench.sketch.contract.probes import Floats, Subject, dense, errors, matrix_of, size_of
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.dense import WORKSPACE

STACK = 48  # operators that are drawn in several ways
FEW = 8  # operators for the slower ways
MANY = 10_000  # largest stack for `in_blocks`
LAST = 2**32  # one more than the largest number of an operator


def check(subject: Subject, other_process: bool) -> Floats:
    """The largest difference, in units of rounding, of operators 0 to STACK - 1 drawn in several ways: (STACK,), at
    most 1 if key and number determine them. Drawing the first FEW in another process, too, takes a second."""
    expected = subject.matrices(subject.key, STACK)
    size = size_of(expected)
    faults = np.zeros(STACK)
    for first, matrices in _again(subject):
        part = slice(first, first + len(matrices))
        faults[part] = np.maximum(faults[part], errors(matrices, expected[part], size, subject.d + subject.b))
    if other_process:
        matrices = elsewhere.matrices(subject, FEW)
        faults[:FEW] = np.maximum(faults[:FEW], errors(matrices, expected[:FEW], size, subject.d + subject.b))
    faults[:FEW] = np.maximum(faults[:FEW], _far(subject, size))
    return faults


def _again(subject: Subject) -> Iterator[tuple[int, Floats]]:
    """The operators in parts, each drawn in another way: the number of its first operator, and matrices (T, b, d)."""
    family, key, ours = subject.family, subject.key, subject.kernels

    def part(first: int, count: int | None, kernels: Kernels = ours) -> tuple[int, Floats]:
        matrices = matrix_of(family.draw(key, operators=count, first=first, kernels=kernels))
        return first, matrices if count else matrices[None]

    for first in (*range(FEW), STACK - 1):
        yield part(first, None)
    yield part(1, 1)
    yield part(5, 17)
    yield part(0, 3)
    yield part(STACK // 2, STACK // 2)
    matrix_of(family.draw(key ^ 1, operators=5, kernels=ours))
    CountSketch(subject.d, subject.b).draw(key, operators=STACK, kernels=ours).materialize()
    with _OtherState():
        yield part(0, STACK)
    yield 0, dataclasses.replace(subject, family=dataclasses.replace(family)).matrices(key, STACK)
    with ThreadPoolExecutor(1) as another_thread:
        yield another_thread.submit(part, 0, FEW).result()
    for name in backends.NAMES[:2]:
        if name != ours.NAME:
            yield part(0, STACK, backends.load(name))
    yield part(0, STACK)


class _OtherState:
    """A context in which the global generators of NumPy and Python have another state."""

    def __enter__(self) -> None:
        self._state = np.random.get_state(), random.getstate()  # noqa: NPY002 (users' code may draw from it)
        np.random.seed(4711)  # noqa: NPY002
        random.seed(4711)

    def __exit__(self, *_: object) -> None:
        np.random.set_state(self._state[0])  # noqa: NPY002
        random.setstate(self._state[1])


def _far(subject: Subject, size: float) -> Floats:
    """Differences of operators with large numbers, drawn as a stack and one by one, (FEW,)."""
    faults = np.zeros(FEW)
    for place, start in enumerate((2**16 - 1, 2**31 - 1, LAST - 2)):
        both = subject.matrices(subject.key, 2, start)
        alone = np.concatenate([subject.matrices(subject.key, 1, start + number) for number in (0, 1)])
        faults[2 * place : 2 * place + 2] = errors(both, alone, size, subject.d + subject.b)
    return faults


def in_blocks(subject: Subject) -> Floats:
    """Differences (T,) of operators in a stack so large that `Dense` makes rows in blocks, and in smaller stacks."""
    size = WORKSPACE // (subject.d * subject.b)
    return in_other_stacks(subject, size + 1, size + 1) if subject.b > 1 and size < MANY else np.zeros(1)


def in_other_stacks(subject: Subject, total: int, step: int) -> Floats:
    """Differences of R x, for one x and `total` operators, drawn as one stack and in stacks of `step`: (total,)."""
    vector = subject.random("one vector").standard_normal(subject.d)
    x = subject.kernels.asarray(vector[None, None])

    def results(size: int) -> Floats:
        parts = []
        for first in range(0, total, size):
            count = min(size, total - first)
            stack = subject.family.draw(subject.key, operators=count, first=first, kernels=subject.kernels)
            parts.append(dense(subject.kernels, stack.sketch(x, check_finite=False)).reshape(count, subject.b))
        return np.concatenate(parts)

    once = results(total)
    scale = max(float(np.nan_to_num(abs(once)).max()), 1e-100) * subject.d
    return errors(results(max(1, step)), once, scale, subject.d + subject.b)
