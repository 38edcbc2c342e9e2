"""SGD with compressed sensing (tang2021 Algorithm 1): the server keeps what it could not recover."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from sketchbench import seeds
from sketchbench.kernels import Array
from sketchbench.objective.problem import Problem
from sketchbench.recovery.recovery import Recovery
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.scattered import Scattered

Feedback = Literal["subtract", "zero", "none"]
Clients = Literal["each", "mean"]


class Sent(NamedTuple):
    """What one round has exchanged, of so many trials, T_r.

    gradient: (T_r, d), the mean g of the clients' stochastic gradients, and noise: (T_r, b), that of the
    channel, w; both with momentum where there is any. z: (T_r, b), what the server recovered `step`, Δ (T_r, d), from.
    """

    gradient: Array
    noise: Array
    z: Array
    step: Array


class Step(NamedTuple):
    """What can be seen after t = 0, 1, ..., T rounds, of so many trials, T_r.

    w: (T_r, d), the weights (x in the paper). error: (T_r, b), what the server carries over, ε. received:
    (T_r, b), the mean of the messages that arrived, with momentum where there is any. sent: the last round's
    exchange; None at t = 0. bytes_up, bytes_down: what a client has sent and received so far, in as many rounds.
    """

    t: int
    w: Array
    error: Array
    received: Array
    sent: Sent | None
    bytes_up: int
    bytes_down: int


@dataclass(frozen=True)
class CompressedSensingSGD:
    """Clients send sketches of their stochastic gradients; the server recovers a sparse step from
    z = `rate` * mean + ε, sends it to all, and keeps ε.

    channel_noise: standard deviation W of the normal noise in every entry of the mean that arrives.
    feedback: `subtract` keeps ε = z - ΦΔ; `zero` keeps z but for the cells where ΦΔ is not 0, as FetchSGD
    does with a CountSketch; `none` forgets. momentum: the share of the last mean that is added to the next, at
    the server. clients: `each` sketches every client's gradient, as the protocol is; `mean` sketches their mean,
    which is the same but for rounding because one linear sketch serves all, and N times faster.
    """

    recovery: Recovery
    rate: float
    channel_noise: float = 0.0
    feedback: Feedback = "subtract"
    momentum: float = 0.0
    clients: Clients = "each"

    def __post_init__(self) -> None:
        if not 0 < self.rate < float("inf"):
            raise ValueError(f"rate={self.rate} must be > 0 and finite")
        if not 0 <= self.channel_noise < float("inf"):
            raise ValueError(f"channel_noise={self.channel_noise} must be >= 0 and finite")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum={self.momentum} must satisfy 0 <= momentum < 1")
        for name, value, known in (
            ("feedback", self.feedback, get_args(Feedback)),
            ("clients", self.clients, get_args(Clients)),
        ):
            if value not in known:
                raise ValueError(f"{name}={value} is unknown; choose one of {', '.join(known)}")

    def run(
        self,
        objective: Problem,
        sketch: Sketch,
        seed: int,
        *,
        trials: int,
        rounds: int,
        after: Step | None = None,
    ) -> Iterator[Step]:
        """States after 0 to `rounds` rounds of so many independent trials, all with the one Φ = `sketch`.

        Trials differ in the noise of gradients and channel, which follows from the seed and the round only: two
        algorithms with the same seed meet the same. after: a state to go on from, which is the first one then;
        the states are the same as if nothing had been stopped. Raises ValueError where sketch and objective don't fit,
        TypeError for zeroing the cells of a sketch that has none. Memory: O(trials clients d), with
        clients=mean O(trials d).
        """
        if sketch.d != objective.d:
            raise ValueError(f"the sketch's d={sketch.d} must be the objective's, {objective.d}")
        if trials < 1 or rounds < 0:
            raise ValueError(f"trials={trials} must be >= 1, and rounds={rounds} >= 0")
        if self.feedback == "zero" and not isinstance(sketch, Scattered):
            raise TypeError(
                f"feedback=zero needs a sketch whose coordinates have cells, not "
                f"{type(sketch).__name__}; choose a CountSketch, or feedback=subtract"
            )
        kernels = objective.kernels
        xp = kernels.xp
        if after is None:
            w = xp.repeat(kernels.asarray(objective.start)[None], trials, axis=0)
            nothing = xp.zeros((trials, sketch.b))
            after = Step(0, w, nothing, nothing, None, 0, 0)
        yield after
        for _ in range(after.t, rounds):
            after = self._next(objective, sketch, seed, after)
            yield after

    def _next(self, objective: Problem, sketch: Sketch, seed: int, at: Step) -> Step:
        """The state one round later."""
        kernels = objective.kernels
        gradient, message, size = self._messages(objective, sketch, at.w, seed, at.t)
        fresh = kernels.xp.zeros_like(message)
        if self.channel_noise:
            random = seeds.generator(seed, noise="channel", round=at.t)
            fresh = self.channel_noise * kernels.asarray(random.standard_normal(message.shape))
        mean, noise = gradient, fresh
        if at.sent is not None:
            mean = mean + self.momentum * at.sent.gradient
            noise = noise + self.momentum * at.sent.noise
        received = message + fresh + self.momentum * at.received
        z = self.rate * received + at.error
        step = self.recovery.recover(sketch, z).x
        error = self._kept(sketch, z, step)
        sent = Sent(mean, noise, z, step)
        up, down = at.bytes_up + size, at.bytes_down + _bytes_of_sparse(step[0])
        return Step(at.t + 1, at.w - step, error, received, sent, up, down)

    def _messages(self, objective: Problem, sketch: Sketch, w: Array, seed: int, t: int) -> tuple[Array, Array, int]:
        """The clients' mean gradient (trials, d), the mean of their messages (trials, b), and the bytes of one."""
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

    def _kept(self, sketch: Sketch, z: Array, step: Array) -> Array:
        """ε of the next round."""
        if self.feedback == "none":
            return 0 * z
        recovered = sketch.sketch(step, check_finite=False)
        return z - recovered if self.feedback == "subtract" else z * (recovered == 0)


def _bytes_of_sparse(step: Array) -> int:
    """Of a step as it is sent: its nonzeros with their places, or all of it where that is shorter."""
    places = step.nonzero()[0].astype("int32")
    return min(places.nbytes + step[places].nbytes, step.nbytes)


class Tracked(NamedTuple):
    """tang2021 Lemma 1's vectors of a round: p, what the server would recover, and e, what it carries
    over after it, both (T_r, d)."""

    p: Array
    e: Array


def tracked(
    steps: Iterator[Step], algorithm: CompressedSensingSGD, sketch: Sketch
) -> Iterator[tuple[Step, Tracked | None]]:
    """The same steps, each with p and e of the last round, by the recursion of tang2021 Lemma 1.

    They follow from what the server does not know, the mean gradient. None at t = 0. One desketch a round
    where the channel is noisy.
    """
    e: Array = 0.0
    for at in steps:
        if at.sent is None:
            yield at, None
            continue
        p = algorithm.rate * at.sent.gradient + e
        e = p - at.sent.step
        if algorithm.channel_noise:
            heard = sketch.desketch(at.sent.noise, check_finite=False)
            e = e + algorithm.rate * sketch.b / sketch.d * heard
        yield at, Tracked(p, e)
