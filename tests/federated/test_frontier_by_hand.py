"""Two cells of the frontier, redone with plain torch: autograd, and loops over clients."""

import functools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sketchbench import kernels
from sketchbench.compressor.compressor import Compressor
from sketchbench.compressor.message import byte_limit
from sketchbench.compressor.quantised import Sign
from sketchbench.compressor.sparse import TopK
from sketchbench.federated.frontier import Arm, Federation, Gradients, draw_round, make_federation, train
from sketchbench.learning.dataset import digits, partition
from sketchbench.learning.model.networks import mlp
from sketchbench.privacy.sampling import Sampling

RATE, SEED, BATCH, RECORDS = 0.3, 3, 16, 110
KEPT = (3760 * 4 // 16 + 8) // 6  # entries of 4 bytes with a place of 2, in 1/16 of the bytes and 8 more


def largest(x: Tensor) -> Tensor:
    """Among equals the first, as there are many: pixels at the border of an image have the same value."""
    places = torch.sort(x.abs(), descending=True, stable=True).indices[:KEPT]
    return torch.zeros_like(x).scatter(0, places, x[places])


def signs(x: Tensor) -> Tensor:
    return x.abs().mean() * torch.where(x >= 0, 1.0, -1.0)


def redo(clients: Federation, trial: int, compress: Callable[[Tensor], Tensor], rounds: int) -> tuple[Tensor, float]:
    """The weights of a trial after so many rounds, and their accuracy."""
    inputs, labels = (torch.from_numpy(np.asarray(one)) for one in clients.train)
    model = nn.Sequential(nn.Linear(64, 50), nn.ReLU(), nn.Linear(50, 10))
    weights = torch.from_numpy(clients.start[trial].copy())
    memory = torch.zeros(10, len(weights))
    for number in range(rounds):
        drawn = draw_round(Sampling("without_replacement", BATCH, RECORDS), SEED, number, len(clients.start), 10, 10)
        sent = []
        for client in range(10):
            nn.utils.vector_to_parameters(weights, model.parameters())
            rows = torch.from_numpy(clients.records[trial, client][drawn.places[trial, client]])
            model.zero_grad()
            nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
            gradient = nn.utils.parameters_to_vector([one.grad for one in model.parameters() if one.grad is not None])
            wanted = memory[client] + RATE * gradient
            sent.append(compress(wanted))
            memory[client] = wanted - sent[-1]
        weights = weights - torch.stack(sent).mean(dim=0)
    nn.utils.vector_to_parameters(weights, model.parameters())
    tested, truth = (torch.from_numpy(np.asarray(one)) for one in clients.test)
    return weights, float((model(tested).argmax(dim=1) == truth).double().mean())


@pytest.mark.parametrize(("make", "compress", "off"), [(TopK, largest, 0.2), (Sign, signs, 1e-3)])
def test_redone(make: type[Compressor], compress: Callable[[Tensor], Tensor], off: float) -> None:
    """The same weights after a round, to rounding, and after 20, where rounding changes which entries Top-K sends,
    nearly so; and the same accuracy."""
    dealt = functools.partial(partition.one_class, clients=10, samples=RECORDS)
    data, model = digits.mixed(), functools.partial(mlp, hidden=[50])
    clients = make_federation(kernels.load("numba"), data, dealt, model, [1, 2])
    compressor = make(layout=clients.layout, limit=byte_limit(clients.layout, 16))
    arm = Arm(compressor, np.full(2, RATE, np.float32))
    gradients = Gradients(Sampling("without_replacement", BATCH, RECORDS))
    for rounds, allowed in ((1, 1e-5), (20, off)):
        (trained,) = train(clients, gradients, [arm], SEED, rounds=rounds)
        for trial in range(2):
            weights, accuracy = redo(clients, trial, compress, rounds)
            change = np.linalg.norm(weights.numpy() - clients.start[trial])
            assert np.linalg.norm(trained.w[trial] - weights.numpy()) < allowed * change
            assert trained.accuracy[trial] == pytest.approx(accuracy, abs=5 / 360)
    assert accuracy > 0.5
