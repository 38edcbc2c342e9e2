"""The contract of recoveries: the checks that a recovery must pass before its errors are worth measuring."""

import dataclasses
import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count, Natural, NonEmptyList
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.recovery.contract import estimates, relations
from sketchbench.sketch.recovery.contract.subject import RecoverySubject, Values
from sketchbench.sketch.recovery.recovery import MakeRecovery

log = logging.getLogger(__name__)
REMAINDERS = 10  # b may be this much smaller than asked for, less 1, if a family takes multiples only
LARGEST = 512  # of d, for sizes drawn from the seed
LARGE = 1000  # of d, beyond which only exact signals are tried
RARE = 16  # one of so many units is tried at the sizes that follow the first


@dataclass(frozen=True)
class RecoveryContract(Checked):
    """Tests at many sizes the properties of a recovery on which all its measurements rely.

    Rows that count signals with a wrong result; the bound is 1, in units of the allowance, and `maximum` belongs to the
    size of the row:

        nonzeros: an estimate has more than k nonzeros, a number that is not finite, or another shape or dtype.
        zero: measurements 0 have another estimate than 0.
        single: an estimate of a signal with one nonzero, with k = 1, has another place or sign, or, without
            iterations, another value, if the column of the nonzero is the best match of its own sketch.
        all: an estimate of a signal with k nonzeros has an error above rounding, if the columns of Φ are orthonormal.
        approach: iterations end far from a signal, if the isometry constant of Φ guarantees their convergence.
        report: trace and iterations are not those of the returned estimates.
        batch, stack: a result depends on the other signals of the call, or on the other operators of the stack.
        calls: a call changes its arguments, earlier results, or a global generator; or another call gives another bit.
        backend, process: another CPU backend, another process, or float32 in the median, gives another result.
        sign, unit, order: results do not follow the sign of the signal, the unit (by powers of two), or the order of
            the coordinates.
        ignored: a measurement changes no estimate.
        refusal: measurements that are not finite, or of another length, or k > d, are accepted.

    Signals and sizes come from the seed: a defect that hits one signal of n at random is seen with probability
    1 - (1 - 1/n)^trials. See `sketchbench.sketch.recovery.contract` for allowances.

    Arguments:
        sizes: pairs [d, b], at each of which the largest b is taken that the sensing family accepts, among ten. Sizes
            that it refuses are left out. The first size has the most signals.
        drawn: number of further sizes, with d up to 512, which the seed draws.
        signals: number of signals at the first size.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    sizes: NonEmptyList[NonEmptyList[Count]]
    drawn: Natural
    signals: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        for size in self.sizes:
            if len(size) != 2:
                raise ValueError(f"sizes={size} must be a pair [d, b]")

    def run(self) -> list[Row]:
        found: dict[str, list[tuple[RecoverySubject, Values]]] = defaultdict(list)
        subjects = list(self._subjects())
        for subject in subjects:
            first = subject is subjects[0]
            parts = [*self._estimates(subject, first), *self._relations(subject, first)]
            for name, values in parts:
                if values.size:
                    found[name].append((subject, values))
            log.info("d=%d, b=%d: %d checks", subject.d, subject.family.b, len(parts))
        return [_count(name, several) for name, several in found.items()]

    def _subjects(self) -> Iterator[RecoverySubject]:
        """The recovery at every size that its family takes, each once; the family's own size is the last."""
        key = seeds.key(self.seed, task="recovery contract", family=repr(self.family))
        random = seeds.generator(key, sizes=self.drawn)
        lengths = (LARGEST ** random.uniform(0.1, 1, self.drawn)).astype(int)
        drawn = [(int(d), int(d ** random.uniform(0.5, 1))) for d in lengths]
        seen = set()
        for d, b in (*map(tuple, self.sizes), *drawn, (self.family.d, self.family.b)):
            family = self._largest(d, b)
            if family and (family.d, family.b) not in seen:
                seen.add((family.d, family.b))
                yield RecoverySubject(self.recovery, family, self.kernels, key)

    def _largest(self, d: int, most: int) -> Family | None:
        for b in range(most, max(0, most - REMAINDERS), -1):
            try:
                return dataclasses.replace(self.family, d=d, b=b)
            except ValueError:
                continue
        return None

    def _estimates(self, subject: RecoverySubject, first: bool) -> Iterator[tuple[str, Values]]:
        count = self.signals if first else max(2, self.signals // RARE)
        yield "single", estimates.find_single_entries(subject)
        yield "all", estimates.find_all_entries(subject)
        if subject.d <= LARGE:
            yield "nonzeros", estimates.count_nonzeros(subject)
            yield "zero", estimates.check_zeros(subject)
            yield "approach", estimates.approach(subject, count)
            yield "report", estimates.check_reports(subject, count)
            yield "ignored", estimates.find_ignored(subject)
            yield "refusal", estimates.check_refusals(subject)

    def _relations(self, subject: RecoverySubject, first: bool) -> Iterator[tuple[str, Values]]:
        if subject.d > LARGE:
            return
        count = self.signals if first else max(2, self.signals // RARE)
        yield "batch", relations.compare_batches(subject, count)
        yield "stack", relations.compare_stack(subject, relations.TALL if first else relations.STACK)
        yield "sign", relations.flip_signs(subject, count)
        yield "unit", relations.change_units(subject, 1 if first else RARE)
        if first:
            yield "order", relations.permute(subject, count)
            yield "calls", relations.repeat_calls(subject)
            yield "backend", np.concatenate([relations.compare_backends(subject), relations.compare_types(subject)])
            yield "process", relations.compare_process(subject)


def _count(name: str, parts: list[tuple[RecoverySubject, Values]]) -> Row:
    """The row of a quantity, with the size of the largest value."""
    worst = max(parts, key=lambda part: float(part[1].max()))[0]
    values = np.concatenate([several for _, several in parts])
    return Row(name, d=worst.d, b=worst.family.b).exceedances(values, 1.0)
