"""Federated averaging of small perceptrons in many trials: the clients of all trials train as a stack."""

import itertools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sketchbench.federated.curve import Curve
from sketchbench.federated.double_blind import BlindReply, Weights, receive
from sketchbench.federated.fedavg import FedAvgRound
from sketchbench.federated.fedavg_experiment import FedAvgExperiment, Successive
from sketchbench.learning.model.autograd import sketch
from sketchbench.learning.model.dense import is_perceptron
from sketchbench.learning.model.sketched import operators
from sketchbench.learning.objective.stacked import Batches, StackedPerceptron, of_model

log = logging.getLogger(__name__)
LARGEST = 2**16  # most weights of a network whose steps take longer to call than to compute
FEWEST = 8  # trials; fewer are trained one by one, and so is a trial that is a run by itself
TOGETHER = 12  # clients in a stack, whose weights fit into a processor's cache


class Client(NamedTuple):
    """A client in one round of one trial."""

    trial: int
    number: int
    weights: Weights  # the broadcast's, by parameter
    inputs: NDArray[np.float32]  # of all its samples, through the first layer's sketch, float32 (n, p)
    labels: NDArray[np.int64]  # (n,)
    orders: NDArray[np.int64]  # of the samples in each epoch, (epochs, n)
    projections: list[NDArray[np.float32] | None]  # of `StackedPerceptron.gradients`, (inputs after sketch, before)


def can_stack(experiment: FedAvgExperiment, trials: int) -> bool:
    """Return whether `train_stack` takes so many experiments of this kind. It needs plain steps in the sketched space,
    a perceptron of at most LARGEST weights, and a CPU, without checkpoints, to the last round, with all evaluated."""
    how = experiment.procedure
    steps = (how.local_step, how.momentum, how.optimiser, how.precision) == ("sketch", 0, "sgd", "float32")
    if trials < FEWEST or not steps or experiment.kernels.NAME == "cupy":
        return False
    if any(setting is not None for setting in (experiment.course.checkpoints, experiment.target, experiment.evaluated)):
        return False
    model = replace(experiment, family=None).make()
    if not is_perceptron(model):
        return False
    network = of_model(experiment.kernels, model)
    return network.d <= LARGEST and network.shapes[-1] == (experiment.data.classes,)


def train_stack(trials: Sequence[FedAvgExperiment]) -> list[Curve]:
    """Run experiments that differ in seed and name only; curves equal `Experiment.run` up to float32 rounding."""
    started = [trial.rounds_from() for trial in trials]
    curves = [Curve() for _ in trials]
    before: list[FedAvgRound | None] = [None] * len(trials)
    replies: list[list[BlindReply] | None] = [None] * len(trials)
    for t in range(trials[0].rounds + 1):
        now = [rounds.send(given) for rounds, given in zip(started, replies, strict=True)]
        for trial, last, current, curve in zip(trials, before, now, curves, strict=True):
            trial.evaluate(Successive(t, last, current), curve)
        log.info("round %d of %d of %d trainings", t, trials[0].rounds, len(trials))
        before = [*now]
        if t < trials[0].rounds:
            replies = [*_train(trials, now)]
    return curves


def _train(trials: Sequence[FedAvgExperiment], now: Sequence[FedAvgRound]) -> list[list[BlindReply]]:
    clients = [
        client for number, pair in enumerate(zip(trials, now, strict=True)) for client in _clients(number, *pair)
    ]
    replies: dict[tuple[int, int], BlindReply] = {}
    clients.sort(key=lambda client: len(client.labels))
    for _, alike in itertools.groupby(clients, key=lambda client: len(client.labels)):
        several = list(alike)
        for start in range(0, len(several), TOGETHER):
            some = several[start : start + TOGETHER]
            for client, reply in zip(some, _train_clients(trials[0], some), strict=True):
                replies[client.trial, client.number] = reply
    return [[replies[place] for place in sorted(replies) if place[0] == trial] for trial in range(len(trials))]


def _clients(trial: int, experiment: FedAvgExperiment, at: FedAvgRound) -> Iterator[Client]:
    algorithm, parts, train = experiment.algorithm, experiment.parts, experiment.data.train
    receive(experiment.twin, at.broadcast, experiment.kernels)
    through = operators(experiment.twin)
    first, *others = at.broadcast.weights
    dense = {name: through[name].materialize().astype(np.float32) for name in others if name in through}
    projections = [None, *(dense.get(name) for name in others)]
    for number in algorithm.choose_clients(len(parts), experiment.seed, at.t):
        part = parts[number]
        _, orders = algorithm.draw_local(len(part), experiment.seed, at.t, number)
        inputs = torch.tensor(train.images[part]).float().flatten(1) / experiment.data.white
        seen = sketch(through[first], inputs) if first in through else inputs
        own = seen.numpy(), train.labels[part], np.stack(orders)
        yield Client(trial, number, at.broadcast.weights, *own, projections)


def _train_clients(experiment: FedAvgExperiment, clients: Sequence[Client]) -> Iterator[BlindReply]:
    """Train clients with equally many samples, and yield their replies."""
    shapes = tuple(tuple(value.shape) for value in clients[0].weights.values())
    network = StackedPerceptron(experiment.kernels, shapes)
    w = np.stack([torch.cat([value.flatten() for value in one.weights.values()]).numpy() for one in clients])
    inputs, labels, orders = (
        np.stack(several) for several in zip(*((one.inputs, one.labels, one.orders) for one in clients), strict=True)
    )
    projections = [
        None if several[0] is None else np.stack(several)
        for several in zip(*(one.projections for one in clients), strict=True)
    ]
    total, own = np.zeros_like(w), np.arange(len(clients))[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # a training that diverges is evaluated, too
        for order in orders.swapaxes(0, 1):
            for start in range(0, order.shape[1], experiment.procedure.batch):
                chosen = order[:, start : start + experiment.procedure.batch]
                shares = np.full((len(w), 1, chosen.shape[1]), 1 / chosen.shape[1], dtype=np.float32)
                batch = Batches(inputs[own, chosen][:, None], labels[own, chosen][:, None], shares)
                step = network.gradients(w, batch, projections=projections)[:, 0]
                step *= np.float32(experiment.rate)
                w -= step
                total += step
    sizes = [int(np.prod(shape)) for shape in shapes]
    for client, flat in zip(clients, total, strict=True):
        parts = torch.split(torch.from_numpy(flat), sizes)
        named = zip(client.weights.items(), parts, strict=True)
        steps = {name: part.view(value.shape) for (name, value), part in named}
        yield BlindReply(client.number, len(client.labels), steps)
