"""SGD with compressed sensing beside competing algorithms on one objective."""

import dataclasses
import functools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.kept import Kept
from sketchbench.base.parameters import AtLeastTwo, Checked, Count
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, LemmaVectors, MakeSGD, ServerState, track
from sketchbench.federated.iterative_sketching import Round
from sketchbench.federated.peers import Peer, Peers, Table
from sketchbench.kernels import Kernels
from sketchbench.learning.objective.objective import MakeObjective, Objective
from sketchbench.measure.divergence import has_diverged
from sketchbench.measure.row import MEDIAN, Row
from sketchbench.measure.sparsity import sparsity
from sketchbench.sketch.family import Family
from sketchbench.sketch.recovery.recovery import MakeRecovery
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)
LATE = 0.1  # rounds beyond this share of all are late: transients are over
SETTLED = 0.35, 0.65  # the interval in which sp(p) settles: "around 0.5" (tang2021 §4.1)
SHARE = 0.5  # a run that converges ends below this share of its first loss

Numbers = NDArray[np.float64]  # (trials,)
Courses = dict[str, list["ShownRound"]]  # by name of the algorithm


class ShownRound(NamedTuple):
    """The measurements of a round that has rows.

    Arguments:
        bytes_up, bytes_down: bytes that a client has sent and received so far.
        loss: f(w(t)) in each trial, (trials,); None if the algorithm has diverged.
        p, gradient: sp of p(t) (tang2021 Lemma 1) and of the mean gradient, (trials,); None for peers.
    """

    t: int
    bytes_up: int
    bytes_down: int
    loss: Numbers | None
    p: Numbers | None = None
    gradient: Numbers | None = None


_NOISELESS = Kept[tuple[Any, ...], list[ShownRound]](64)  # of problems, without the channel's noise


@dataclass(frozen=True)
class Trials(Checked):
    """The definition of a trial. `problem` says what trials share. `one`: x₀, A_c and Φ, so that they differ in the
    noise. `start`: A_c and Φ; each starts at w* + x₀ with its own normal x₀. `each`: nothing, so that a trial has its
    own CountSketch, too; it takes ten times as long for small d."""

    problem: Literal["one", "start", "each"]
    trials: AtLeastTwo


