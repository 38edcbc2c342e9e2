"""Whether a recovery depends on the unit that the signal is measured in."""

import logging
from dataclasses import dataclass

from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.parameters import Checked, Count, NonEmptyList, NonNegative, Several
from sketchbench.recovery.recovery import MakeRecovery
from sketchbench.sketch.family import Family
from sketchbench.task import signals, trials

log = logging.getLogger(__name__)

SAME = 1e-9  # a difference of two relative errors that rounding can explain


@dataclass(frozen=True)
class Units(Checked):
    """Measures how the relative error of a recovery changes if the same signals are measured in another unit.

    All signals are sparse with noise and go through one operator. A unit of 2^exponent multiplies every entry by that.

    Rows:
        relative_error: for the unit 1 and each other `unit`, the mean of ‖x - x̂‖² / ‖x‖².
        change: for each other unit (also as `case`), the mean distance of the signals' relative errors from those in
            the unit 1, with the number of signals that exceed the bound; bound: 1e-9, for rounding.

    Arguments:
        trials: number of signals.
        k: large entries of a signal, and entries that are recovered.
        noise: standard deviation of what is added to every entry.
        exponents: binary logarithms of the units.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: Several
    k: Count
    noise: NonNegative
    exponents: NonEmptyList[int]

    def run(self) -> list[Row]:
        """Measure; returns the rows of `relative_error`, then those of `change`. Raises ValueError for k > d."""
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "units")
        recovery = self.recovery(k=self.k)
        x = signals.draw_sparse(self.family.d, self.k, self.trials, self.seed, noise=self.noise)
        errors = {}
        for exponent in (0, *self.exponents):
            scaled = 2.0**exponent * x
            y = sketch.sketch(self.kernels.asarray(scaled))
            estimates = self.kernels.to_numpy(recovery.recover(sketch, y).x)
            errors[exponent] = signals.relative_error(scaled, estimates)
            log.info("recovered %d signals in units of 2^%d", self.trials, exponent)
        rows = [Row("relative_error", unit=2.0**exponent).mean(values) for exponent, values in errors.items()]
        for exponent in self.exponents:
            change = abs(errors[exponent] - errors[0])
            row = Row("change", case=f"unit 2^{exponent}", unit=2.0**exponent)
            rows.append(row.exceedances(change, SAME).mean(change))
        return rows
