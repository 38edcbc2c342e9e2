"""A network is what its `forward` computes, wherever one is taken; what can't be trained is refused by name."""

import functools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from odd_networks import ODD, REFUSED, Make, flat
from torch import nn

from sketchbench import kernels
from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.federated.double_blind import respond
from sketchbench.learning.dataset import digits, partition
from sketchbench.learning.model.blind import make_blind
from sketchbench.learning.model.dense import is_perceptron
from sketchbench.learning.model.networks import initialise, mlp
from sketchbench.learning.objective.network import Network
from sketchbench.learning.objective.stacked import Batches, StackedPerceptron, initial_weights
from sketchbench.learning.objective.stacked_network import stacked

NUMPY = kernels.load("numpy")
DATA = digits.load()
IMAGES, LABELS = DATA.train.images[:12] / np.float32(DATA.white), DATA.train.labels[:12]
Slopes = NDArray[np.float32]


def by_torch(make: Make) -> tuple[nn.Module, Slopes]:
    """A network at its first weights, and the gradient of its mean loss by autograd; 0 for what it does not use."""
    model = initialise(functools.partial(make, shape=DATA.shape, classes=DATA.classes), 0)
    loss = nn.functional.cross_entropy(model(torch.tensor(IMAGES)), torch.tensor(LABELS))
    slopes = torch.autograd.grad(loss, list(model.parameters()), materialize_grads=True)
    return model, torch.cat([slope.flatten() for slope in slopes]).numpy()


def by_frontier(make: Make) -> Slopes:
    network = stacked(NUMPY, make, DATA.shape, DATA.classes)
    w = initial_weights(functools.partial(make, shape=DATA.shape, classes=DATA.classes), [0])
    records = IMAGES.reshape(1, 1, len(IMAGES), -1), LABELS[None, None]
    batches = Batches(*records, np.full((1, 1, len(IMAGES)), 1 / len(IMAGES), "float32"))
    found: Slopes = network.gradients(w, batches)[0, 0]
    clipped = network.gradients(w, batches, clip=1e9)[0, 0]
    np.testing.assert_allclose(clipped, found, rtol=1e-3, atol=1e-6)
    return found


def problem(make: Make) -> Network:
    one = functools.partial(partition.iid, clients=2)
    return Network(kernels.load("numba"), 0, data=DATA, model=make, partition=one, batch=12)


def by_training(make: Make) -> Slopes:
    """The gradient of a client's batch in compressed trainings, at the weights of `by_torch`."""
    own, model = problem(make), by_torch(make)[0]
    own._parts = [np.arange(12)] * 2
    w = np.broadcast_to(flat(model).astype("float64"), (2, own.d))
    return own.gradients(w)[0].astype("float32")


def by_fedavg(make: Make) -> Slopes:
    """A client's step of FedAvg at the rate 1."""
    twin = make_blind(by_torch(make)[0])
    steps = respond(twin, 0, torch.tensor(IMAGES), torch.tensor(LABELS), rate=1.0).steps
    assert list(steps) == [name for name, _ in twin.named_parameters()]
    return torch.cat([step.flatten() for step in steps.values()]).numpy()


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("found", [by_frontier, by_training, by_fedavg])
def test_gradients_are_those_of_forward(name: str, found: Callable[[Make], Slopes]) -> None:
    _, wanted = by_torch(ODD[name])
    assert wanted.any() or name == "Zero"
    np.testing.assert_allclose(found(ODD[name]), wanted, rtol=2e-3, atol=2e-6)


@pytest.mark.parametrize("name", ODD)
def test_scores_are_those_of_forward(name: str) -> None:
    model, _ = by_torch(ODD[name])
    images = torch.tensor(DATA.test.images[:200])
    with torch.no_grad():
        wanted = model.eval()(images.float() / DATA.white)
    found = problem(ODD[name]).scores(flat(model).astype("float64"), images)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    network = stacked(NUMPY, ODD[name], DATA.shape, DATA.classes)
    inputs = DATA.test.images[:200].reshape(200, -1) / np.float32(DATA.white)
    share = network.accuracy(flat(model)[None], inputs, DATA.test.labels[:200])
    right = (wanted.argmax(dim=1).numpy() == DATA.test.labels[:200]).mean()
    assert abs(float(share[0]) - right) < 0.011  # two near ties


@pytest.mark.parametrize("name", ODD)
def test_only_a_plain_perceptron_takes_the_fast_path(name: str) -> None:
    model = ODD[name](DATA.shape, DATA.classes)
    fast = isinstance(stacked(NUMPY, ODD[name], DATA.shape, DATA.classes), StackedPerceptron)
    assert fast == is_perceptron(model) == (name == "shared_activation")
    if not fast:
        with pytest.raises(ValueError, match="can't be stacked"):
            DenseNetworks([model])
    assert is_perceptron(mlp(DATA.shape, DATA.classes))


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_trained_is_refused_by_name(name: str) -> None:
    make, words = REFUSED[name]
    for taken in (lambda: stacked(NUMPY, make, DATA.shape, DATA.classes), lambda: problem(make)):
        with pytest.raises(ValueError, match=words):
            taken()


def test_what_the_network_is_given_stays() -> None:
    before = DATA.test.images.copy(), DATA.train.images.copy()
    for make in ODD.values():
        own = problem(make)
        own.scores(own.start, torch.tensor(DATA.test.images))
    assert np.array_equal(before[0], DATA.test.images)
    assert np.array_equal(before[1], DATA.train.images)
