"""Checks that a call depends on its argument alone: not on the calls before it, and that no call hides NaN or inf."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sketchbench import kernels as backends
from sketchbench.sketch.contract.probes import MOST, Floats, Subject, dense, errors, matrix_of, norms, size_of
from sketchbench.sketch.operator import Sketch

CALLS = 400
COUNTS = (1, 2, 5, 17)  # vectors of a call
CPU = backends.NAMES[:2]
OTHERS = (1, 2**32, 2**63)  # differences of other keys


@dataclass
class _Operator:
    """An operator, its dense matrix (T, b, d), and the arrays that all of its calls use again, by shape and type."""

    drawn: Sketch
    matrix: Floats = field(init=False)
    size: float = field(init=False)
    arrays: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.matrix = matrix_of(self.drawn).reshape(-1, self.drawn.b, self.drawn.d)
        self.size = size_of(self.matrix)


def check(subject: Subject) -> dict[str, Floats]:
    """Errors `calls` (CALLS,) of a random sequence of calls, in units of rounding, or MOST.

    The operators are of two sizes and several keys and numbers, single and in a stack, on either CPU backend. Methods,
    types and numbers of vectors alternate. Calls share a few arrays, whose entries change in place between two calls,
    or stay. Every tenth call has entries that are NaN or infinite. It must raise ValueError; with `check_finite=False`
    it must spoil its own vector, and no other vector of the batch."""
    random = subject.random("calls")
    operators = [_Operator(one) for one in _drawn(subject)]
    kept: list[tuple[Any, Floats]] = []  # earlier results, with copies
    faults = np.zeros(CALLS)
    for number in range(CALLS):
        one = operators[random.integers(len(operators))]
        method = ("sketch", "desketch", "project")[random.integers(3)]
        count, dtype = int(random.choice(COUNTS)), (np.float64, np.float32)[random.integers(2)]
        if number % 10 == 9:
            faults[number] = _of_nonfinite(one, method, count, dtype, random)
            continue
        faults[number] = _of_finite(one, method, count, dtype, random, kept)
        if any(not np.array_equal(dense(subject.kernels, result), copy) for result, copy in kept[-3:]):
            faults[number] = MOST
    return {"calls": faults}


def _drawn(subject: Subject) -> list[Sketch]:
    """Operators of the subject: alone, in a stack, of another number, key and backend; and one of another size."""
    draw, key, kernels = subject.family.draw, subject.key, subject.kernels
    drawn = [draw(key, kernels=kernels), draw(key, operators=3, kernels=kernels), draw(key, first=1, kernels=kernels)]
    drawn += [draw(key ^ other, kernels=kernels) for other in OTHERS]
    drawn += [draw(key, kernels=backends.load(name)) for name in CPU if kernels.NAME in CPU]
    for d, b in ((2 * subject.d, subject.b), (2 * subject.d, 2 * subject.b)):
        try:
            drawn.append(dataclasses.replace(subject.family, d=d, b=b).draw(key, kernels=kernels))
        except ValueError:
            continue
        break
    return drawn


def _vectors(one: _Operator, length: int, count: int, dtype: Any, random: np.random.Generator) -> Any:
    """An array (count, length), or (1, count, length) for a stack, that earlier calls have used; most often changed."""
    shape = (count, length) if one.drawn.operators is None else (1, count, length)
    kept = one.arrays.get((shape, dtype))
    if kept is None:
        kept = one.arrays[shape, dtype] = one.drawn.kernels.xp.zeros(shape, dtype)
        kept[...] = one.drawn.kernels.asarray(random.integers(-8, 9, shape).astype(dtype))
    change = random.integers(4)
    if change == 0:
        kept[...] = one.drawn.kernels.asarray(random.integers(-8, 9, shape).astype(dtype))
    elif change == 1:
        kept[..., int(random.integers(count)), int(random.integers(length))] += 1
    elif change == 2:
        kept[...] = kept[..., ::-1].copy()
    return kept


def _expected(one: _Operator, method: str, vectors: Floats) -> Floats:
    """The results of vectors (N, n), (T, N, m)."""
    down = one.matrix.swapaxes(-1, -2)
    return vectors @ {"sketch": down, "desketch": one.matrix}.get(method, down @ one.matrix)


def _of_finite(
    one: _Operator, method: str, count: int, dtype: Any, random: np.random.Generator, kept: list[tuple[Any, Floats]]
) -> float:
    length = one.drawn.b if method == "desketch" else one.drawn.d
    argument = _vectors(one, length, count, dtype, random)
    vectors = dense(one.drawn.kernels, argument).copy().reshape(count, length)
    try:
        result = getattr(one.drawn, method)(argument, check_finite=bool(random.integers(2)))
    except OverflowError:  # sums of small numbers are finite
        return MOST
    expected = _expected(one, method, vectors)
    found = dense(one.drawn.kernels, result)
    kept.append((result, found.copy()))
    if (
        result.dtype != dtype
        or found.size != expected.size
        or not np.array_equal(dense(one.drawn.kernels, argument).reshape(count, length), vectors)
    ):
        return MOST
    scale = norms(vectors)[:, None] * one.size ** (1 + (method == "project"))
    eps = float(np.finfo(dtype).eps)
    return float(errors(found.reshape(expected.shape), expected, scale, sum(one.matrix.shape[1:]), eps).max())


def _of_nonfinite(one: _Operator, method: str, count: int, dtype: Any, random: np.random.Generator) -> float:
    """MOST unless a batch with one entry that is NaN or infinite raises ValueError, and spoils its vector alone."""
    length = one.drawn.b if method == "desketch" else one.drawn.d
    vectors = random.integers(-8, 9, (count, length)).astype(dtype)
    row, column = int(random.integers(count)), int(random.integers(length))
    vectors[row, column] = (np.nan, np.inf, -np.inf)[random.integers(3)]
    argument = one.drawn.kernels.asarray(vectors if one.drawn.operators is None else vectors[None])
    try:
        getattr(one.drawn, method)(argument)
    except ValueError:
        pass
    else:
        return MOST
    with np.errstate(all="ignore"):
        result = getattr(one.drawn, method)(argument, check_finite=False)
    unit = np.eye(1, length, column)
    spoilt = np.asarray(_expected(one, method, unit).any(axis=(1, 2)))  # operators for which this entry counts
    others = np.delete(vectors, row, axis=0).astype(np.float64)
    expected = _expected(one, method, others)
    found = dense(one.drawn.kernels, result).reshape(len(one.matrix), count, expected.shape[-1])
    if np.isfinite(found[spoilt, row]).all(axis=1).any():
        return MOST
    scale = norms(others)[:, None] * one.size ** (1 + (method == "project"))
    eps = float(np.finfo(dtype).eps)
    found = np.delete(found, row, axis=1)
    return float(errors(found, expected, scale, sum(one.matrix.shape[1:]), eps).max())
