"""SGD with compressed sensing (tang2021 Algorithm 1), with error feedback at the server."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count, Natural, NonNegative, Positive, Range, checked
from sketchbench.federated.conditions import check_objective
from sketchbench.kernels import Array
from sketchbench.learning.objective.problem import Problem
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import Recovery
from sketchbench.sketch.scattered import Scattered

Feedback = Literal["subtract", "zero", "none"]
Clients = Literal["each", "mean"]
Momentum = Annotated[float, Range(0, 1, open_high=True)]


class Sent(NamedTuple):
    """The exchange of one round, in T_r trials.

    Arguments:
        gradient: (T_r, d), the mean g of the clients' stochastic gradients, plus momentum times the last one.
        noise: (T_r, b), the channel's noise w, plus momentum times the last one.
        z: (T_r, b), the vector from which the server recovers the step.
        step: (T_r, d), Δ.
    """

    gradient: Array
    noise: Array
    z: Array
    step: Array


class ServerState(NamedTuple):
    """The server after t = 0, 1, ..., T rounds, in T_r trials.

    Arguments:
        w: (T_r, d), the weights (x in the paper).
        error: (T_r, b), the server's memory ε for the next round.
        received: (T_r, b), the mean of the received messages, plus momentum times the last one.
        sent: the exchange of the last round; None at t = 0.
        bytes_up, bytes_down: bytes sent and received so far by a client that takes part in every round.
    """

    t: int
    w: Array
    error: Array
    received: Array
    sent: Sent | None
    bytes_up: int
    bytes_down: int


@dataclass(frozen=True)
class CompressedSensingSGD(Checked):
    """SGD from sketches of the clients' stochastic gradients. The server recovers a sparse step from z = `rate` * mean
    + ε, sends it to all, and keeps ε.

    Arguments:
        recovery: of the step.
        rate: the learning rate η.
        channel_noise: standard deviation W of the normal noise in every entry of the mean message.
        feedback: the server's memory: `subtract` keeps ε = z - ΦΔ; `zero` keeps z except in cells with nonzero ΦΔ, as
            FetchSGD does with a CountSketch; `none` keeps nothing.
        momentum: the factor of the last mean message that the server adds to the next.
        clients: `each` sketches every client's gradient, as in the protocol; `mean` sketches their mean, N times faster
            and the same except for rounding, because the sketch is linear and serves all clients.
    """

    recovery: Recovery
    rate: Positive
    channel_noise: NonNegative = 0.0
    feedback: Feedback = "subtract"
    momentum: Momentum = 0.0
    clients: Clients = "each"

    @checked
    def run(
        self,
        objective: Problem,
        sketch: Sketch,
        seed: int,
        *,
        trials: Count,
        rounds: Natural,
        start: Array | None = None,
        after: ServerState | None = None,
    ) -> Iterator[ServerState]:
        """Return the states after 0 to T rounds of independent trials, all with one operator.

        Trials differ in the noise of gradients and channel. The noise depends on the seed and the round only, so that
        two algorithms with the same seed meet the same noise. Memory: O(trials clients d); with clients=mean O(trials
        d).

        Arguments:
            objective: of d weights.
            sketch: the operator Φ of all rounds and trials.
            seed: of the noise.
            trials: T_r.
            rounds: T.
            start: weights of each trial at t = 0, (T_r, d); None for the objective's.
            after: a state of an earlier run to resume from, returned first; the states equal an unstopped run's.

        Raises:
            ValueError: if the sizes of sketch and objective differ, the objective starts from no finite weights, or
                `after` has other sizes or is after the last round.
            TypeError: for feedback=zero with a sketch that has no cells.
        """
        check_objective(objective, sketch.d)
        seeds.key(seed)
        if self.feedback == "zero" and not isinstance(sketch, Scattered):
            raise TypeError(
                f"feedback=zero needs a sketch whose coordinates have cells, not "
                f"{type(sketch).__name__}; choose a CountSketch, or feedback=subtract"
            )
        kernels = objective.kernels
        xp = kernels.xp
        if after is None:
            w = xp.repeat(kernels.asarray(objective.start)[None], trials, axis=0) if start is None else start
            nothing = xp.zeros((trials, sketch.b))
            after = ServerState(0, w, nothing, nothing, None, 0, 0)
        shapes = ((trials, objective.d), (trials, sketch.b), (trials, sketch.b))
        if (given := (after.w.shape, after.error.shape, after.received.shape)) != shapes or not 0 <= after.t <= rounds:
            raise ValueError(
                f"a state after {after.t} rounds with arrays {given} must be after 0 to rounds={rounds}, with {shapes}"
            )
        return self._rounds(objective, sketch, seed, rounds, after)

    def _rounds(
        self, objective: Problem, sketch: Sketch, seed: int, rounds: int, at: ServerState
    ) -> Iterator[ServerState]:
        yield at
        for _ in range(at.t, rounds):
            at = self._next(objective, sketch, seed, at)
            yield at

    def _next(self, objective: Problem, sketch: Sketch, seed: int, at: ServerState) -> ServerState:
        kernels = objective.kernels
        gradient, message, size = self._messages(objective, sketch, at.w, seed, at.t)
        fresh = kernels.xp.zeros_like(message)
        if self.channel_noise:
            random = seeds.generator(seed, noise="channel", round=at.t)
            fresh = self.channel_noise * kernels.asarray(random.standard_normal(message.shape))
        return self.serve(sketch, at, gradient, message, fresh, size)

    def serve(
        self, sketch: Sketch, at: ServerState, gradient: Array, message: Array, fresh: Array, size: int
    ) -> ServerState:
        """Return the state after the server's part of a round.

        Arguments:
            sketch: the operator of all trials, or the stack of each trial's.
            at: the state before.
            gradient: the clients' mean gradient, (T_r, d).
            message: the clients' mean message, (T_r, b).
            fresh: the channel's noise in it, (T_r, b).
            size: of a message in bytes.
        """
        mean, noise = gradient, fresh
        if at.sent is not None:
            mean = mean + self.momentum * at.sent.gradient
            noise = noise + self.momentum * at.sent.noise
        received = message + fresh + self.momentum * at.received
        z = self.rate * received + at.error
        step = self.recovery.recover(sketch, z).x
        error = self._next_memory(sketch, z, step)
        sent = Sent(mean, noise, z, step)
        up, down = at.bytes_up + size, at.bytes_down + sparse_nbytes(step[0])
        return ServerState(at.t + 1, at.w - step, error, received, sent, up, down)

    def _messages(self, objective: Problem, sketch: Sketch, w: Array, seed: int, t: int) -> tuple[Array, Array, int]:
        """The clients' mean gradient (trials, d), their mean message (trials, b), and the bytes of a message."""
        xp = objective.kernels.xp
        random = seeds.generator(seed, noise="gradients", round=t)
        if self.clients == "mean":
            gradient = objective.stochastic_gradient(w, random)
            message = sketch.sketch(gradient, check_finite=False)
            return gradient, message, message[0].nbytes
        shape = (len(w), objective.clients, objective.d)
        gradients = objective.stochastic_gradients(xp.broadcast_to(w[:, None], shape), random)
        messages = sketch.sketch(gradients, check_finite=False)
        return gradients.mean(axis=1), messages.mean(axis=1), messages[0, 0].nbytes

    def _next_memory(self, sketch: Sketch, z: Array, step: Array) -> Array:
        if self.feedback == "none":
            return 0 * z
        recovered = sketch.sketch(step, check_finite=False)
        return z - recovered if self.feedback == "subtract" else z * (recovered == 0)


