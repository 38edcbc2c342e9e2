"""Checks that relate results: other batches, calls, processes and backends, and scaled or permuted signals."""

import random as python_random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from sketchbench import kernels as backends
from sketchbench.kernels import Array
from sketchbench.sketch.contract import elsewhere
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.contract.subject import (
    DTYPES,
    ROUNDING,
    SAME,
    RecoverySubject,
    Values,
    differences,
    flags,
    joined,
    numpy_of,
    recover,
    relative,
    states,
    take,
)
from sketchbench.sketch.recovery.recovery import MakeRecovery, Recovered
from sketchbench.sketch.scattered import Scattered

PERTURBED = 2**10  # relative changes of measurements, in units of eps: above the steps that recoveries leave out
RESPONSE = 2**10  # how much larger than the response to such changes a difference by rounding may be
REPEATS = 8  # random changes
CALLS = 32  # of one recovery with the same measurements
ALONE = 8  # signals that are recovered one by one
STACK, TALL = 65, 300  # operators, and those at the first size
SOME = (0, 1, 32)  # of these, whose signals are also recovered alone
FEW = 24  # signals of checks that take many calls
MARGIN = 24  # exponents between the units and either end of a type, for sums, and for bits of small entries
ABOVE = 20  # exponent of a unit in which an absolute threshold does not count


def _excess(subject: RecoverySubject, phi: Sketch, y: Array, wanted: Recovered, found: Recovered) -> Values:
    """Differences of results for measurements y that rounding does not explain, (N,), in units of the allowance.

    Steps along directions that have almost vanished amplify rounding. So a signal's allowance grows with the
    differences that changes of y by PERTURBED eps make: a defect is seen if it exceeds SAME and RESPONSE times these.
    """
    random, responses = subject.random("rounding"), []
    for _ in range(REPEATS):
        factors = 1 + PERTURBED * np.finfo(np.float64).eps * random.choice([-1.0, 1.0], y.shape)
        responses.append(differences(recover(subject.recovery(), phi, y * phi.kernels.asarray(factors)), wanted))
    return differences(found, wanted) / (1 + RESPONSE * np.max(responses, axis=0))


