"""The error of recovering approximately sparse vectors from their sketches."""

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.recovery.count_sketch import CountSketchMedian
from sketchbench.recovery.recovery import MakeRecovery, best
from sketchbench.sketch.family import Family
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.task import signals, trials


@dataclass(frozen=True)
class Reconstruction:
    """For signals with k large entries and `noise` everywhere, and one operator for all of them, rows

    `relative_error`: ‖x - x̂‖² / ‖x‖², beside the `floor`, that of the best k terms of x;
    `difference`: that error less the one of CountSketch, `rows` rows with b cells altogether and
    median decoding, on the same signals, against 0;
    `lead`: the same with the opposite sign, over the `compression` d/b;
    `iterations`, and `seconds` per signal, sketching included: the least of all blocks of signals, which
    is what is left when no other job gets in the way.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: int
    k: int
    noise: float
    rows: int

    def run(self) -> list[dict[str, Any]]:
        d, b = self.family.d, self.family.b
        tested, table = (
            trials.fixed_operator(family, self.kernels, self.seed, "reconstruction")
            for family in (self.family, BlockSparseEmbedding(d, b, s=self.rows))
        )
        recovery, median = self.recovery(k=self.k), CountSketchMedian(self.k)
        found: dict[str, list[Any]] = defaultdict(list)
        seconds = float("inf")
        for first, count in trials.blocks(self.trials, 4 * d):
            x = signals.sparse(d, self.k, count, self.seed, first, noise=self.noise)
            sent = self.kernels.asarray(x)
            if first == 0:
                recovery.recover(tested, tested.sketch(sent[:1]))  # compiles what is to be timed
            start = time.perf_counter()
            result = recovery.recover(tested, tested.sketch(sent))
            found["iterations"].append(self.kernels.to_numpy(result.iterations))  # waits for a GPU
            seconds = min(seconds, (time.perf_counter() - start) / count)
            for name, estimate in (
                ("errors", result.x),
                ("peers", median.recover(table, table.sketch(sent)).x),
                ("floors", best(self.kernels, sent, self.k)),
            ):
                found[name].append(signals.relative_error(x, self.kernels.to_numpy(estimate)))
        errors, peers, floors, iterations = (
            np.concatenate(found[name]) for name in ("errors", "peers", "floors", "iterations")
        )
        shared = {"compression": d / b}
        return [
            {"quantity": "relative_error", **shared, **summarize(errors)},
            {"quantity": "floor", **shared, **summarize(floors)},
            {"quantity": "difference", **shared, "bound": 0.0, **summarize(errors - peers)},
            {"quantity": "lead", **shared, "bound": d / b, **summarize(peers - errors)},
            {"quantity": "iterations", **shared, **summarize(iterations)},
            {"quantity": "seconds", **shared, "mean": seconds},
        ]
