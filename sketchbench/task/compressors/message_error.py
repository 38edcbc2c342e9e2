"""The error of one client's message, and of the mean of many clients' messages, on gradients of a network."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, Positive
from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.federated.frontier import make_federation
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.dataset.dataset import MakeDataset
from sketchbench.learning.dataset.partition import MakeParts
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch.family import SizeError

log = logging.getLogger(__name__)

ONE, MEAN = "one client", "mean of clients"


@dataclass(frozen=True)
class MessageError(Checked):
    """The first round of a compressor, compared with a reference, on the clients' gradients at random weights.

    Cases (`case`): a single client, averaged over the clients, and all clients. Rows:
        error: ‖step - mean update‖² / ‖mean update‖².
        ratio: the error of the reference over that of the compressor, of the same updates; bound: 1.
        error_larger: the number of trials in which the ratio exceeds 1; bound: 1/2.

    If the compressor refuses a budget, it has a single row `error` with the status `refused`.
    """

    compressor: MakeCompressor  # makes the compressor from `layout` and `limit`
    reference: MakeCompressor  # makes the compressor to compare with
    compressions: NonEmptyList[Positive]  # bytes of the dense float32 update over bytes that a client may send
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    partition: MakeParts  # deals records out to the clients
    batch: Count  # records of a client's gradient
    trials: AtLeastTwo  # each with weights, a partition, batches and messages

    def run(self) -> list[Row]:
        roots = [seeds.key(self.seed, task="message error", trial=number) for number in range(self.trials)]
        clients = make_federation(self.kernels, self.dataset(), self.partition, self.model, roots)
        sampling = Sampling("without_replacement", self.batch, clients.records.shape[2])
        batches = clients.batches(sampling, seeds.key(self.seed, task="message error", part="batches"), 0)
        x = clients.network.gradients(clients.start, batches, None, [None] * len(clients.layout.shapes))
        return [row for compression in self.compressions for row in self._at_budget(clients.layout, compression, x)]

    def _at_budget(self, layout: Layout, compression: float, x: Array) -> list[Row]:
        about: dict[str, Value] = {"compression": float(compression), "d": layout.d}
        limit = byte_limit(layout, compression)
        try:
            made, reference = (make(layout=layout, limit=limit) for make in (self.compressor, self.reference))
        except SizeError as error:
            return [Row("error", **about).without_number("refused", str(error))]
        if any(one is not None for one in traits.projections(made, self._at(1))):
            raise ValueError(f"{type(made).__name__} compresses the inputs of layers, and no gradients of others")
        return [row.replace(**about) for row in self._rows(made, reference, x)]

    def _rows(self, made: Compressor, reference: Compressor, x: Array) -> Iterator[Row]:
        for case in (ONE, MEAN):
            own, theirs = (self._errors(one, x, case) for one in (made, reference))
            log.info("%s: error %.3g, of the reference %.3g", case, own.mean(), theirs.mean())
            yield Row("error", case=case).mean(own)
            yield Row("ratio", case=case, bound=1.0).mean(theirs / own)
            yield Row("error_larger", case=case, bound=MEDIAN).counted(int((theirs > own).sum()), self.trials)

    def _errors(self, compressor: Compressor, x: Array, case: str) -> NDArray[np.float64]:
        """The normalised squared error of each trial, (T,)."""
        rounds = x.reshape(-1, 1, x.shape[2]) if case == ONE else x
        begun = compressor.begin(len(rounds), rounds.shape[1], self.kernels)
        step = compressor.exchange(rounds, begun, self._at(len(rounds))).step
        exact = self.kernels.to_numpy(rounds.mean(axis=1, dtype="float64"))
        off = self.kernels.to_numpy(step) - exact
        errors = (off**2).sum(axis=1) / (exact**2).sum(axis=1)
        return np.asarray(errors.reshape(self.trials, -1).mean(axis=1))

    def _at(self, trials: int) -> At:
        return At(self.kernels, seeds.key(self.seed, task="message error"), 0, trials)
