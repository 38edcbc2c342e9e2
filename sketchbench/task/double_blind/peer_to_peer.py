"""A node's estimates of its neighbour's updates from sketched weights (zhang2021 Appendix D)."""

import itertools
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonNegative, Range
from sketchbench.federated import peer_to_peer
from sketchbench.federated.peer_to_peer import PeerRound
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.sketches.trials import blocks, shown_rounds

Numbers = NDArray[np.float64]
OPTIONS = {
    "option I": peer_to_peer.estimate_unbiased,
    "option II": peer_to_peer.estimate_nearest,
    "own weights": peer_to_peer.estimate_from_own,
}
PLAIN = "plain"  # the case in which nodes exchange unsketched weights
TINY = 1e-12  # replaces a zero divisor


@dataclass(frozen=True)
class Ring(Checked):
    """The nodes of a ring and their data; all nodes start from the same normal weights. Node i has normal features, and
    labels of the linear model W* + `heterogeneity` E_i plus normal noise of standard deviation 1/10; W* and E_i are
    normal."""

    nodes: Annotated[int, Range(3)]  # number of nodes on the ring
    outputs: Count  # of the linear models
    samples: Count  # of a node
    heterogeneity: NonNegative  # standard deviation of a node's model from W*, in each entry

    def draw(self, d: int, random: np.random.Generator) -> tuple[Numbers, Numbers, Numbers]:
        """Draw initial weights (N, out, d), features (N, n, d) and labels (N, n, out)."""
        shape = (self.nodes, self.outputs, d)
        start, shared = random.standard_normal((2, 1, self.outputs, d))
        models = shared + self.heterogeneity * random.standard_normal(shape)
        features = random.standard_normal((self.nodes, self.samples, d))
        labels = features @ models.transpose(0, 2, 1)
        return np.broadcast_to(start, shape), features, labels + 0.1 * random.standard_normal(labels.shape)


@dataclass(frozen=True)
class PeerToPeerLearning(Checked):
    """`trials` trainings of `PeerToPeer`, in which each link draws a fresh sketch S in every round.

    Node 1 estimates Δ, the change of node 0's weights in a round, as the difference Δ̂ of two rounds' estimates of the
    weights. Rows at about `points` rounds:

    `error`, by `case`: mean of ‖Δ̂ - Δ‖/‖Δ‖. The cases are the estimates of node 0's weights W_0: `option I`, W_0 S Sᵀ;
    `option II`, W_0 S S⁺; `own weights`, W_1 + (W_0 - W_1) S S⁺; and `plain`, for nodes that exchange unsketched
    weights.
    `inverse_error`, by `case`: mean of 1/error, and the number of trials in which it exceeds 1: there Δ̂ is nearer to Δ
    than 0 is.
    `loss`, by `case` (`sketched` or `plain`): mean loss of all nodes, over the first loss.
    """

    family: Family  # of S
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    points: Count  # about how many rounds have rows
    ring: Ring  # nodes and data
    learning: peer_to_peer.PeerToPeer  # the algorithm

    def run(self) -> list[Row]:
        shown = shown_rounds(self.learning.rounds, self.points)
        measured: dict[tuple[str, str, int], list[float]] = {}
        for first, count in blocks(self.trials, self.ring.nodes * self.ring.outputs * self.family.d):
            for trial in range(first, first + count):
                for key, value in self._trial(trial, shown).items():
                    measured.setdefault(key, []).append(value)
        rows = []
        for (quantity, case, t), values in measured.items():
            rows.append(Row(quantity, case=case, round=t).mean(values))
            if quantity == "error":
                inverse = 1 / np.maximum(values, TINY)
                rows.append(Row("inverse_error", case=case, round=t).exceedances(inverse, 1.0))
        return rows

    def _trial(self, trial: int, shown: list[int]) -> dict[tuple[str, str, int], float]:
        """The measurements of one trial, by quantity, case and round."""
        d = self.family.d
        weights, features, labels = self.ring.draw(d, seeds.generator(self.seed, data="ring", d=d, trial=trial))
        values = {}
        for case in ("sketched", PLAIN):
            sketches = partial(self._draw, trial) if case == "sketched" else self._whole
            rounds = self.learning.run(weights, features, labels, sketches)
            for before, now in itertools.pairwise(rounds):
                if before.t == 0:
                    start = _loss(before, features, labels)
                if now.t in shown:
                    values["loss", case, now.t] = _loss(now, features, labels) / start
                    options = OPTIONS if case == "sketched" else {PLAIN: peer_to_peer.estimate_unbiased}
                    for name, estimate in options.items():
                        update = before.weights[0] - now.weights[0]
                        error = np.linalg.norm(estimate(before) - estimate(now) - update)
                        values["error", name, now.t] = float(error / np.linalg.norm(update))
        return values

    def _draw(self, trial: int, t: int) -> Numbers:
        """R of each link in round t, (nodes, b, d)."""
        key = seeds.key(self.seed, task="peer to peer", family=repr(self.family), trial=trial, round=t)
        stack = self.family.draw(key, operators=self.ring.nodes, kernels=self.kernels)
        return np.asarray(self.kernels.to_numpy(stack.materialize()))

    def _whole(self, t: int) -> Numbers:
        """R = I for each link, (nodes, d, d)."""
        return np.broadcast_to(np.eye(self.family.d), (self.ring.nodes, self.family.d, self.family.d))


def _loss(at: PeerRound, features: Numbers, labels: Numbers) -> float:
    """The mean squared loss of all nodes on their own samples."""
    return float(((features @ at.weights.transpose(0, 2, 1) - labels) ** 2).mean() / 2)
