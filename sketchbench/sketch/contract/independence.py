"""Measures whether operators of a stack, of neighbouring keys, and of keys that differ in one bit are independent.
A search compares every pair of features of two operators: entries (signs), their magnitudes (places), sums of rows and
of columns, and inner products of columns and of rows with their magnitudes. Two features are correlated if one operator
repeats a column or a part of the other, even permuted or with a random sign."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.measure.dependence import Standardisation, Strongest, products, scale_of, strongest
from sketchbench.sketch.contract.probes import Floats, Subject

ROWS, COLUMNS = 6, 12  # the largest part of an operator whose features are compared
LAGS = (1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 100, 128, 256, 1000)  # differences of operators' numbers
STEPS = (1, 2, 3, 4, 8, 256, 2**16, 2**32)  # differences of neighbouring keys
SHIFTS = (-2, -1, 0, 1, 2)  # differences of operators' numbers for neighbouring keys
BITS = 64
CONSTANT = 0.9  # share of equal operators above which the family counts as constant
OF_A_BIT = 400  # operators that the search uses for each change of the key
MASK = 2**BITS - 1


def features(matrices: Floats) -> Floats:
    """The features of operators (T, b, d), listed in the module's docstring: (T, m)."""
    part = matrices[:, :ROWS, :COLUMNS]
    groups = [part, abs(part), part.sum(axis=1), part.sum(axis=2)]
    for gram in (part.swapaxes(-1, -2) @ part, part @ part.swapaxes(-1, -2)):
        above = np.triu_indices(gram.shape[-1], 1)
        groups += [gram[:, *above], abs(gram[:, *above]), np.diagonal(gram, axis1=-2, axis2=-1)]
    return np.concatenate([group.reshape(len(part), -1) for group in groups], axis=1)


@dataclass(frozen=True)
class Dependence:
    """The strongest dependence of a search (`where`, in words), and products of the two features of other operators
    (trials,), with mean 0 if they are independent."""

    where: str
    products: Floats


