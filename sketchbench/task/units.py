"""Whether a recovery depends on the unit that the signal is measured in."""

from dataclasses import dataclass
from typing import Any

from sketchbench.kernels import Kernels
from sketchbench.measure.row import exceeding
from sketchbench.measure.summary import summarize
from sketchbench.recovery.recovery import MakeRecovery
from sketchbench.sketch.family import Family
from sketchbench.task import signals, trials

SAME = 1e-9  # a change of the relative error that is rounding


@dataclass(frozen=True)
class Units:
    """For sparse signals with noise, and one operator for all of them, rows

    `relative_error`: ‖x - x̂‖² / ‖x‖² in units of 1 and of 2^exponent;
    `change`: how far it is from that in units of 1, which may be rounding only.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: int
    k: int
    noise: float
    exponents: list[int]

    def run(self) -> list[dict[str, Any]]:
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "units")
        recovery = self.recovery(k=self.k)
        x = signals.sparse(self.family.d, self.k, self.trials, self.seed, noise=self.noise)
        errors = {}
        for exponent in (0, *self.exponents):
            scaled = 2.0**exponent * x
            y = sketch.sketch(self.kernels.asarray(scaled))
            found = self.kernels.to_numpy(recovery.recover(sketch, y).x)
            errors[exponent] = signals.relative_error(scaled, found)
        rows: list[dict[str, Any]] = [
            {"quantity": "relative_error", "unit": 2.0**exponent, **summarize(values)}
            for exponent, values in errors.items()
        ]
        for exponent in self.exponents:
            change = abs(errors[exponent] - errors[0])
            rows.append(
                {
                    "quantity": "change",
                    "case": f"unit 2^{exponent}",
                    "unit": 2.0**exponent,
                    "bound": SAME,
                    "count": exceeding(change, SAME),
                    **summarize(change),
                }
            )
        return rows