def compare_batches(subject: RecoverySubject, count: int) -> Values:
    """Differences of signals that are recovered together from the same signals in another order, in batches of random
    sizes, and with two leading axes."""
    phi, random, recovery = subject.operator(), subject.random("batches"), subject.recovery()
    y = subject.sense(phi, subject.noisy("batches", count))
    whole = recover(recovery, phi, y)
    sizes = np.minimum(random.geometric(0.01, count), count // 2 + 1)
    sizes[:ALONE] = 1
    ends = np.cumsum(sizes)
    pieces = np.split(np.arange(count), ends[ends < count])
    even = count // 2 * 2
    return np.concatenate(
        [
            differences(take(recover(recovery, phi, y[::-1]), slice(None, None, -1)), whole),
            differences(joined([recover(recovery, phi, y[piece]) for piece in pieces]), whole),
            differences(recover(recovery, phi, y[:even].reshape(2, -1, y.shape[1])), take(whole, slice(even))),
        ]
    )


def compare_stack(subject: RecoverySubject, operators: int = STACK) -> Values:
    """Differences of signals that a stack of operators recovers from the same signals, recovered by SOME operators and
    the last one alone. Units of the operators' signals differ."""
    stack, recovery, some = subject.operator(operators=operators), subject.recovery(), [*SOME, operators - 1]
    units = np.array([1, 1e-3, 1e3])[np.arange(operators) % 3, None, None]
    y = subject.sense(stack, subject.noisy("stack", operators * 2).reshape(operators, 2, -1) * units)
    alone = [recover(recovery, subject.operator(first=t), y[t]) for t in some]
    return differences(take(recover(recovery, stack, y), some), joined(alone))


def compare_types(subject: RecoverySubject) -> Values:
    """The median difference of estimates in float32 from those of the same signals in float64, (1,), relative to the
    rounding of float32. Steps may amplify the rounding of single signals."""
    phi, x = subject.operator(), subject.noisy("types", FEW)
    double, single = (recover(subject.recovery(), phi, subject.sense(phi, x, dtype)).x for dtype in DTYPES)
    return np.median(relative(single, double), keepdims=True) / (ROUNDING * np.finfo(np.float32).eps)


def repeat_calls(subject: RecoverySubject) -> Values:
    """MOST for each call that gives another bit than the first, for the same measurements: later calls, after other
    measurements, with another recovery of the same fields, other global states, and another thread.

    It is MOST, too, if a call changes the measurements, the operator, an earlier result, or the state of a global
    generator.
    """
    phi, recovery = subject.operator(), subject.recovery()
    x = subject.noisy("calls", FEW)
    y = subject.sense(phi, x)
    before, result = numpy_of(phi, y), recovery.recover(phi, y)
    wanted = Recovered(*(numpy_of(phi, part) for part in result))
    with _other_states() as moved:
        again = [recover(recovery, phi, y) for _ in range(CALLS)]
        recover(recovery, phi, -2.5 * y[::-1])
        again += [recover(recovery, phi, y), recover(subject.recovery(), phi, y)]
        touched = moved()
    with ThreadPoolExecutor(1) as another_thread:
        again.append(another_thread.submit(recover, recovery, phi, y).result())
    kept = Recovered(*(numpy_of(phi, part) for part in result))
    faults = [differences(found, wanted, 0).max() for found in (*again, kept)]
    changed = (numpy_of(phi, y) != before).any() or (numpy_of(phi, subject.sense(phi, x)) != before).any()
    return np.array([*faults, flags(np.array(changed or touched))])


@contextmanager
def _other_states() -> Iterator[Callable[[], bool]]:
    """Other states of the global generators of NumPy and Python. Yields a function: whether these have moved."""
    kept = np.random.get_state(), python_random.getstate()  # noqa: NPY002 (users' code may draw from it)
    np.random.seed(4711)  # noqa: NPY002
    python_random.seed(4711)
    start = _states()
    try:
        yield lambda: _states() != start
    finally:
        np.random.set_state(kept[0])  # noqa: NPY002
        python_random.setstate(kept[1])


def _states() -> tuple[Any, ...]:
    _, words, *rest = np.random.get_state()  # noqa: NPY002
    return np.asarray(words).tobytes(), rest, python_random.getstate()


def compare_backends(subject: RecoverySubject) -> Values:
    """Differences of results between the CPU backends."""
    phi, y, wanted = _measured(subject)
    found = []
    for name in backends.NAMES[:2]:
        if name != subject.kernels.NAME:
            other = backends.load(name)
            found.append(recover(subject.recovery(), subject.operator(other), other.asarray(numpy_of(phi, y))))
    return np.concatenate([_excess(subject, phi, y, wanted, one) for one in found])


def compare_process(subject: RecoverySubject) -> Values:
    """Differences of results from another process, with another hash seed, other threads, and NumPy kernels. It takes
    about a second."""
    phi, y, wanted = _measured(subject)
    there = elsewhere.evaluate(_recover_there, subject.make, subject.k, subject.family, subject.key, numpy_of(phi, y))
    return _excess(subject, phi, y, wanted, Recovered(*there))


def _recover_there(make: MakeRecovery, k: int, family: Family, key: int, y: Array) -> tuple[Any, ...]:
    return tuple(recover(make(k=k), family.draw(key, kernels="numpy"), y))


def _measured(subject: RecoverySubject) -> tuple[Sketch, Array, Recovered]:
    phi = subject.operator()
    y = subject.sense(phi, subject.noisy("elsewhere", FEW))
    return phi, y, recover(subject.recovery(), phi, y)


def flip_signs(subject: RecoverySubject, count: int) -> Values:
    """MOST for each signal whose estimate from -y is not the negative of its estimate from y, bit for bit."""
    phi, parts = subject.operator(), []
    for dtype in DTYPES:
        y = subject.sense(phi, subject.noisy("signs", count), dtype)
        one, other = (recover(subject.recovery(), phi, side) for side in (y, -y))
        parts.append(differences(other._replace(x=-other.x), one, 0))
    return np.concatenate(parts)


def change_units(subject: RecoverySubject, step: int) -> Values:
    """MOST for each signal whose result in the unit 2^e is not 2^e times its result in the unit 1, bit for bit: for
    every `step`-th exponent e of a type. Each signal of a batch has another unit. Units below 2^ABOVE are left out if
    the recovery states that its estimates do not scale."""
    phi, parts = subject.operator(), []
    scales = states(subject.recovery(), "scales")
    for dtype in DTYPES:
        limits, base = np.finfo(dtype), 0 if scales else ABOVE
        lowest = limits.minexp + limits.nmant + MARGIN if scales else ABOVE
        exponents = np.arange(lowest, limits.maxexp - MARGIN, step)
        y = numpy_of(phi, subject.sense(phi, subject.noisy("units", len(exponents)), dtype))
        try:
            wanted, found = (
                recover(subject.recovery(), phi, phi.kernels.asarray(np.ldexp(y, powers[:, None])))
                for powers in (np.full_like(exponents, base), exponents)
            )
        except OverflowError:  # far from the end of the type
            parts.append(flags(np.ones(len(exponents), dtype=bool)))
            continue
        back = (base - exponents)[:, None]
        scaled = found._replace(x=np.ldexp(found.x, back), trace=np.ldexp(found.trace, back))
        parts.append(differences(scaled, wanted, 0))
    return np.concatenate(parts)


class _Reordered(Sketch):
    """The operator whose column j is column order[j] of a single operator without padding."""

    def __init__(self, inner: Sketch, order: Array) -> None:
        super().__init__(inner.d, inner.b, inner.kernels)
        self._inner, self._order, self._back = inner, order, inner.kernels.xp.argsort(order)

    def _sketch(self, x: Array) -> Array:
        return self._inner._sketch(self.kernels.xp.ascontiguousarray(x[..., self._back]))

    def _desketch(self, y: Array) -> Array:
        return self.kernels.xp.ascontiguousarray(self._inner._desketch(y)[..., self._order])


def _reordered(phi: Sketch, order: Array) -> Sketch:
    if not isinstance(phi, Scattered):
        return _Reordered(phi, order)
    matrix, array = phi._matrix, phi.kernels.xp.ascontiguousarray
    return phi._changed(
        _matrix=phi.kernels.prepare(array(matrix.buckets[..., order]), array(matrix.signs[..., order]), phi.b)
    )


def permute(subject: RecoverySubject, count: int) -> Values:
    """Differences (N,) between the estimates with permuted columns of Φ, and the permuted estimates. Empty with
    padding, or if the recovery refuses a permuted operator. Without iterations, ties at the k-th place are left out:
    the place decides them."""
    phi = subject.operator()
    if phi.padded().d != phi.d or not states(subject.recovery(), "permutes"):
        return np.zeros(0)
    order = subject.random("order").permutation(subject.d)
    y = subject.sense(phi, subject.noisy("permuted", count))
    wanted = recover(subject.recovery(), phi, y)
    try:
        found = recover(subject.recovery(), _reordered(phi, phi.kernels.asarray(order)), y)
    except TypeError:
        return np.zeros(0)
    every = np.sort(abs(recover(subject.recovery(subject.d), phi, y).x), axis=1)[:, ::-1]
    least, next_one = every[:, subject.k - 1], every[:, min(subject.k, subject.d - 1)]
    judged = (wanted.iterations > 0) | (least > (1 + SAME) * next_one)
    return _excess(subject, phi, y, wanted, found._replace(x=found.x[:, np.argsort(order)]))[judged]
