"""Are the operators of a stack, of neighbouring keys, and of keys that differ in one bit independent of one another?

Every pair of features of two operators is looked at: entries (signs), their magnitudes (places), sums of rows and
columns, products of columns and of rows (signs up to those of whole rows or columns), and their magnitudes. Where a
column or a part of an operator returns elsewhere, even permuted or with a random sign, two of these are correlated.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sketchbench.measure.dependence import Scale, Strongest, products, scale_of, strongest
from sketchbench.sketch.contract.probes import Floats, Subject

ROWS, COLUMNS = 6, 12  # of an operator that features are taken of, at most
LAGS = (1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 100, 128, 256, 1000)
STEPS = (1, 2, 3, 4, 8, 256, 2**16, 2**32)  # between neighbouring keys
SHIFTS = (-2, -1, 0, 1, 2)  # between the numbers of operators of neighbouring keys
BITS = 64
CONSTANT = 0.9  # share of operators from which on chance is no explanation
OF_A_BIT = 400  # operators that the search has for each change of the key
MASK = 2**BITS - 1


def features(matrices: Floats) -> Floats:
    """Of operators (T, b, d): the features listed above, (T, m)."""
    part = matrices[:, :ROWS, :COLUMNS]
    found = [part, abs(part), part.sum(axis=1), part.sum(axis=2)]
    for gram in (part.swapaxes(-1, -2) @ part, part @ part.swapaxes(-1, -2)):
        above = np.triu_indices(gram.shape[-1], 1)
        found += [gram[:, *above], abs(gram[:, *above]), np.diagonal(gram, axis1=-2, axis2=-1)]
    return np.concatenate([one.reshape(len(part), -1) for one in found], axis=1)


@dataclass(frozen=True)
class Found:
    """The strongest dependence that a search found: where, in words, and what measured it, with mean 0 for none."""

    where: str
    products: Floats


@dataclass(frozen=True)
class Independence:
    """Searches among the first operators, and measures with others.

    Arguments:
        subject: a family at a size of a dozen columns or more.
        trials: pairs of operators that measure. The search has as many within a stack, half as many of each
            neighbouring key, and OF_A_BIT for each change of a bit.
    """

    subject: Subject
    trials: int
    scale: Scale = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", scale_of(self._raw(self.subject.key ^ MASK, 2 * self.trials, 0)))

    def _raw(self, key: int, count: int, first: int) -> Floats:
        matrices = self.subject.matrices(key & MASK, count, first)
        return features(np.nan_to_num(matrices, nan=0.0, posinf=0.0, neginf=0.0))

    def _features(self, key: int, count: int, first: int = 0) -> Floats:
        return self.scale.apply(self._raw(key, count, first))

    def in_stack(self) -> Found:
        """Between operators t and t + lag of a key. Of these pairs every operator is in one only, so that they are
        independent of one another: t in the first (phase 0) or the second half of each 2 lag numbers."""
        if not self.scale.kept.size:
            return self._equal()
        half = 2 * self.trials
        searched = self._features(self.subject.key, half)
        lags = [lag for lag in LAGS if 8 * lag <= half]
        best: tuple[Strongest, int, int] | None = None
        for lag in lags:
            for phase in (0, 1):
                pair = strongest(*_pairs(searched, lag, phase))
                if best is None or abs(pair.correlation) > abs(best[0].correlation):
                    best = pair, lag, phase
        assert best is not None
        pair, lag, phase = best
        measured = self._features(self.subject.key, half, half)
        return Found(f"operators {lag} apart", products(*_pairs(measured, lag, phase), pair))

    def of_neighbours(self) -> Found:
        """Between operator t of a key and operator t + shift of a neighbouring key."""
        places = [
            (self.subject.key + step, shift, f"keys {step} apart, numbers {shift}")
            for step in STEPS
            for shift in SHIFTS
        ]
        return self._between(places, max(2, self.trials // 2))

    def of_bits(self) -> tuple[Found, Floats]:
        """Between operators of the same number of keys that differ in a bit, or few; and for each of these changes the
        share of operators that are the same."""
        changes = list(changed(self.subject.key))
        count = max(2, min(self.trials, OF_A_BIT))
        places = [(key, 0, where) for key, where in changes]
        ours = self.subject.matrices(self.subject.key, count)
        same = [repeats(ours, self.subject.matrices(key, count)) for key, _ in changes]
        return self._between(places, count), np.array(same)

    def _equal(self) -> Found:
        """What is found where nothing varies from operator to operator."""
        return Found("all operators are equal", np.ones(self.trials))

    def _between(self, places: list[tuple[int, int, str]], count: int) -> Found:
        """The strongest dependence of the subject's operators on those at one of several places (key, shift, name),
        found with `count` of them, and measured with `trials` others."""
        if not self.scale.kept.size:
            return self._equal()
        margin = max(abs(shift) for _, shift, _ in places)
        ours = self._features(self.subject.key, count, margin)
        best: tuple[Strongest, tuple[int, int, str]] | None = None
        known: dict[int, Floats] = {}
        for place in places:
            key, shift, _ = place
            if key not in known:
                known = {key: self._features(key, count + 2 * margin)}
            theirs = known[key][margin + shift : margin + shift + count]
            pair = strongest(ours, theirs)
            if best is None or abs(pair.correlation) > abs(best[0].correlation):
                best = pair, place
        assert best is not None
        pair, (key, shift, where) = best
        start = count + 2 * margin
        mine = self._features(self.subject.key, self.trials, start)
        return Found(where, products(mine, self._features(key, self.trials, start + shift), pair))


def _pairs(values: Floats, lag: int, phase: int) -> tuple[Floats, Floats]:
    """Observations t and t + lag of (T, m), each in one pair at most."""
    starts = np.arange(len(values) - lag)
    chosen = starts[(starts // lag) % 2 == phase]
    return values[chosen], values[chosen + lag]


def changed(key: int) -> Iterator[tuple[int, str]]:
    """Keys that differ from one in a single bit, and in a few that a careless use of 32 bits at a time confuses."""
    for bit in range(BITS):
        yield key ^ (1 << bit), f"bit {bit}"
    yield (key >> 32 | key << 32) & MASK, "halves swapped"
    for bit in (0, 7, 31):
        yield key ^ (1 << bit) ^ (1 << bit + 32), f"bits {bit} and {bit + 32}"
    yield key ^ MASK, "all bits"


def repeats(one: Floats, other: Floats) -> float:
    """The share of operators that are the same in both stacks, beyond what chance explains: the share that equals the
    next one of the other stack. Where nearly all do, nothing is random, and chance explains nothing."""
    same, chance = (float((one == two).all(axis=(1, 2)).mean()) for two in (other, np.roll(other, 1, axis=0)))
    return same - chance if chance <= CONSTANT else same


def repeated(results: Floats) -> Floats:
    """Which of the operators, of which each made (b,) numbers of one vector, is an earlier one again, be it with other
    signs or in another order of rows: (T, b) to zeros and ones, (T,)."""
    order, near = _neighbours(results)
    flags = np.zeros(len(results))
    flags[order[1:][near]] = 1.0
    return flags


def few_operators(one: Floats, other: Floats) -> bool:
    """Whether an operator of the one (S, b) is one of the other (T, b), results as in `repeated`.

    Where keys and numbers have nothing in common, the family has so few operators that some come twice by chance.
    """
    order, near = _neighbours(np.concatenate([one, other]))
    ours = order < len(one)
    group = np.concatenate([[0], np.cumsum(~near)])
    return bool(np.isin(group[ours], group[~ours]).any())


def _neighbours(results: Floats) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """An order of operators in which equal ones are neighbours, and which but the first equal the one before."""
    shape = np.sort(abs(results), axis=1)
    size = max(float(np.nan_to_num(shape).max()), 1e-300)
    order = np.argsort(shape @ np.linspace(1, 2, shape.shape[1]), kind="stable")
    near = abs(np.diff(shape[order], axis=0)) <= 1e-9 * size
    return order, np.asarray(near.all(axis=1))


def sketches(subject: Subject, keys: list[int], count: int | None, first: int = 0) -> Floats:
    """What operators `first`, ... of each key (or, for None, one drawn alone) make of one vector, (T, b)."""
    vector = subject.random("one vector").standard_normal(subject.d)
    x = subject.kernels.asarray(vector.reshape((1,) * (count is not None) + (1, -1)))
    parts = []
    for key in keys:
        stack = subject.family.draw(key & MASK, operators=count, first=first, kernels=subject.kernels)
        parts.append(subject.kernels.to_numpy(stack.sketch(x, check_finite=False)).reshape(-1, subject.b))
    return np.concatenate(parts)
