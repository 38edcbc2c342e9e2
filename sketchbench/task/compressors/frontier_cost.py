"""The cost of a compressor: run time of client and server in a round, and the bytes of their memories."""

import itertools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, Positive
from sketchbench.compressor.budget import at_budget
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor, Memory
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.stacked import Batches, StackedPerceptron
from sketchbench.measure.row import Row
from sketchbench.sketch.family import SizeError

log = logging.getLogger(__name__)
GOAL = 2.0  # allowed time of a round, over the time without compression


@dataclass(frozen=True)
class FrontierCost(Checked):
    """Rounds of a perceptron's gradients on normal inputs, with the compressor and without, alternating on one machine.

    Rows:
        client_time: time of a client's gradient, message and memory, over that of its gradient and uncompressed
            message.
        round_time: time of all clients' and the server's part in a round, over that without compression; bound: 2, the
            goal.
        server_time: time in which the server computes the reply, over that without compression.
        client_memory, server_memory: bytes of the memory kept from round to round, over bytes of an update.

    Times are medians over the rounds of each round's ratio, because other work on the machine delays single rounds.
    Clients compute one after the other; work that both sides need, such as drawing an operator, counts for the side
    that does it. If the compressor refuses the budget (see `compressor.budget`), there is a single row `client_time`
    with the status `refused`.

    `budgets`: all compressions of the study; `at_budget` refuses messages that also fit a smaller budget.
    """

    compressor: MakeCompressor  # makes the compressor from `layout` and `limit`
    kernels: Kernels
    seed: int
    compression: Positive  # bytes of an update over bytes that a client may send
    budgets: NonEmptyList[Positive]
    layers: NonEmptyList[Count]  # numbers of inputs, hidden units and classes of the perceptron
    clients: Count  # of a round
    batch: Count  # records in the batch of a client
    trials: AtLeastTwo  # the number of timed rounds, after one that is not timed

    def run(self) -> list[Row]:
        layout = _perceptron(self.layers)
        try:
            compressor = at_budget(self.compressor, layout, self.compression, self.budgets)
        except SizeError as error:
            return [Row("client_time", d=layout.d).without_number("refused", str(error))]
        plain = Plain(layout, byte_limit(layout, 1))
        sides = {name: _Timed(made) for name, made in (("plain", plain), ("compressed", compressor))}
        seconds = np.array([self._round(number, layout, sides) for number in range(self.trials + 1)])[1:]
        gradient, plain_client, plain_server, client, server = seconds.T
        clients = (gradient + client) / (gradient + plain_client)
        whole = (gradient + client + server) / (gradient + plain_client + plain_server)
        memory = sides["compressed"].memory or Memory()
        return list(self._rows(layout, memory, clients, server / plain_server, whole))

    def _at(self, number: int) -> At:
        return At(self.kernels, seeds.key(self.seed, task="frontier cost"), number, 1)

    def _round(self, number: int, layout: Layout, sides: dict[str, "_Timed"]) -> tuple[float, ...]:
        """Seconds of all clients' gradients, then of clients and server, first uncompressed, then compressed."""
        random = seeds.generator(self.seed, task="frontier cost", round=number)
        shape = (1, self.clients, self.batch)
        xp = self.kernels.xp
        batches = Batches(
            xp.asarray(random.standard_normal((*shape, self.layers[0])), dtype="float32"),
            xp.asarray(random.integers(self.layers[-1], size=shape)),
            xp.full(shape, 1 / self.batch, dtype="float32"),
        )
        w = xp.asarray(0.1 * random.standard_normal((1, layout.d)), dtype="float32")
        network = StackedPerceptron(self.kernels, layout.shapes)
        gradients, taken = _time(self.kernels, partial(network.gradients, w, batches))
        return (taken, *(part for side in sides.values() for part in side.round(gradients, self._at(number))))

    def _rows(
        self,
        layout: Layout,
        memory: Memory,
        client: NDArray[np.float64],
        server: NDArray[np.float64],
        whole: NDArray[np.float64],
    ) -> Iterator[Row]:
        medians = [float(np.median(times)) for times in (client, server, whole)]
        log.info("client %.3g, server %.3g, round %.3g times as long as without compression", *medians)
        where: dict[str, Any] = {"d": layout.d, "clients": self.clients, "batch": self.batch}
        yield Row("client_time", **where).number(medians[0])
        yield Row("server_time", **where).number(medians[1])
        yield Row("round_time", bound=GOAL, **where).number(medians[2])
        yield Row("client_memory", **where).number(_nbytes(memory.clients) / self.clients / layout.nbytes)
        yield Row("server_memory", **where).number(_nbytes(memory.server) / layout.nbytes)


@dataclass
class _Timed:
    """A compressor whose rounds are timed, on the clients' and on the server's side."""

    compressor: Compressor
    memory: Memory | None = None
    _server: list[float] = field(default_factory=list)

    def round(self, x: Array, at: At) -> tuple[float, float]:
        """Run a round; return the seconds of all clients and of the server."""
        if self.memory is None:
            self.memory = self.compressor.begin(1, x.shape[1], at.kernels)
            answer = self.compressor.answer

            def timed(*arguments: Any) -> Any:
                result, taken = _time(at.kernels, partial(answer, *arguments))
                self._server.append(taken)
                return result

            object.__setattr__(self.compressor, "answer", timed)  # a frozen instance, which only this task uses
        self._server.clear()
        done, taken = _time(at.kernels, partial(self.compressor.exchange, x, self.memory, at))
        self.memory = done.memory
        server = sum(self._server)
        return taken - server, server


def _perceptron(layers: Sequence[int]) -> Layout:
    """The layout of a perceptron's parameters: a matrix and its biases for each pair of neighbouring layers."""
    return Layout(
        tuple(shape for inputs, outputs in itertools.pairwise(layers) for shape in ((outputs, inputs), (outputs,)))
    )


def _time(kernels: Kernels, compute: Callable[[], Any]) -> tuple[Any, float]:
    """Run a computation; return its result and its seconds, including those of a GPU."""
    start = time.perf_counter()
    result = compute()
    if kernels.NAME == "cupy":
        kernels.xp.cuda.Device().synchronize()
    return result, time.perf_counter() - start


def _nbytes(kept: Any) -> int:
    if kept is None:
        return 0
    if hasattr(kept, "nbytes"):
        return int(kept.nbytes)
    parts = kept.values() if isinstance(kept, dict) else kept if isinstance(kept, list | tuple) else ()
    return sum(_nbytes(part) for part in parts)
