"""Competitors of SGD with compressed sensing, on the same objective and with the same step size."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count
from sketchbench.federated import compressors
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, ServerState
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.kernels import Array
from sketchbench.learning.objective.objective import Objective
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.transform import SubsampledHadamard

Peer = Literal["uncompressed", "count_sketch", "desketch", "noiseless"]


@dataclass(frozen=True)
class Table(Checked):
    """The size of a CountSketch: `rows` rows of `columns` cells."""

    rows: Count
    columns: Count


@dataclass(frozen=True)
class Peers:
    """The competitors of an algorithm:

    - `uncompressed`: SGD on uncompressed gradients.
    - `count_sketch`: a CountSketch, with the algorithm's feedback, momentum and channel.
    - `desketch`: RᵀR with a fresh randomised Hadamard sketch of the same b in each round, unbiased, without feedback.
    - `noiseless`: the algorithm itself, with its sketch, over a channel without noise.

    All meet the same noise in the gradients as the algorithm, except `desketch`, which draws its noise independently.
    `start` has the weights of each trial at t = 0, (trials, d), or is None for the objective's; `desketch` ignores it.
    """

    algorithm: CompressedSensingSGD  # to compare with
    objective: Objective  # the function to minimise
    family: Family  # of the algorithm's sketch
    sketch: Sketch  # the operator of the algorithm, drawn from the family
    table: Table  # the size of the CountSketch
    seed: int  # of the gradients' noise and the sketches
    start: Array | None = None

    def run(self, peer: Peer, *, trials: int, rounds: int) -> Iterator[ServerState] | Iterator[Round]:
        """The states of a competitor after 0 to `rounds` rounds."""
        if peer == "desketch":
            return self._desketch(trials, rounds)
        algorithm, d = self.algorithm, self.family.d
        if peer == "noiseless":
            silent = replace(algorithm, channel_noise=0.0)
            return silent.run(self.objective, self.sketch, self.seed, trials=trials, rounds=rounds, start=self.start)
        if peer == "uncompressed":
            recovery, family = compressors.no_compression(d)
            algorithm = CompressedSensingSGD(recovery, algorithm.rate, clients=algorithm.clients)
            key = 0  # the identity draws nothing
        else:
            recovery, family = compressors.count_sketch(d, algorithm.recovery.k, self.table.rows, self.table.columns)
            algorithm = replace(algorithm, recovery=recovery)
            key = seeds.key(self.seed, task="count sketch", family=repr(family))
        sketch = family.draw(key, kernels=self.objective.kernels)
        return algorithm.run(self.objective, sketch, self.seed, trials=trials, rounds=rounds, start=self.start)

    def _desketch(self, trials: int, rounds: int) -> Iterator[Round]:
        unbiased = IterativeSketching(SubsampledHadamard(self.family.d, self.family.b), self.algorithm.rate)
        random = seeds.generator(self.seed, noise="gradients", peer="desketch")

        def gradients(w: Array) -> Array:
            return self.objective.stochastic_gradients(w, random)

        key = seeds.key(self.seed, task="compressed sensing", peer="desketch")
        return unbiased.run(self.objective, key, trials=trials, rounds=rounds, gradients=gradients)
