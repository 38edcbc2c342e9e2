"""Is an operator decided by its key and number, and not by the stack, the backend, the process, or other draws?"""

import dataclasses
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sketchbench import kernels as backends
from sketchbench.kernels import Kernels
from sketchbench.sketch.contract import elsewhere
from sketchbench.sketch.contract.probes import Floats, Subject, dense, errors, matrix_of, norms
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.dense import WORKSPACE

STACK = 48  # operators that are drawn again in other ways
FEW = 8
MANY = 10_000  # operators that are no more than a stack for the largest size
LAST = 2**32  # numbers of operators end here
Draw = Callable[[], tuple[int, Floats]]  # the number of its first operator, and the operators (T, b, d)


def check(subject: Subject, other_process: bool) -> Floats:
    """Operators 0 to STACK - 1, drawn again in every other way: the largest error of each, in units of rounding."""
    wanted = subject.matrices(subject.key, STACK)
    size = _size(wanted)
    found = np.zeros(STACK)
    for first, drawn in _again(subject):
        numbers = slice(first, first + len(drawn))
        found[numbers] = np.maximum(found[numbers], errors(drawn, wanted[numbers], size, subject.d + subject.b))
    if other_process:
        drawn = elsewhere.matrices(subject, FEW)
        found[:FEW] = np.maximum(found[:FEW], errors(drawn, wanted[:FEW], size, subject.d + subject.b))
    found[:FEW] = np.maximum(found[:FEW], _far(subject, size))
    return found


def _size(matrices: Floats) -> float:
    return max(float(np.nan_to_num(norms(matrices.reshape(len(matrices), -1)).max())), 1e-100)


def _again(subject: Subject) -> Iterator[tuple[int, Floats]]:
    """The operators again, in parts, with the number of the first of each."""
    family, key, ours = subject.family, subject.key, subject.kernels

    def part(first: int, count: int | None, kernels: Kernels = ours) -> tuple[int, Floats]:
        drawn = matrix_of(family.draw(key, operators=count, first=first, kernels=kernels))
        return first, drawn if count else drawn[None]

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
    """The global generators of NumPy and Python in another state, for the time of a block."""

    def __enter__(self) -> None:
        self._state = np.random.get_state(), random.getstate()  # noqa: NPY002 (what users' code may draw from)
        np.random.seed(4711)  # noqa: NPY002
        random.seed(4711)

    def __exit__(self, *_: object) -> None:
        np.random.set_state(self._state[0])  # noqa: NPY002
        random.setstate(self._state[1])


def _far(subject: Subject, size: float) -> Floats:
    """Operators of large numbers, as a stack and one by one, (FEW,)."""
    found = np.zeros(FEW)
    for place, start in enumerate((2**16 - 1, 2**31 - 1, LAST - 2)):
        both = subject.matrices(subject.key, 2, start)
        alone = np.concatenate([subject.matrices(subject.key, 1, start + number) for number in (0, 1)])
        found[2 * place : 2 * place + 2] = errors(both, alone, size, subject.d + subject.b)
    return found


def in_blocks(subject: Subject) -> Floats:
    """A stack of so many entries that `Dense` generates its rows in blocks, and the same in stacks without: (T,)."""
    size = WORKSPACE // (subject.d * subject.b)
    return in_other_stacks(subject, size + 1, size + 1) if subject.b > 1 and size < MANY else np.zeros(1)


def in_other_stacks(subject: Subject, total: int, step: int) -> Floats:
    """All operators, on one vector, drawn as a whole and in stacks of about `step`: the error of each, (total,)."""
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
