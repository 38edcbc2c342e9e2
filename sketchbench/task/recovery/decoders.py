"""A recovery beside other decoders, at equal numbers of applications of Φ and Φᵀ."""

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, NonNegative, Positive
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.row import MEDIAN, Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery import peers
from sketchbench.sketch.recovery.control import Nothing
from sketchbench.sketch.recovery.iht import IHT
from sketchbench.sketch.recovery.iterative import Iterative
from sketchbench.sketch.recovery.recovery import MakeRecovery, Recovery
from sketchbench.task.recovery import signals
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)
Errors = NDArray[np.float64]  # (trials,)


@dataclass(frozen=True)
class Decoders(Checked):
    """Measures the error of decoders that recover `trials` sparse signals with noise from sketches by one operator.

    Each decoder may apply Φ and Φᵀ a limited number of times, counted together. Rows for each limit in `applications`:
        relative_error: mean of ‖x - x̂‖²/‖x‖², by decoder (`case`): the recovery under test (`recovery`), `iht`, `omp`,
            `cosamp` and `lasso`. The LASSO has the best of the `penalties`, which takes knowledge of the signals.
        behind, by other decoder (`case`): the number of signals with a larger error of the recovery than of the
            decoder; bound: 1/2, for a probability.
        control_behind: the same for a recovery of nothing, a negative control.
        difference, by other decoder: mean of the recovery's relative error minus the decoder's.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of signals
    k: Count  # large entries of a signal, and recovered entries
    noise: NonNegative  # standard deviation of the noise in every entry of a signal
    applications: NonEmptyList[Count]  # limits on the number of applications of Φ and Φᵀ
    penalties: NonEmptyList[Positive]  # of the LASSO, in units of ½‖y - Φx‖²

    def run(self) -> list[Row]:
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "decoders")
        x = signals.draw_sparse(self.family.d, self.k, self.trials, self.seed, noise=self.noise)
        y = sketch.sketch(self.kernels.asarray(x))
        phi = np.asarray(self.kernels.to_numpy(sketch.materialize()))
        rows = []
        for budget in self.applications:
            tested, nothing = (
                signals.relative_error(x, self._recover(recovery, sketch, y, budget))
                for recovery in (self.recovery(k=self.k), Nothing(self.k))
            )
            estimates = {"iht": self._recover(IHT(self.k), sketch, y, budget)}
            estimates |= self._other_estimates(phi, np.asarray(self.kernels.to_numpy(y)), x, budget)
            rows.append(Row("relative_error", case="recovery", applications=budget).mean(tested))
            for case, estimate in estimates.items():
                other = signals.relative_error(x, estimate)
                rows.append(Row("relative_error", case=case, applications=budget).mean(other))
                for name, error in (("behind", tested), ("control_behind", nothing)):
                    row = Row(name, case=case, applications=budget, bound=MEDIAN)
                    rows.append(row.counted(int((error > other).sum()), self.trials))
                rows.append(Row("difference", case=case, applications=budget).mean(tested - other))
            log.info("%d applications: %d decoders of %d signals", budget, len(estimates) + 1, self.trials)
        return rows

    def _recover(self, recovery: Recovery, sketch: Sketch, y: Array, budget: int) -> NDArray[Any]:
        """Recover the signals; an iterative recovery uses up the budget of applications."""
        if isinstance(recovery, Iterative):
            costs = [applications(replace(recovery, iterations=n), sketch, y[0]) for n in (1, 2)]
            each = max(1, costs[1] - costs[0])
            recovery = replace(recovery, iterations=max(1, 1 + (budget - costs[0]) // each))
        return np.asarray(self.kernels.to_numpy(recovery.recover(sketch, y).x))

    def _other_estimates(
        self, phi: NDArray[Any], y: NDArray[Any], x: NDArray[Any], budget: int
    ) -> dict[str, NDArray[Any]]:
        """The estimates (trials, d) of the decoders that need Φ as a matrix, by name."""

        def all_by(decoder: peers.Decoder) -> NDArray[Any]:
            return np.stack([decoder(phi, measured, self.k, budget) for measured in y])

        shrunk = [all_by(partial(peers.lasso, penalty=penalty)) for penalty in self.penalties]
        return {
            "omp": all_by(peers.orthogonal_matching_pursuit),
            "cosamp": all_by(peers.cosamp),
            "lasso": min(shrunk, key=lambda estimate: signals.relative_error(x, estimate).mean()),
        }


def applications(recovery: Recovery, sketch: Sketch, y: Array) -> int:
    """Count a recovery's applications of Φ or Φᵀ to recover a signal from y (b,)."""
    meter = OperatorMeter(sketch)
    recovery.recover(cast(Sketch, meter), y)
    return len(meter.calls)


class OperatorMeter:
    """An operator that records its applications, and otherwise acts as the operator it wraps."""

    def __init__(self, operator: Sketch, calls: list[str] | None = None) -> None:
        self.operator = operator
        self.calls: list[str] = [] if calls is None else calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self.operator, name)

    def padded(self) -> "OperatorMeter":
        return OperatorMeter(self.operator.padded(), self.calls)

    def with_workspace(self) -> "OperatorMeter":
        return OperatorMeter(self.operator.with_workspace(), self.calls)

    def sketch(self, *arguments: Any, **options: Any) -> Array:
        self.calls.append("sketch")
        return self.operator.sketch(*arguments, **options)

    def sketch_sparse(self, *terms: Any) -> Array:
        self.calls.append("sketch")
        return self.operator.sketch_sparse(*terms)

    def desketch(self, *arguments: Any, **options: Any) -> Array:
        self.calls.append("desketch")
        return self.operator.desketch(*arguments, **options)
