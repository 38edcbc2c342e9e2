"""Networks of any layers side by side, held against the stack of perceptrons with its own backpropagation."""

import functools

import numpy as np
import pytest
from torch import nn

from sketchbench import kernels
from sketchbench.model.networks import mlp, strided_cnn
from sketchbench.objective.stacked import Batches, StackedPerceptron, of_model
from sketchbench.objective.stacked_module import StackedModule, stacked_network

NUMPY = kernels.load("numpy")
SHAPE = (1, 4, 4)


def batches(random: np.random.Generator) -> Batches:
    """Of two clients in each of three trials, with records of different shares."""
    inputs = random.standard_normal((3, 2, 5, 16)).astype(np.float32)
    shares = random.uniform(0, 1, (3, 2, 5)).astype(np.float32)
    return Batches(inputs, random.integers(3, size=(3, 2, 5)), shares)


def test_it_computes_what_a_stack_of_perceptrons_does() -> None:
    model, random = mlp(SHAPE, 3, hidden=(7, 6)), np.random.default_rng(0)
    fast, any_layers = of_model(NUMPY, model), StackedModule(NUMPY, model, SHAPE)
    w = random.standard_normal((3, fast.d)).astype(np.float32)
    drawn = batches(random)
    assert any_layers.shapes == fast.shapes
    assert any_layers.d == fast.d
    for some in (drawn, drawn.merge()):
        np.testing.assert_allclose(any_layers.gradients(w, some), fast.gradients(w, some), rtol=1e-4, atol=1e-5)
    inputs, labels = drawn.inputs[0, 0], drawn.labels[0, 0]
    np.testing.assert_array_equal(any_layers.accuracy(w, inputs, labels), fast.accuracy(w, inputs, labels))


def test_gradients_are_slopes_of_convolutions() -> None:
    """Along a direction, by differences of the loss; the labels are all classes, so that every output counts."""
    make = functools.partial(strided_cnn, filters=(2, 3), kernel=3, strides=(1, 2), hidden=(4,))
    network, random = stacked_network(NUMPY, make, SHAPE, 3), np.random.default_rng(1)
    assert isinstance(network, StackedModule)
    w = (0.5 * random.standard_normal((3, network.d))).astype(np.float32)
    along = random.standard_normal(network.d).astype(np.float32)
    drawn = batches(random)
    slope = network.gradients(w, drawn)[1, 1] @ along
    step = 1e-3

    def loss(v: np.ndarray) -> float:
        scores = network._scores(list(network._parts(v)), network._tensor(drawn.inputs[1, 1])).detach().numpy()
        scores = scores.astype(np.float64)
        lost = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(5), drawn.labels[1, 1]]
        return float(lost @ drawn.shares[1, 1])

    assert slope == pytest.approx((loss(w[1] + step * along) - loss(w[1] - step * along)) / (2 * step), rel=0.02)


def test_perceptrons_have_their_own_stack() -> None:
    assert isinstance(stacked_network(NUMPY, functools.partial(mlp, hidden=(4,)), SHAPE, 3), StackedPerceptron)


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(16), nn.Dropout()])
def test_layers_with_state_are_refused(layer: nn.Module) -> None:
    def make(shape: object, classes: int) -> nn.Module:
        return nn.Sequential(nn.Flatten(), layer, nn.Linear(16, classes))

    with pytest.raises(ValueError, match=r"without state and randomness, and Sequential has (1\.running_mean|Dropout)"):
        stacked_network(NUMPY, make, SHAPE, 3)


def test_what_needs_a_perceptron_is_refused() -> None:
    make = functools.partial(strided_cnn, filters=(2,), kernel=3, strides=(1,), hidden=())
    network, drawn = stacked_network(NUMPY, make, SHAPE, 3), batches(np.random.default_rng(2))
    w = np.zeros((3, network.d), np.float32)
    with pytest.raises(ValueError, match=r"clip=1\.0 needs the gradient of each record"):
        network.gradients(w, drawn, 1.0)
    with pytest.raises(ValueError, match="sketched layers need a perceptron"):
        network.gradients(w, drawn, projections=[np.eye(16, dtype=np.float32)])