@dataclass(frozen=True)
class Independence:
    """Finds the strongest dependence among the first operators of a family with at least a dozen columns, and measures
    it with later operators. The measurement has `trials` pairs of operators. The search uses as many pairs of a stack,
    half as many of each neighbouring key, and OF_A_BIT of each change of the key."""

    subject: Subject
    trials: int
    scale: Standardisation = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", scale_of(self._raw(self.subject.key ^ MASK, 2 * self.trials, 0)))

    def _raw(self, key: int, count: int, first: int) -> Floats:
        matrices = self.subject.matrices(key & MASK, count, first)
        return features(np.nan_to_num(matrices, nan=0.0, posinf=0.0, neginf=0.0))

    def _features(self, key: int, count: int, first: int = 0) -> Floats:
        return self.scale.apply(self._raw(key, count, first))

    def in_stack(self) -> Dependence:
        """The dependence of operators t and t + lag of a key. Pairs share no operator, and so are independent: t is in
        the first half (phase 0) or the second half (phase 1) of each 2 lag numbers."""
        if not self.scale.used.size:
            return self._equal()
        half = 2 * self.trials
        searched = self._features(self.subject.key, half).astype(np.float32)  # as `strongest` takes them
        lags = [lag for lag in LAGS if 8 * lag <= half]
        best: tuple[Strongest, int, int] | None = None
        for lag in lags:
            for phase in (0, 1):
                pair = strongest(*_pairs(searched, lag, phase))
                if best is None or abs(pair.correlation) > abs(best[0].correlation):
                    best = pair, lag, phase
        assert best is not None
        pair, lag, phase = best
        later = self._features(self.subject.key, half, half)
        return Dependence(f"operators {lag} apart", products(*_pairs(later, lag, phase), pair))

    def of_neighbours(self) -> Dependence:
        """The dependence of operator t of a key and operator t + shift of a neighbouring key."""
        places = [
            (self.subject.key + step, shift, f"keys {step} apart, numbers {shift}")
            for step in STEPS
            for shift in SHIFTS
        ]
        return self._between(places, max(2, self.trials // 2))

    def of_bits(self) -> tuple[Dependence, Floats]:
        """The dependence of operators with the same number, if keys differ in one or few bits (`key_changes`), and the
        share of operators that each change of the key leaves unchanged."""
        changes = list(key_changes(self.subject.key))
        count = max(2, min(self.trials, OF_A_BIT))
        places = [(key, 0, where) for key, where in changes]
        ours = self.subject.matrices(self.subject.key, count)
        same = [share_equal(ours, self.subject.matrices(key, count)) for key, _ in changes]
        return self._between(places, count), np.array(same)

    def _equal(self) -> Dependence:
        return Dependence("all operators are equal", np.ones(self.trials))

    def _between(self, places: list[tuple[int, int, str]], count: int) -> Dependence:
        """The strongest dependence of the subject's operators on operators at several places: key, difference of the
        operators' numbers, and description. The search has `count` operators, the measurement `trials` others."""
        if not self.scale.used.size:
            return self._equal()
        margin = max(abs(shift) for _, shift, _ in places)
        ours: Any = self._features(self.subject.key, count, margin).astype(np.float32)  # as `strongest` takes them
        best: tuple[Strongest, tuple[int, int, str]] | None = None
        features_of: dict[int, Any] = {}  # of one key at a time
        for place in places:
            key, shift, _ = place
            if key not in features_of:
                features_of = {key: self._features(key, count + 2 * margin).astype(np.float32)}
            theirs = features_of[key][margin + shift : margin + shift + count]
            pair = strongest(ours, theirs)
            if best is None or abs(pair.correlation) > abs(best[0].correlation):
                best = pair, place
        assert best is not None
        pair, (key, shift, where) = best
        start = count + 2 * margin
        mine = self._features(self.subject.key, self.trials, start)
        return Dependence(where, products(mine, self._features(key, self.trials, start + shift), pair))


def _pairs(values: Any, lag: int, phase: int) -> tuple[Any, Any]:
    """Pairs of rows t and t + lag of (T, m), each row in one pair at most."""
    starts = np.arange(len(values) - lag)
    firsts = starts[(starts // lag) % 2 == phase]
    return values[firsts], values[firsts + lag]


def key_changes(key: int) -> Iterator[tuple[int, str]]:
    """Other keys, with descriptions: one bit changed, or bits that code with 32-bit words may confuse."""
    for bit in range(BITS):
        yield key ^ (1 << bit), f"bit {bit}"
    yield (key >> 32 | key << 32) & MASK, "halves swapped"
    for bit in (0, 7, 31):
        yield key ^ (1 << bit) ^ (1 << bit + 32), f"bits {bit} and {bit + 32}"
    yield key ^ MASK, "all bits"
    yield int(f"{key:064b}"[::-1], 2), "bits reversed"
    yield int.from_bytes(key.to_bytes(8, "little"), "big"), "bytes reversed"
    yield -key & MASK, "negated"
    for bits in (1, 8, 16):
        yield (key >> bits | key << BITS - bits) & MASK, f"rotated by {bits} bits"
    yield (key + 2**32 - 1) & MASK, "1 less, and 1 more above 2^32"


def related_keys(key: int) -> list[int]:
    """Other keys that a hash of the key may confuse with it or with one another, about 1,000: two near or aligned bits
    changed, a power of two more or less, rotated, reversed, a multiple, two of its words of 8, 16 or 32 bits swapped,
    added to and taken from, or changed in the same bits."""
    bits = [1 << bit for bit in range(BITS)]
    near = {key ^ one ^ bits[(bit + gap) % BITS] for bit, one in enumerate(bits) for gap in (1, 2, 4, 8, 16, 24, 32)}
    near |= {key + sign * step for step in bits for sign in (1, -1)} | {other for other, _ in key_changes(key)}
    near |= {key >> step | key << BITS - step for step in range(1, BITS)}
    near |= {key * step for step in (-1, 2, 3, 5, 7, 2**32 - 1)} | {key >> step for step in range(1, 8)}
    for width in (8, 16, 32):
        mask = (1 << width) - 1
        for low in range(0, BITS, width):
            for high in range(low + width, BITS, width):
                one, other = key >> low & mask, key >> high & mask
                near.add(key ^ (one ^ other) << low ^ (one ^ other) << high)
                for change in (1, 3, 0x5A, mask):
                    near.add(key ^ change << low ^ change << high)
                    near.add(key + (change << high) - (change << low))
    return sorted({other & MASK for other in near} - {key})


def share_equal(one: Floats, other: Floats) -> float:
    """The share of operators t that are equal in two stacks (T, b, d), beyond chance. Chance is the share of operators
    t that equal operator t - 1 of the other stack. Above CONSTANT the family is constant, and nothing is subtracted."""
    same, chance = (float((one == two).all(axis=(1, 2)).mean()) for two in (other, np.roll(other, 1, axis=0)))
    return same - chance if chance <= CONSTANT else same


def repeat_flags(results: Floats) -> Floats:
    """Flags (T,), 1 for an operator that repeats an earlier one but for signs and order of rows, from R x (T, b)."""
    order, near = _neighbours(results)
    flags = np.zeros(len(results))
    flags[order[1:][near]] = 1.0
    return flags


def few_operators(one: Floats, other: Floats) -> bool:
    """Return whether two groups of operators, results (S, b) and (T, b) as for `repeat_flags`, share an operator. If
    their keys and numbers differ, the family has so few operators that some repeat by chance."""
    order, near = _neighbours(np.concatenate([one, other]))
    ours = order < len(one)
    group = np.concatenate([[0], np.cumsum(~near)])
    return bool(np.isin(group[ours], group[~ours]).any())


def _neighbours(results: Floats) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """An order of operators (T,) that puts equal ones next to each other, and flags of equal neighbours (T - 1,)."""
    shape = np.sort(abs(results), axis=1)
    size = max(float(np.nan_to_num(shape).max()), 1e-300)
    order = np.argsort(shape @ np.linspace(1, 2, shape.shape[1]), kind="stable")
    near = abs(np.diff(shape[order], axis=0)) <= 1e-9 * size
    return order, np.asarray(near.all(axis=1))


def sketches(subject: Subject, keys: list[int], count: int | None, first: int = 0) -> Floats:
    """R x (T, b) for one random x and each key's operators `first` to `first + count - 1`; None: one without a
    stack."""
    vector = subject.random("one vector").standard_normal(subject.d)
    x = subject.kernels.asarray(vector.reshape((1,) * (count is not None) + (1, -1)))
    parts = []
    for key in keys:
        stack = subject.family.draw(key & MASK, operators=count, first=first, kernels=subject.kernels)
        parts.append(subject.kernels.to_numpy(stack.sketch(x, check_finite=False)).reshape(-1, subject.b))
    return np.concatenate(parts)
