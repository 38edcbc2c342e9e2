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
from sketchbench.task import trials
from sketchbench.task.signals import Kind, draw, relative_error

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Padding(Checked):
    """Measures the error of a recovery that chooses the support among all coordinates of the padded transform
    (`padded`), and of one that chooses it among the d coordinates of the signal (`true`).

    All signals go through one operator, and both recoveries get the same signals.

    Rows for each kind of signals (`case`):
        relative_error: for both supports, the mean of ‖x - x̂‖² / ‖x‖².
        wasted: for both supports, the mean share of the k entries that the recovery chose in the padding.
        ratio: mean of the relative error with `true` over the one with `padded`; bound: that of `signals`.

    Arguments:
        recovery: FIHT or IHT, which have a parameter `support`.
        trials: number of signals of each kind.
        k: nonzeros of a sparse signal, and entries that are recovered.
        signals: the bound of the ratio by kind of signals (see `signals.draw`).

    Raises:
        ValueError: for another recovery.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    k: Count
    signals: Annotated[dict[Kind, Positive], NonEmpty]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not hasattr(self.recovery(k=self.k), "support"):
            raise ValueError("task padding needs a recovery with a `support`: FIHT or IHT")

    def run(self) -> list[Row]:
        """Recover the signals with both supports; returns five rows for each kind."""
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "padding")
        return [row for kind in self.signals for row in self._rows(kind, sketch)]

    def _rows(self, kind: Kind, sketch: Sketch) -> Iterator[Row]:
        """The rows of one kind of signals."""
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
