"""SGD with compressed sensing beside its competitors on one objective."""

import functools
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.federated.compressed_sensing import (
    Clients,
    CompressedSensingSGD,
    Feedback,
    Step,
    tracked,
)
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.divergence import diverged
from sketchbench.measure.sparsity import sparsity
from sketchbench.measure.summary import summarize
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.recovery.count_sketch import CountSketchMedian
from sketchbench.recovery.desketch import Desketch
from sketchbench.recovery.recovery import MakeRecovery, Recovery
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.task import trials

log = logging.getLogger(__name__)
LATE = 0.1  # the share of the rounds after which transients are over
SETTLED = 0.35, 0.65  # where sp(p) settles: "around 0.5" (tang2021 §4.1)
SHARE = 0.5  # of the first loss: what a run that converges falls below

Row = dict[str, Any]
Losses = dict[int, NDArray[np.float64]]  # by round: (trials,)


@dataclass(frozen=True)
class CompressedSensing:
    """`trials` runs of `rounds` rounds with the step 1/√rounds: the recovery under test, with error
    feedback at the server and noise in the channel, beside `peers`, of which

    `uncompressed` and `count_sketch` (`rows` of `columns` cells, with feedback) meet the same noise in the
    gradients, and `desketch`, which is RᵀR with a new randomised Hadamard sketch of the same b for each
    round, unbiased and without feedback, noise of the same distribution. Rows, at about `points` rounds:

    `loss`: f(w(t)), by algorithm (`case`), with the bytes that a client has sent and received;
    `worse`: in how many trials the loss is not below that of the CountSketch, late, against 1/2 of all;
    `difference`: their difference, trial by trial;
    `final`: the last loss; `share`: that over the first;
    `sparsity`, `gradient_sparsity`: sp of p(t) (tang2021 Lemma 1) and of the mean gradient, that
    against 2k/d; `start`: sp(p(1)) against 2k/d; `settled`: sp(p(t)) against 0.65, and less it against -0.35, late.

    An algorithm that diverges ends with a row of the status `diverged`, and no mean.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: int
    rounds: int
    k: int
    channel_noise: float
    feedback: Feedback
    momentum: float
    clients: Clients
    peers: list[str]
    rows: int
    columns: int
    points: int

    def run(self) -> list[Row]:
        if self.rounds < 1:
            raise ValueError(f"rounds={self.rounds} must be >= 1")
        known: dict[str, Callable[[Objective], Iterator[Step] | Iterator[Round]]] = {
            "uncompressed": self._uncompressed,
            "count_sketch": self._count_sketch,
            "desketch": self._desketch,
        }
        for name in self.peers:
            if name not in known:
                raise ValueError(f"peer {name} is unknown; choose from {', '.join(known)}")
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        rows: list[Row] = []
        tested = self._curve("recovery", self._tested(objective, rows), objective, rows)
        for name in self.peers:
            losses = self._curve(name, known[name](objective), objective, rows)
            if name == "count_sketch":
                rows += _compared(tested, losses, self._late)
        if self.rounds in tested:
            rows.append(_row("final", self.rounds, tested[self.rounds]))
            rows.append(_row("share", self.rounds, tested[self.rounds] / tested[0], bound=SHARE))
        else:
            gone = {"status": "diverged", "bound": SHARE, "trials": self.trials}
            rows.append({"quantity": "share", "round": self.rounds, **gone})
        return rows

    @property
    def _late(self) -> int:
        return max(1, round(LATE * self.rounds))

    @functools.cached_property  # it is asked for in every round
    def _shown(self) -> set[int]:
        """The rounds that have rows."""
        spread = trials.shown_rounds(self.rounds, self.points)
        return {0, *spread, self._late, max(1, self.rounds // 2)}

    @property
    def _rate(self) -> float:
        return float(self.rounds**-0.5)

    def _uncompressed(self, objective: Objective) -> Iterator[Step]:
        d = self.family.d
        plain = CompressedSensingSGD(Desketch(d), self._rate, clients=self.clients)
        sketch = Identity(d, d).draw(0, kernels=self.kernels)
        return plain.run(objective, sketch, self.seed, trials=self.trials, rounds=self.rounds)

    def _count_sketch(self, objective: Objective) -> Iterator[Step]:
        table = BlockSparseEmbedding(self.family.d, self.rows * self.columns, s=self.rows)
        sketch = trials.fixed_operator(table, self.kernels, self.seed, "count sketch")
        return self._with_feedback(CountSketchMedian(self.k)).run(
            objective, sketch, self.seed, trials=self.trials, rounds=self.rounds
        )

    def _desketch(self, objective: Objective) -> Iterator[Round]:
        unbiased = IterativeSketching(SubsampledHadamard(self.family.d, self.family.b), self._rate)
        random = seeds.generator(self.seed, noise="gradients", peer="desketch")

        def gradients(w: Array) -> Array:
            return objective.stochastic_gradients(w, random)

        key = seeds.key(self.seed, task="compressed sensing", peer="desketch")
        return unbiased.run(objective, key, trials=self.trials, rounds=self.rounds, gradients=gradients)

    def _with_feedback(self, recovery: Recovery) -> CompressedSensingSGD:
        return CompressedSensingSGD(
            recovery, self._rate, self.channel_noise, self.feedback, self.momentum, self.clients
        )

    def _tested(self, objective: Objective, rows: list[Row]) -> Iterator[Step]:
        """The states of the recovery under test; what is to be known of p(t) and g(t) goes to the rows."""
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "compressed sensing")
        algorithm = self._with_feedback(self.recovery(k=self.k))
        sparse = 2 * self.k / self.family.d  # what (7) of tang2021 could allow at the very best
        states = algorithm.run(objective, sketch, self.seed, trials=self.trials, rounds=self.rounds)
        for at, vectors in tracked(states, algorithm, sketch):
            yield at
            if vectors is None or at.sent is None or at.t not in self._shown:
                continue
            p, g = (sparsity(self.kernels.to_numpy(v)) for v in (vectors.p, at.sent.gradient))
            rows.append(_row("sparsity", at.t, p))
            rows.append(_row("gradient_sparsity", at.t, g, bound=sparse))
            if at.t == 1:
                rows.append(_row("start", at.t, p, bound=sparse))
            if at.t >= self._late:
                rows.append(_row("settled", at.t, p, case="above", bound=SETTLED[1]))
                rows.append(_row("settled", at.t, -p, case="below", bound=-SETTLED[0]))

    def _curve(
        self,
        name: str,
        states: Iterator[Step] | Iterator[Round],
        objective: Objective,
        rows: list[Row],
    ) -> Losses:
        """Losses at the rounds that are shown, until the end or until they have diverged."""
        losses: Losses = {}
        for at in states:
            loss = self.kernels.to_numpy(objective.loss(at.w))
            sent = {"case": name, "bytes_up": at.bytes_up, "bytes_down": at.bytes_down}
            if diverged(loss, objective.gap):
                rows.append({"quantity": "loss", "round": at.t, "status": "diverged", **sent})
                log.info("%s: diverged in round %d", name, at.t)
                break
            if at.t in self._shown:
                losses[at.t] = loss
                log.info("%s: round %d of %d, loss %.4g", name, at.t, self.rounds, loss.mean())
                rows.append(_row("loss", at.t, loss, status="finite", **sent))
        return losses


def _compared(tested: Losses, peer: Losses, late: int) -> list[Row]:
    """The recovery against a peer in the same trials, until the peer diverges; one that has diverged itself is
    worse in all."""
    rows: list[Row] = []
    for t in sorted(peer):
        if t < late:
            continue
        gone = t not in tested
        count = len(peer[t]) if gone else int((tested[t] >= peer[t]).sum())
        shared = {"round": t, "trials": len(peer[t])}
        rows.append({"quantity": "worse", "bound": 0.5, "count": count, **shared})
        if not gone:
            rows.append(_row("difference", t, tested[t] - peer[t]))
    return rows


def _row(quantity: str, t: int, values: Any, **more: Any) -> Row:
    return {"quantity": quantity, "round": t, **more, **summarize(values)}
