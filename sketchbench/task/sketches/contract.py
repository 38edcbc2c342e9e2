"""The contract of sketches: the checks that a sketch family must pass before anything else is worth measuring."""

import dataclasses
import itertools
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, Share
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.contract import algebra, calls, forms, independence, large, sameness, shapes, unbiased
from sketchbench.sketch.contract.independence import Dependence, Independence
from sketchbench.sketch.contract.probes import MOST, Subject
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)
ALONE = 4  # operators at each size that are also drawn and tested one by one
KEYS = 1000  # random keys, in the search for repeated operators
APPLICATIONS = 8  # of a stack to all probes at a time
LATE = (2**24, 2**31 - 10, 2**32 - 20)  # numbers of operators near the largest float32, int32 and uint32 integers
BEYOND = 20  # operators tested from each of these numbers on
PAIRED = 2**24  # entries of the operators tested for independence at a time
LARGE = 512  # entries beyond which two random operators are never equal by chance
LENGTHS = (*range(1, 18), 31, 32, 33, 47, 63, 64, 65, 96, 127, 128, 129)  # d and b of further sizes
SEARCHED = 200  # operators that look for a deviation of E[RᵀR] at each of them
QUANTITIES = ("linearity", "transpose", "projection", "precision", "sameness")  # of each operator
CALLS = ("calls", "columns")  # of a few operators
CALLED = (forms.check, shapes.in_batches, shapes.in_stacks, calls.check, large.check)