MakeSGD = Callable[..., CompressedSensingSGD]  # from a task's config, called with recovery and rate


def sparse_nbytes(step: Array) -> int:
    """Bytes of a sent step (d,): its nonzeros with their places, or all entries if that is less."""
    place = 4 if len(step) <= 2**31 else 8  # bytes of an int32 or int64
    return min(int((step != 0).sum()) * (place + step.itemsize), step.nbytes)


class LemmaVectors(NamedTuple):
    """The vectors of tang2021 Lemma 1 in a round, each (T_r, d): the server recovers from a sketch of p, and keeps a
    sketch of e as its memory."""

    p: Array
    e: Array


def track(
    states: Iterator[ServerState], algorithm: CompressedSensingSGD, sketch: Sketch
) -> Iterator[tuple[ServerState, LemmaVectors | None]]:
    """Yield each state with the vectors p and e of its last round, by the recursion of tang2021 Lemma 1; None at t = 0.
    They need the clients' mean gradient, which the server does not know. A noisy channel costs one desketch a round."""
    e: Array = 0.0
    for at in states:
        if at.sent is None:
            yield at, None
            continue
        p = algorithm.rate * at.sent.gradient + e
        e = p - at.sent.step
        if algorithm.channel_noise:
            noise = sketch.desketch(at.sent.noise, check_finite=False)
            e = e + algorithm.rate * sketch.b / sketch.d * noise
        yield at, LemmaVectors(p, e)
