"""The error of recovering approximately sparse vectors from their sketches."""

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonNegative
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.recovery.count_sketch import CountSketchMedian
from sketchbench.sketch.recovery.recovery import MakeRecovery, best
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.task.recovery import signals
from sketchbench.task.sketches import trials


@dataclass(frozen=True)
class Reconstruction(Checked):
    """Measures the error, the iterations and the time of a recovery of sparse signals with noise from their sketches.

    All signals go through one operator. The recovery is compared with the median of a CountSketch table of the same
    size b, on the same signals.

    Rows, all with the `compression` d/b:
        relative_error: mean of ‖x - x̂‖² / ‖x‖².
        floor: mean of the same for the best approximation of x with k nonzeros.
        difference: mean of the relative error of the recovery minus that of the table; bound: 0.
        lead: mean of the relative error of the table minus that of the recovery; bound: d/b.
        behind: as `lead`, but with the bound 0, for a recovery that is itself a table, of another number of rows.
        iterations: mean number of iterations for a signal.
        seconds: seconds to sketch and recover a signal (in the column `mean`), in the fastest block of signals, as
            other work on the machine may delay other blocks.

    Arguments:
        trials: number of signals.
        k: large entries of a signal, and recovered entries.
        noise: standard deviation of the noise in every entry of a signal.
        rows: rows of the CountSketch table; b must be a multiple.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    k: Count
    noise: NonNegative
    rows: Count

    def run(self) -> list[Row]:
        """Recover the signals; return the seven rows. Raises ValueError for k > d, or unless `rows` divides b."""
        d, b = self.family.d, self.family.b
        measured, seconds = self._measure()
        errors, table = measured["recovery"], measured["table"]
        compression = {"compression": d / b}
        return [
            Row("relative_error", **compression).mean(errors),
            Row("floor", **compression).mean(measured["best"]),
            Row("difference", **compression, bound=0.0).mean(errors - table),
            Row("lead", **compression, bound=d / b).mean(table - errors),
            Row("behind", **compression, bound=0.0).mean(table - errors),
            Row("iterations", **compression).mean(measured["iterations"]),
            Row("seconds", **compression, mean=seconds),
        ]

    def _measure(self) -> tuple[dict[str, Any], float]:
        """Relative errors and iterations of all signals, each (trials,), and the seconds for a signal."""
        d, b = self.family.d, self.family.b
        tested, table = (
            trials.fixed_operator(family, self.kernels, self.seed, "reconstruction")
            for family in (self.family, BlockSparseEmbedding(d, b, s=self.rows))
        )
        recovery, median = self.recovery(k=self.k), CountSketchMedian(self.k)
        blocks: dict[str, list[Any]] = defaultdict(list)
        seconds = float("inf")
        for first, count in trials.blocks(self.trials, 4 * d):
            x = signals.draw_sparse(d, self.k, count, self.seed, first, noise=self.noise)
            sent = self.kernels.asarray(x)
            if first == 0:
                recovery.recover(tested, tested.sketch(sent[:1]))  # compiles the kernels before they are timed
            start = time.perf_counter()
            result = recovery.recover(tested, tested.sketch(sent))
            blocks["iterations"].append(self.kernels.to_numpy(result.iterations))  # waits for a GPU
            seconds = min(seconds, (time.perf_counter() - start) / count)
            for name, estimate in (
                ("recovery", result.x),
                ("table", median.recover(table, table.sketch(sent)).x),
                ("best", best(self.kernels, sent, self.k)),
            ):
                blocks[name].append(signals.relative_error(x, self.kernels.to_numpy(estimate)))
        return {name: np.concatenate(values) for name, values in blocks.items()}, seconds
