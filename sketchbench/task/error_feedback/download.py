"""The bytes that a client receives in a round of SGD with compressed sensing, against d/K (tang2021 §4.2)."""

import logging
from dataclasses import dataclass

from sketchbench.base.parameters import Checked, Count
from sketchbench.federated.compressed_sensing import CompressedSensingSGD
from sketchbench.kernels import Kernels
from sketchbench.learning.objective.objective import MakeObjective
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.recovery.recovery import MakeRecovery
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Download(Checked):
    """One run of `rounds` rounds.

    Row `download`, by `case`: the most bytes that a round sends to a client, over the bytes of `k` entries of the
    weights' type, which a compression of d/K allows; bound: 1. The cases:
        message: the sent step, values with their places.
        values: the nonzero values of the step alone.
        whole: all weights.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    objective: MakeObjective
    rounds: Count
    k: Count  # entries of a step

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "download")
        algorithm = CompressedSensingSGD(self.recovery(k=self.k), self.rounds**-0.5)
        before, most = 0, {"message": 0, "values": 0, "whole": 0}
        for at in algorithm.run(objective, sketch, self.seed, trials=1, rounds=self.rounds):
            if at.sent is None:
                continue
            entry = at.w.dtype.itemsize
            sent = {
                "message": at.bytes_down - before,
                "values": int((at.sent.step != 0).sum()) * entry,
                "whole": at.w.nbytes,
            }
            most = {case: max(most[case], size) for case, size in sent.items()}
            before = at.bytes_down
        log.info("%d rounds, bytes of a round at most: %s", self.rounds, most)
        return [Row("download", case=case, bound=1.0).number(size / (self.k * entry)) for case, size in most.items()]
