"""The error of a recovery that may choose padded coordinates, beside one that may not."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmpty, Positive
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import MakeRecovery
from sketchbench.task.recovery.signals import Kind, draw, relative_error
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Padding(Checked):
    """Measures the error of a recovery that chooses the support among all coordinates of the padded transform.

    This recovery (`padded`) is compared with one that chooses among the d coordinates of the signal (`true`), on the
    same signals, through one operator. Raises ValueError for a recovery without this choice.

    Rows for each kind of signals (`case`):
        relative_error: for both supports, the mean of ‖x - x̂‖² / ‖x‖².
        wasted: for both supports, the mean share of the k entries that the recovery chose in the padding.
        ratio: mean of the relative error with `true` over that with `padded`; bound: that of `signals`.
    """

    family: Family
    recovery: MakeRecovery  # FIHT or IHT, which have a parameter `support`
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of signals of each kind
    k: Count  # nonzeros of a sparse signal, and recovered entries
    signals: Annotated[dict[Kind, Positive], NonEmpty]  # the bound of the ratio by kind of signals (see `signals.draw`)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not hasattr(self.recovery(k=self.k), "support"):
            raise ValueError("task padding needs a recovery with a `support`: FIHT or IHT")

    def run(self) -> list[Row]:
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "padding")
        return [row for kind in self.signals for row in self._rows(kind, sketch)]

    def _rows(self, kind: Kind, sketch: Sketch) -> Iterator[Row]:
        x = draw(kind, self.family.d, self.k, self.trials, self.seed)
        y = sketch.sketch(self.kernels.asarray(x))
        errors = {}
        for support in ("padded", "true"):
            recovery = self.recovery(k=self.k, support=support)
            estimates = self.kernels.to_numpy(recovery.recover(sketch, y).x)
            errors[support] = relative_error(x, estimates)
            wasted = 1 - (estimates != 0).sum(axis=-1) / self.k
            log.info("%s: recovered %d signals with support=%s", kind, self.trials, support)
            yield Row("relative_error", case=kind, support=support).mean(errors[support])
            yield Row("wasted", case=kind, support=support).mean(wasted)
        yield Row("ratio", case=kind, bound=self.signals[kind]).mean(errors["true"] / errors["padded"])
