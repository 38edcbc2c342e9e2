"""Two cells of the frontier, redone with plain torch: autograd, loops over clients, topk and sign."""

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
from sketchbench.dataset import digits, partition
from sketchbench.federated.frontier import Arm, Federation, Gradients, draw_round, make_federation, train
from sketchbench.model.networks import mlp
from sketchbench.privacy.sampling import Sampling

RATE, ROUNDS, SEED, BATCH, RECORDS = 0.3, 20, 3, 16, 110
KEPT = (3760 * 4 // 16 + 8) // 6  # entries of 4 bytes with a place of 2, in 1/16 of the bytes and 8 more


def largest(x: Tensor) -> Tensor:
    places = x.abs().topk(KEPT).indices
    return torch.zeros_like(x).scatter(0, places, x[places])


def signs(x: Tensor) -> Tensor:
    return x.abs().mean() * torch.where(x >= 0, 1.0, -1.0)


def redo(clients: Federation, trial: int, compress: Callable[[Tensor], Tensor]) -> tuple[Tensor, float]:
    """The final weights of a trial, and their accuracy."""
    inputs, labels = (torch.from_numpy(np.asarray(one)) for one in clients.train)
    model = nn.Sequential(nn.Linear(64, 50), nn.ReLU(), nn.Linear(50, 10))
    weights = torch.from_numpy(clients.start[trial].copy())
    memory = torch.zeros(10, len(weights))
    for number in range(ROUNDS):
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


@pytest.mark.parametrize(("make", "compress"), [(TopK, largest), (Sign, signs)])
def test_redone(make: type[Compressor], compress: Callable[[Tensor], Tensor]) -> None:
    """The same weights after 20 rounds of ten clients of one class each, to rounding, and the same accuracy."""
    dealt = functools.partial(partition.one_class, clients=10, samples=RECORDS)
    data, model = digits.mixed(), functools.partial(mlp, hidden=[50])
    clients = make_federation(kernels.load("numba"), data, dealt, model, [1, 2])
    compressor = make(layout=clients.layout, limit=byte_limit(clients.layout, 16))
    arm = Arm(compressor, np.full(2, RATE, np.float32))
    gradients = Gradients(Sampling("without_replacement", BATCH, RECORDS))
    (trained,) = train(clients, gradients, [arm], SEED, rounds=ROUNDS)
    for trial in range(2):
        weights, accuracy = redo(clients, trial, compress)
        change = np.linalg.norm(weights.numpy() - clients.start[trial])
        assert np.linalg.norm(trained.w[trial] - weights.numpy()) < 1e-3 * change
        assert abs(trained.accuracy[trial] - accuracy) <= 1 / 360 + 1e-9
        assert accuracy > 0.3
