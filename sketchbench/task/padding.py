"""What choosing the support in the padding costs."""

from dataclasses import dataclass
from typing import Any

from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.recovery.recovery import MakeRecovery
from sketchbench.sketch.family import Family
from sketchbench.task import signals, trials


@dataclass(frozen=True)
class Padding:
    """For each kind of signals, and one operator for all of them, rows

    `relative_error`: ‖x - x̂‖² / ‖x‖² with the support among all padded coordinates (`padded`) and among
    the d of the signal (`true`); `wasted`: the share of the k entries that fell into the padding;
    `ratio`: the error with `true` over the one with `padded`, on the same signals, against a `bound`.
    signals: the kinds, with their bounds.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: int
    k: int
    signals: dict[str, float]

    def run(self) -> list[dict[str, Any]]:
        if not hasattr(self.recovery(k=self.k), "support"):
            raise ValueError("task padding needs a recovery with a `support`: FIHT or IHT")
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "padding")
        rows: list[dict[str, Any]] = []
        for kind, bound in self.signals.items():
            x = signals.draw(kind, self.family.d, self.k, self.trials, self.seed)
            y = sketch.sketch(self.kernels.asarray(x))
            errors = {}
            for support in ("padded", "true"):
                recovery = self.recovery(k=self.k, support=support)
                found = self.kernels.to_numpy(recovery.recover(sketch, y).x)
                errors[support] = signals.relative_error(x, found)
                wasted = 1 - (found != 0).sum(axis=-1) / self.k
                shared = {"case": kind, "support": support}
                rows += [
                    {"quantity": "relative_error", **shared, **summarize(errors[support])},
                    {"quantity": "wasted", **shared, **summarize(wasted)},
                ]
            ratio = errors["true"] / errors["padded"]
            rows.append({"quantity": "ratio", "case": kind, "bound": bound, **summarize(ratio)})
        return rows