@dataclass(frozen=True)
class Contract(Checked):
    """Tests at many sizes the properties of a sketch family on which all measurements rely.

    Rows that count broken operators, with errors in units of rounding; bound: 1:

        linearity: R and Rᵀ are linear, for any other vectors in the batch; repeated calls agree; arguments are
            unchanged.
        transpose: ⟨Rx, y⟩ = ⟨x, Rᵀy⟩, and the dense matrix and SciPy's operator agree with R.
        projection: `project` is `desketch` of `sketch`; `padded`, `with_workspace`, `select`, `join` and
            `sketch_sparse` agree with R.
        precision: float32 input gives the results of float64, in float32.
        sameness: key and number determine the operator: drawn alone, in stacks of other sizes, on the other CPU
            backend, after other draws, with other global states, copied, and in another process with other threads.
        calls: in a sequence of calls, each depends on its argument alone, and none hides a non-finite entry.
        columns: no column beyond 2^16 or 2^20 is lost or repeats another, nor does a row beyond 2^16. Left out for a
            family that refuses these sizes, or needs more memory than there is.

    Rows linearity_rate, transpose_rate, projection_rate, precision_rate and sameness_rate have the same counts, to
    bound the probability of a broken operator by `rate`.

    Rows that count repeated operators:

        bit_repeats: for each bit of the key, the share of operators that stay the same if the bit changes; bound: 1/2.
        stack_repeats, key_repeats: operators equal to an earlier operator of the same stack, or of another key; left
            out for a family with so few operators that some are equal by chance.

    Means of the product of the two most dependent standardised features, chosen on other operators; exact: 0, for
    independent operators (see `sketchbench.sketch.contract.independence`):

        stack_dependence: of two operators of one stack.
        key_dependence: of operators of neighbouring keys.
        bit_dependence: of operators of keys that differ in one bit.
            For a family that is not random, these rows have the share of operators that differ from the first.

    Means of quantities whose expectation follows from E[RᵀR] = I, the most violated by the first half of the operators
    at these sizes and at LENGTHS, measured on others; exact: the expectation:

        gram: by `case`, an entry of RᵀR, ‖Ru‖² in a direction u, and the mean of the diagonal of RᵀR.

    Sizes that the family refuses (by any ValueError) are left out. The first of the `sizes` that it takes is the main
    size.
    """

    family: Family
    kernels: Kernels
    seed: int
    sizes: NonEmptyList[NonEmptyList[Count]]  # pairs [d, b] beside the family's own size
    operators: AtLeastTwo  # the number of operators at the main size
    fewer: AtLeastTwo  # the most operators at each other size
    rate: Share  # the probability of a broken operator that is to be excluded

    def __post_init__(self) -> None:
        super().__post_init__()
        for size in self.sizes:
            if len(size) != 2:
                raise ValueError(f"sizes={size} must be a pair [d, b]")

    def run(self) -> list[Row]:
        subjects = list(self._subjects())
        return [*self._operators(subjects), *self._independence(subjects), *self._gram(subjects)]

    def _subjects(self) -> Iterator[Subject]:
        """The family at every size that it takes, each once."""
        for d, b in dict.fromkeys([*map(tuple, self.sizes), (self.family.d, self.family.b)]):
            yield from self._subject((d, b))

    def _more(self) -> Iterator[Subject]:
        """The family at sizes that loops may break: each of LENGTHS is a d and a b, paired by the seed. A pair that the
        family refuses is swapped, then squared, and then b grows until the family takes it, by 7 at most."""
        random = seeds.generator(self.seed, task="contract sizes")
        for d, b in zip(*(random.permutation(LENGTHS).tolist() for _ in range(2)), strict=True):
            near = [(d, b), (b, d), *((d, b + step) for step in range(1, 8)), (d, d)]
            yield from itertools.islice(self._subject(*near), 1)

    def _subject(self, *sizes: tuple[int, int]) -> Iterator[Subject]:
        """The family at each of these sizes (d, b) that it takes."""
        key = seeds.key(self.seed, task="contract", family=repr(self.family))
        for d, b in sizes:
            with suppress(ValueError):
                yield Subject(dataclasses.replace(self.family, d=d, b=b), self.kernels, key)

    def _count(self, subject: Subject, main: bool, share: int = 1) -> int:
        """The number of operators at a size; `share` divides it at all sizes but the main one."""
        fits = trials.WORKSPACE // (subject.d * subject.b)
        if main:
            return min(self.operators, max(self.fewer, 2 * fits))
        return max(2 * ALONE, min(self.fewer, self.operators, fits) // share)

    def _operators(self, subjects: list[Subject]) -> Iterator[Row]:
        tested = list(self._tested(subjects))
        largest = max(subjects, key=lambda subject: subject.d * subject.b)
        other = [(largest, {"sameness": sameness.in_blocks(largest)}), *((one, _briefly(one)) for one in self._more())]
        other += [(one, forms.check(one)) for one in list(self._more())[::6]]
        other += [(subjects[0], check(subjects[0])) for check in CALLED]
        for name in (*QUANTITIES, *CALLS):
            parts = [(one, found[name]) for one, found in (*tested, *other) if name in found]
            if not parts:  # the family has none of the sizes of `large`
                continue
            place = max(parts, key=lambda part: float(part[1].max()))[0]
            yield Row(name, **_size(place)).exceedances(np.concatenate([found for _, found in parts]), 1.0)
            if name in QUANTITIES:
                values = np.concatenate([found[name] for _, found in tested if name in found])
                yield Row(f"{name}_rate", bound=self.rate).counted(int((values > 1).sum()), len(values))

    def _tested(self, subjects: list[Subject]) -> Iterator[tuple[Subject, algebra.Faults]]:
        """The faults of many operators at every size, (T,) by quantity."""
        for subject in subjects:
            main = subject is subjects[0]
            count = self._count(subject, main, 4)
            step = max(ALONE, trials.WORKSPACE // (APPLICATIONS * (subject.d + subject.b) * min(subject.d + 9, 73)))
            for first in range(0, count, step):
                yield subject, algebra.check(subject, first, min(step, count - first))
            for number in range(ALONE):
                yield subject, algebra.check_alone(subject, number)
            yield subject, {"sameness": sameness.check(subject, other_process=main)}
            yield subject, {"sameness": sameness.in_other_stacks(subject, count, step)}
            log.info("%d operators at d=%d, b=%d", count, subject.d, subject.b)

    def _independence(self, subjects: list[Subject]) -> Iterator[Row]:
        subject, random = subjects[0], self.family.random
        pairs = max(2, min(self.operators // 5, PAIRED // (subject.d * subject.b)))
        if not random:
            yield from self._no_randomness(subject, pairs)
            return
        search = Independence(subject, pairs)
        bits, same = search.of_bits()
        yield Row("bit_repeats").exceedances(same, 0.5)
        for kind, found in (("stack", search.in_stack()), ("key", search.of_neighbours()), ("bit", bits)):
            yield _dependence(kind, found)
        yield from self._repeats(subjects)

    def _repeats(self, subjects: list[Subject]) -> Iterator[Row]:
        """The rows on repeated operators, at the largest size whose stack fits into memory."""
        fitting = [one for one in subjects if one.d * one.b <= trials.WORKSPACE // KEYS]
        large = max(fitting or subjects[:1], key=lambda one: one.d * one.b)
        own, random = min(KEYS, self.operators), seeds.generator(self.seed, task="contract keys")
        stack = independence.sketches(large, [large.key], 2 * own)
        near = [large.key + step for step in range(1, 5)]
        far = [int(key) for key in random.integers(2**64, size=own, dtype=np.uint64)]
        others = independence.sketches(large, far, None)
        related = [key for key in independence.related_keys(large.key) if key not in near]
        related = [related[at] for at in random.permutation(len(related))[: 3 * own]]
        if independence.few_operators(others, stack[1:]):
            return  # operators are equal by chance
        late = [independence.sketches(large, [large.key], BEYOND, first) for first in LATE]
        keys = [stack[:own], independence.sketches(large, near, own), others]
        keys.append(independence.sketches(large, related, None))
        for kind, results in (("stack", np.concatenate([stack, *late])), ("key", np.concatenate(keys))):
            repeats = independence.repeat_flags(results)
            if large.d * large.b < LARGE:  # some may be equal by chance, but not most
                repeats = repeats.mean(keepdims=True)
            yield Row(f"{kind}_repeats", **_size(large)).exceedances(repeats, 0.5)

    def _no_randomness(self, subject: Subject, pairs: int) -> Iterator[Row]:
        """The rows of a family that is not random: all its operators must be equal."""
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

    def _gram(self, subjects: list[Subject]) -> Iterator[Row]:
        """The rows `gram`, each at the size with the largest deviation, measured with operators of their own."""
        counts = {one: self._count(one, one is subjects[0]) for one in subjects}
        # The few operators of a size that takes much memory deviate by chance, which would hide true deviations.
        enough = {one: count for one, count in counts.items() if count >= min(self.fewer, self.operators) - 1}
        searched = {one: count // 2 for one, count in (enough or {subjects[0]: counts[subjects[0]]}).items()}
        searched |= dict.fromkeys(self._more(), min(SEARCHED, self.operators))
        found = [(one, unbiased.search(one, count)) for one, count in searched.items()]
        for kind in unbiased.KINDS:
            subject, place = max(((one, parts[kind]) for one, parts in found), key=lambda pair: pair[1].score)
            count = counts.get(subject, min(self.fewer, self.operators)) // 2
            values = unbiased.measure(subject, place, count, searched[subject])
            yield Row("gram", case=place.where, exact=place.exact, **_size(subject)).mean(values)


def _briefly(subject: Subject) -> algebra.Faults:
    """The faults of a few operators, (n,) by quantity."""
    found = [algebra.check(subject, 0, ALONE), algebra.check_alone(subject, 0)]
    return {name: np.concatenate([part[name] for part in found if name in part]) for name in found[0]}


def _size(subject: Subject) -> dict[str, int]:
    return {"d": subject.d, "b": subject.b}


def _dependence(kind: str, found: Dependence) -> Row:
    values = np.nan_to_num(np.clip(found.products, -MOST, MOST))
    return Row(f"{kind}_dependence", case=found.where, exact=0.0).mean(values)
