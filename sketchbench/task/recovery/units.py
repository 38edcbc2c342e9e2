"""The dependence of a recovery on the unit of the signal."""

import logging
from dataclasses import dataclass

from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, NonNegative
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.recovery.recovery import MakeRecovery
from sketchbench.task.recovery import signals
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)

SAME = 1e-9  # a difference of two relative errors that rounding can explain


@dataclass(frozen=True)
class Units(Checked):
    """Measures the change of a recovery's relative error if all signals are multiplied by 2^exponent, a change of unit.
    All signals are sparse with noise, and go through one operator.

    Rows:
        relative_error, by `unit` (1 or 2^exponent): mean of ‖x - x̂‖² / ‖x‖².
        change, by `unit` (also as `case`): mean absolute difference of a signal's relative errors in this unit and in
            the unit 1, and the number of signals for which it exceeds the bound 1e-9 for rounding.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of signals
    k: Count  # large entries of a signal, and recovered entries
    noise: NonNegative  # standard deviation of the noise in every entry of a signal
    exponents: NonEmptyList[int]  # binary logarithms of the units

    def run(self) -> list[Row]:
        """Recover the signals in each unit; return the rows. Raises ValueError for k > d."""
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
