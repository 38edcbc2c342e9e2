"""What a compressor costs: the time of a round for client and server, and what each keeps in memory."""

import itertools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.compressor.budget import at_budget
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor, Memory
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.row import Row
from sketchbench.objective.stacked import Batches, StackedPerceptron
from sketchbench.parameters import Checked, Count, NonEmptyList, Positive, Several
from sketchbench.sketch.family import SizeError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FrontierCost(Checked):
    """Rounds of a perceptron's gradients on normal inputs, with the compressor and without any, in turns on one
    machine. Rows:

        client_time: of a client's gradient, message and memory, over that of the gradient and message uncompressed.
        server_time: of what the server makes of the messages, over that of their mean.
        client_memory, server_memory: bytes that are kept from round to round, over those of an update.

    Times are medians of the rounds' ratios, as other work on the machine makes single rounds late; clients compute one
    after the other, and what is shared, such as drawing an operator, counts for each side that does it. A compressor
    that has no use for the budget (see `compressor.budget`) has a row that says so.

    Arguments:
        compressor: called with a layout and a limit of bytes.
        compression: the bytes of an update over those that a client may send.
        budgets: all compressions of the study: see `at_budget` for what is refused.
        layers: inputs, hidden units and classes of the perceptron.
        clients: of a round.
        batch: records of a client's gradient.
        rounds: that are timed, after one that is not.
    """

    compressor: MakeCompressor
    kernels: Kernels
    seed: int
    compression: Positive
    budgets: NonEmptyList[Positive]
    layers: NonEmptyList[Count]
    clients: Count
    batch: Count
    rounds: Several

    def run(self) -> list[Row]:
        """Measure; the rows are those of the class."""
        layout = _perceptron(self.layers)
        try:
            compressor = at_budget(self.compressor, layout, self.compression, self.budgets)
        except SizeError as error:
            return [Row("client_time", d=layout.d).lost("refused", str(error))]
        plain = Plain(layout, byte_limit(layout, 1))
        sides = {name: _Timed(made) for name, made in (("plain", plain), ("compressed", compressor))}
        seconds = np.array([self._round(number, layout, sides) for number in range(self.rounds + 1)])[1:]
        gradient, plain_client, plain_server, client, server = seconds.T
        clients = (gradient + client) / (gradient + plain_client)
        return list(self._rows(layout, sides["compressed"].memory or Memory(), clients, server / plain_server))

    def _at(self, number: int) -> At:
        return At(self.kernels, seeds.key(self.seed, task="frontier cost"), number, 1)

    def _round(self, number: int, layout: Layout, sides: dict[str, "_Timed"]) -> tuple[float, ...]:
        """The seconds of the clients' gradients, and of client and server, without and with the compressor."""
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
        gradients, taken = _timed(self.kernels, partial(network.gradients, w, batches))
        return (taken, *(part for side in sides.values() for part in side.round(gradients, self._at(number))))

    def _rows(
        self, layout: Layout, memory: Memory, client: NDArray[np.float64], server: NDArray[np.float64]
    ) -> Iterator[Row]:
        log.info("client %.3g, server %.3g times as long as without compression", np.median(client), np.median(server))
        where: dict[str, Any] = {"d": layout.d, "clients": self.clients, "batch": self.batch}
        yield Row("client_time", **where).number(float(np.median(client)))
        yield Row("server_time", **where).number(float(np.median(server)))
        yield Row("client_memory", **where).number(_nbytes(memory.clients) / self.clients / layout.nbytes)
        yield Row("server_memory", **where).number(_nbytes(memory.server) / layout.nbytes)


@dataclass
class _Timed:
    """The rounds of one compressor, timed on either side."""

    compressor: Compressor
    memory: Memory | None = None
    _server: list[float] = field(default_factory=list)

    def round(self, x: Array, at: At) -> tuple[float, float]:
        """The seconds of the clients and of the server."""
        if self.memory is None:
            self.memory = self.compressor.begin(1, x.shape[1], at.kernels)
            answer = self.compressor.answer

            def timed(*arguments: Any) -> Any:
                result, taken = _timed(at.kernels, partial(answer, *arguments))
                self._server.append(taken)
                return result

            object.__setattr__(self.compressor, "answer", timed)  # a frozen instance of our own
        self._server.clear()
        done, taken = _timed(at.kernels, partial(self.compressor.exchange, x, self.memory, at))
        self.memory = done.memory
        server = sum(self._server)
        return taken - server, server


def _perceptron(layers: Sequence[int]) -> Layout:
    """The layout of a perceptron's parameters: a matrix and its biases for each pair of neighbouring layers."""
    return Layout(
        tuple(shape for inputs, outputs in itertools.pairwise(layers) for shape in ((outputs, inputs), (outputs,)))
    )


def _timed(kernels: Kernels, compute: Callable[[], Any]) -> tuple[Any, float]:
    """What a computation gives, and the seconds that it took, on a device, too."""
    start = time.perf_counter()
    result = compute()
    if kernels.NAME == "cupy":
        kernels.xp.cuda.Device().synchronize()
    return result, time.perf_counter() - start


def _nbytes(kept: Any) -> int:
    """Bytes of all arrays in a memory, of one trial."""
    if kept is None:
        return 0
    if hasattr(kept, "nbytes"):
        return int(kept.nbytes)
    parts = kept.values() if isinstance(kept, dict) else kept if isinstance(kept, list | tuple) else ()
    return sum(_nbytes(part) for part in parts)