@dataclass(frozen=True)
class CompressedSensingTask(Trials):
    """`trials` runs of `rounds` rounds with step size 1/√rounds: a recovery, with server error feedback and channel
    noise.

    Its competitors are `peers` (see `federated.peers`). Rows, at about `points` rounds:

    `loss`, by algorithm (`case`): mean of f(w(t)), with a client's sent and received bytes so far.
    `worse`, in late rounds (after a tenth of all): the number of trials with a loss not below the peer
    `count_sketch`'s; bound: 1/2, for a probability.
    `difference`, in late rounds: mean of the loss minus that of the peer `count_sketch`, trial by trial.
    `sparsity`: mean of sp(p(t)), with p(t) of tang2021 Lemma 1.
    `gradient_sparsity`: mean sp of the clients' mean gradient; bound: 2k/d.
    `start`: mean of sp(p(1)); bound: 2k/d.
    `settled`, in late rounds: mean of sp(p(t)), bound: 0.65 (case `above`), and of -sp(p(t)), bound: -0.35 (`below`).

    Rows about whole runs, for the recovery under test and the peer `noiseless`:

    `final`: mean of the last loss.
    `share`: mean of the last loss over the first; bound: 1/2.
    `added`: mean of the last loss minus that of the peer `noiseless`, trial by trial; bound: W, the channel's noise.
    `price`, by `compression`: mean of the last loss minus that of the peer `uncompressed`, trial by trial; bound: d/b.

    An algorithm that diverges in any trial ends with a row of the status `diverged`, and no mean.

    Arguments:
        k: entries of a step.
        algorithm: the algorithm under test, called with recovery and rate.
        peers: names of the competing algorithms.
        table: the size of the CountSketch.
        points: about how many rounds have rows.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    objective: MakeObjective
    rounds: Count
    k: Count
    algorithm: MakeSGD
    peers: list[Peer]
    table: Table
    points: Count

    def run(self) -> list[Row]:
        if self.problem == "each":
            keys = (seeds.key(self.seed, task="compressed sensing", problem=i) for i in range(self.trials))
            courses = _join([self._courses(key, 1) for key in keys])
        else:
            courses = self._courses(self.seed, self.trials)
        tested = courses["recovery"]
        rows = [row for shown in tested for row in self._round("recovery", shown)]
        for name in self.peers:
            competing = courses[name]
            rows += [row for shown in competing for row in self._round(name, shown)]
            if name == "count_sketch":
                rows += _compare(tested, competing, self._late)
            if name == "uncompressed":
                compression = self.family.d / self.family.b
                price = Row("price", compression=compression, bound=compression)
                rows.append(_difference(price, tested, competing))
            if name == "noiseless":
                channel_noise = self._algorithm.channel_noise
                rows += self._end(name, competing)
                rows += [
                    _difference(Row("added", case=case, bound=channel_noise), courses[case], competing)
                    for case in ("recovery", name)
                ]
        return rows + self._end("recovery", tested)

    @property
    def _algorithm(self) -> CompressedSensingSGD:
        return self.algorithm(recovery=self.recovery(k=self.k), rate=float(self.rounds**-0.5))

    def _courses(self, seed: int, number: int) -> Courses:
        """The recovery and its peers in `number` trials on the problem of a seed, by name."""
        objective, algorithm = self.objective(kernels=self.kernels, seed=seed), self._algorithm
        sketch = trials.fixed_operator(self.family, self.kernels, seed, "compressed sensing")
        start = None
        if self.problem == "start":
            random = seeds.generator(seed, data="starts", d=objective.d, trials=number)
            start = self.kernels.asarray(objective.minimiser + random.standard_normal((number, objective.d)))
        states = algorithm.run(objective, sketch, seed, trials=number, rounds=self.rounds, start=start)
        courses = {"recovery": list(self._follow("recovery", objective, track(states, algorithm, sketch)))}
        peers = Peers(algorithm, objective, self.family, sketch, self.table, seed, start)
        for name in self.peers:
            if name == "noiseless":  # the same for all levels of the channel's noise
                silent = dataclasses.replace(algorithm, channel_noise=0.0)
                key = (self.kernels.NAME, self.rounds, self.points, self.problem, number, seed)
                about = (*key, repr((silent, self.family, self.objective)))
                courses[name] = _NOISELESS.of(about, lambda: self._compete("noiseless", peers, number))
            else:
                courses[name] = self._compete(name, peers, number)
        return courses

    def _compete(self, name: Peer, peers: Peers, number: int) -> list[ShownRound]:
        states = peers.run(name, trials=number, rounds=self.rounds)
        return list(self._follow(name, peers.objective, ((at, None) for at in states)))

    @property
    def _late(self) -> int:
        return max(1, round(LATE * self.rounds))

    @functools.cached_property  # every round uses it
    def _shown_rounds(self) -> set[int]:
        spread = trials.shown_rounds(self.rounds, self.points)
        return {0, *spread, self._late, max(1, self.rounds // 2), self.rounds}

    def _follow(
        self, name: str, objective: Objective, states: Iterator[tuple[ServerState | Round, LemmaVectors | None]]
    ) -> Iterator[ShownRound]:
        """Measure the rounds that have rows, until the end or divergence; `states` may have the vectors of Lemma 1."""
        for at, vectors in states:
            loss = self.kernels.to_numpy(objective.loss(at.w))
            sent = (at.t, at.bytes_up, at.bytes_down)
            if has_diverged(loss, objective.gap):
                log.info("%s: diverged in round %d", name, at.t)
                yield ShownRound(*sent, None)
                return
            if at.t not in self._shown_rounds:
                continue
            log.info("%s: round %d of %d, loss %.4g", name, at.t, self.rounds, loss.mean())
            if vectors is None or not isinstance(at, ServerState) or at.sent is None:
                yield ShownRound(*sent, loss)
                continue
            p, gradient = (sparsity(self.kernels.to_numpy(v)) for v in (vectors.p, at.sent.gradient))
            yield ShownRound(*sent, loss, p, gradient)

    def _round(self, name: str, shown: ShownRound) -> Iterator[Row]:
        t = shown.t
        row = Row("loss", round=t, case=name, bytes_up=shown.bytes_up, bytes_down=shown.bytes_down)
        if shown.loss is None:
            yield row.without_number("diverged", "a loss is not finite, or has grown a million times")
            return
        yield row.replace(status="finite").mean(shown.loss)
        if shown.p is None or shown.gradient is None:
            return
        sparse = 2 * self.k / self.family.d  # the largest sparsity that condition (7) of tang2021 can allow
        yield Row("sparsity", round=t).mean(shown.p)
        yield Row("gradient_sparsity", round=t, bound=sparse).mean(shown.gradient)
        if t == 1:
            yield Row("start", round=t, bound=sparse).mean(shown.p)
        if t >= self._late:
            yield Row("settled", round=t, case="above", bound=SETTLED[1]).mean(shown.p)
            yield Row("settled", round=t, case="below", bound=-SETTLED[0]).mean(-shown.p)

    def _end(self, case: str, shown: Sequence[ShownRound]) -> list[Row]:
        first, last = shown[0].loss, shown[-1].loss
        share = Row("share", round=self.rounds, case=case, bound=SHARE)
        if first is None or last is None:
            return [share.without_number("diverged", "the recovery diverged before the last round", self.trials)]
        return [Row("final", round=self.rounds, case=case).mean(last), share.mean(last / first)]


def _join(courses: Sequence[Courses]) -> Courses:
    """Join the courses of several problems, each up to the first divergence in any of them."""
    return {name: list(_joined([course[name] for course in courses])) for name in courses[0]}


def _joined(several: Sequence[Sequence[ShownRound]]) -> Iterator[ShownRound]:
    ends = [one[-1] for one in several if one[-1].loss is None]
    first = min(ends, key=lambda shown: shown.t, default=None)
    for shown in zip(*several, strict=False):
        if first is not None and shown[0].t >= first.t:
            yield first
            return
        yield ShownRound(*shown[0][:3], *(_joint([one[at] for one in shown]) for at in (3, 4, 5)))


def _joint(several: Sequence[Any]) -> Numbers | None:
    return None if any(one is None for one in several) else np.concatenate(several)


def _difference(row: Row, one: Sequence[ShownRound], other: Sequence[ShownRound]) -> Row:
    """Complete a row with the mean of an algorithm's last loss minus another's, in the same trials."""
    last, without = one[-1].loss, other[-1].loss
    row = row.replace(round=one[-1].t)
    if last is None or without is None:
        return row.without_number("diverged", "a recovery diverged before the last round")
    return row.mean(last - without)


def _compare(tested: Sequence[ShownRound], peer: Sequence[ShownRound], late: int) -> Iterator[Row]:
    """The rows `worse` and `difference` in late rounds, until the peer diverges; a diverged recovery is worse."""
    losses = {shown.t: shown.loss for shown in tested}
    for shown in peer:
        if shown.t < late or shown.loss is None:
            continue
        loss, count = losses.get(shown.t), len(shown.loss)
        worse = count if loss is None else int((loss >= shown.loss).sum())
        yield Row("worse", round=shown.t, bound=MEDIAN).counted(worse, count)
        if loss is not None:
            yield Row("difference", round=shown.t).mean(loss - shown.loss)
