"""What every sketch family must keep before anything else is worth measuring."""

import dataclasses
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.parameters import Checked, Count, NonEmptyList, Several, Share
from sketchbench.sketch.contract import algebra, independence, sameness, unbiased
from sketchbench.sketch.contract.independence import Dependence, Independence
from sketchbench.sketch.contract.probes import MOST, Floats, Subject
from sketchbench.sketch.family import Family
from sketchbench.task import trials

log = logging.getLogger(__name__)
ALONE = 4  # operators at each size that are looked at singly, too
KEYS = 1000  # that are drawn from at random, to find operators that come twice
APPLICATIONS = 8  # of a stack to all probes, at a time
LATE = (2**24, 2**31 - 10, 2**32 - 20)  # numbers of operators where float32, int32 and uint32 end
BEYOND = 20  # operators there
PAIRED = 2**24  # entries of the operators that are tested for independence, at a time
LARGE = 512  # entries of an operator from which on two are never equal by chance
QUANTITIES = ("linearity", "transpose", "projection", "precision")


@dataclass(frozen=True)
class Contract(Checked):
    """Measures whether a family keeps what everything else here relies on, at many sizes.

    Most rows count operators that break it; errors are in units of what rounding can explain, so that 1 is allowed:

        linearity: R and Rᵀ are linear, whatever is in the batch; twice the same; the argument is left alone.
        transpose: ⟨Rx, y⟩ = ⟨x, Rᵀy⟩, and the dense matrix and SciPy's operator agree.
        projection: `project` is `desketch` of `sketch`; so are `padded`, `with_workspace` and `sketch_sparse`.
        precision: float32 gives the numbers of float64, in float32.
        sameness: a key and a number decide the operator: drawn alone, in stacks of other sizes, on the other CPU
            backend, after other draws, with other global states, and in another process with other threads.
        bit_repeats: the share of operators that stay the same when a bit of the key changes; bound: a half.
        stack_repeats, key_repeats: whether an operator is an earlier one of its stack, or of another key; left out of a
            family that has so few operators that some are equal by chance.

    Rows linearity_rate, transpose_rate, projection_rate, precision_rate and sameness_rate are the same counts, to bound
    the probability of a broken operator by `rate`. Means, exactly 0 where operators are independent, of products of the
    two features (standardised) that other operators showed to be the most dependent; see
    `sketchbench.sketch.contract.independence`:

        stack_dependence, key_dependence, bit_dependence: of operators of one stack; of neighbouring keys; of keys that
            differ in a bit. A family that is not random has instead of these rows the share of operators that differ.

    And the means of what E[RᵀR] = I says, where the first half of the operators found it most violated, `exact`:

        gram: an entry of RᵀR, ‖Ru‖² in the worst direction u, and the mean of its diagonal, one size each.

    A family at a size that it refuses (by any ValueError) is left out.

    Arguments:
        sizes: pairs [d, b] beside the family's own size; what it refuses is left out. The first that it takes gets
            most of the operators.
        operators: how many at that size. fewer: how many at each other one, at most.
        rate: of broken operators, that is to be excluded.
    """

    family: Family
    kernels: Kernels
    seed: int
    sizes: NonEmptyList[NonEmptyList[Count]]
    operators: Several
    fewer: Several
    rate: Share

    def __post_init__(self) -> None:
        super().__post_init__()
        for size in self.sizes:
            if len(size) != 2:
                raise ValueError(f"sizes={size} must be a pair [d, b]")

    def run(self) -> list[Row]:
        """Measure; returns the rows."""
        subjects = list(self._subjects())
        return [*self._operators(subjects), *self._independence(subjects), *self._unbiased(subjects)]

    def _subjects(self) -> Iterator[Subject]:
        """The family at every size that it takes, without repetition."""
        key = seeds.key(self.seed, task="contract", family=repr(self.family))
        for d, b in dict.fromkeys([*map(tuple, self.sizes), (self.family.d, self.family.b)]):
            try:
                family = dataclasses.replace(self.family, d=d, b=b)
            except ValueError:
                continue
            yield Subject(family, self.kernels, key)

    def _count(self, subject: Subject, main: bool, share: int = 1) -> int:
        """How many operators there are at a size; `share` times fewer where each costs much."""
        fits = trials.WORKSPACE // (subject.d * subject.b)
        if main:
            return min(self.operators, max(self.fewer, 2 * fits))
        return max(2 * ALONE, min(self.fewer, self.operators, fits) // share)

    def _operators(self, subjects: list[Subject]) -> Iterator[Row]:
        """The rows that count operators."""
        worst: dict[str, list[tuple[Subject, Floats]]] = {name: [] for name in (*QUANTITIES, "sameness")}
        for subject in subjects:
            main = subject is subjects[0]
            count = self._count(subject, main, 4)
            step = max(ALONE, trials.WORKSPACE // (APPLICATIONS * (subject.d + subject.b) * min(subject.d + 9, 73)))
            for first in range(0, count, step):
                for name, found in algebra.check(subject, first, min(step, count - first)).items():
                    worst[name].append((subject, found))
            for number in range(ALONE):
                for name, found in algebra.check_alone(subject, number).items():
                    worst[name].append((subject, found))
            worst["sameness"].append((subject, sameness.check(subject, other_process=main)))
            worst["sameness"].append((subject, sameness.in_other_stacks(subject, count, step)))
            log.info("%d operators at d=%d, b=%d", count, subject.d, subject.b)
        largest = max(subjects, key=lambda subject: subject.d * subject.b)
        worst["sameness"].append((largest, sameness.in_blocks(largest)))
        for name, parts in worst.items():
            values = np.concatenate([found for _, found in parts])
            place = max(parts, key=lambda part: float(part[1].max()))[0]
            yield Row(name, **_size(place)).exceedances(values, 1.0)
            yield Row(f"{name}_rate", bound=self.rate).counted(int((values > 1).sum()), len(values))

    def _independence(self, subjects: list[Subject]) -> Iterator[Row]:
        """The rows about operators of different numbers and keys."""
        subject, random = subjects[0], self.family.random
        pairs = max(2, min(self.operators // 5, PAIRED // (subject.d * subject.b)))
        if not random:
            yield from self._constant(subject, pairs)
            return
        search = Independence(subject, pairs)
        bits, same = search.of_bits()
        yield Row("bit_repeats").exceedances(same, 0.5)
        for kind, found in (("stack", search.in_stack()), ("key", search.of_neighbours()), ("bit", bits)):
            yield _dependence(kind, found)
        yield from self._repeats(subjects)

    def _repeats(self, subjects: list[Subject]) -> Iterator[Row]:
        """How many operators come twice, at the largest size of which a stack fits into memory."""
        fitting = [one for one in subjects if one.d * one.b <= trials.WORKSPACE // KEYS]
        large = max(fitting or subjects[:1], key=lambda one: one.d * one.b)
        own, random = min(KEYS, self.operators), seeds.generator(self.seed, task="contract keys")
        stack = independence.sketches(large, [large.key], 2 * own)
        near = [large.key + step for step in range(1, 5)]
        far = [int(key) for key in random.integers(2**64, size=own, dtype=np.uint64)]
        others = independence.sketches(large, far, None)
        if independence.few_operators(others, stack[1:]):
            return  # operators of other keys, and other numbers, are the same by chance
        late = [independence.sketches(large, [large.key], BEYOND, first) for first in LATE]
        keys = [stack[:own], independence.sketches(large, near, own), others]
        for kind, results in (("stack", np.concatenate([stack, *late])), ("key", np.concatenate(keys))):
            found = independence.repeat_flags(results)
            if large.d * large.b < LARGE:  # some may be equal by chance, but not most
                found = found.mean(keepdims=True)
            yield Row(f"{kind}_repeats", **_size(large)).exceedances(found, 0.5)

    def _constant(self, subject: Subject, pairs: int) -> Iterator[Row]:
        """That all operators are equal, of a family that says so."""
        wanted = subject.matrices(subject.key, 1)
        changed = [key for key, _ in independence.key_changes(subject.key)]
        parts = {
            "stack": subject.matrices(subject.key, pairs),
            "key": np.concatenate([subject.matrices(subject.key + step, 2) for step in range(1, 65)]),
            "bit": np.concatenate([subject.matrices(key, 2) for key in changed]),
        }
        for kind, drawn in parts.items():
            differ = (drawn != wanted).any(axis=(1, 2))
            yield Row(f"{kind}_dependence", case="not random", exact=0.0).mean(differ.astype(float))
            yield Row(f"{kind}_repeats", case="not random").exceedances(differ, 0.5)

    def _unbiased(self, subjects: list[Subject]) -> Iterator[Row]:
        """Of all sizes the one that is furthest off."""
        counts = [(one, self._count(one, one is subjects[0]) // 2) for one in subjects]
        # Where memory allows only few operators, what seems off is mostly chance, and would hide what is.
        most = [(one, count) for one, count in counts if 2 * count >= min(self.fewer, self.operators) - 1]
        found = [(one, unbiased.deviations(one, count)) for one, count in most or counts[:1]]
        for kind in ("entry", "direction", "trace"):
            subject, worst = max(((one, parts[kind]) for one, parts in found), key=lambda pair: pair[1].score)
            yield Row("gram", case=worst.where, exact=worst.exact, **_size(subject)).mean(worst.values)


def _size(subject: Subject) -> dict[str, int]:
    """The columns that say at which size a row was measured."""
    return {"d": subject.d, "b": subject.b}


def _dependence(kind: str, found: Dependence) -> Row:
    """The mean product of the most dependent pair."""
    values = np.nan_to_num(np.clip(found.products, -MOST, MOST))
    return Row(f"{kind}_dependence", case=found.where, exact=0.0).mean(values)
