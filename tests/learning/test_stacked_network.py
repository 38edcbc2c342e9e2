"""Stacks of any networks: gradients as autograd has them, and as the stack of perceptrons has them."""

import numpy as np
import pytest
import torch
from torch import nn

from sketchbench import kernels as backends
from sketchbench.kernels import Kernels
from sketchbench.learning.model.networks import mlp
from sketchbench.learning.objective.stacked import Batches, StackedPerceptron, initial_weights
from sketchbench.learning.objective.stacked_network import StackedNetwork, stacked

NUMPY = backends.load("numpy")
SHAPE, CLASSES = (1, 4, 4), 3
TRIALS, CLIENTS, RECORDS = 2, 3, 4
RANDOM = np.random.default_rng(0)
BATCHES = Batches(
    RANDOM.standard_normal((TRIALS, CLIENTS, RECORDS, 16)).astype("float32"),
    RANDOM.integers(0, CLASSES, (TRIALS, CLIENTS, RECORDS)),
    RANDOM.uniform(0, 1, (TRIALS, CLIENTS, RECORDS)).astype("float32"),
)


def perceptron(shape: tuple[int, int, int], classes: int) -> nn.Module:
    return mlp(shape, classes, hidden=[5])


def convolutional(shape: tuple[int, int, int], classes: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.GELU(), nn.Flatten(), nn.Linear(8, 1 if classes == 2 else classes))


@pytest.mark.parametrize("clip", [None, 0.3])
def test_as_the_stack_of_perceptrons(clip: float | None) -> None:
    fast = stacked(NUMPY, perceptron, SHAPE, CLASSES)
    assert isinstance(fast, StackedPerceptron)
    slow = StackedNetwork(NUMPY, perceptron(SHAPE, CLASSES), SHAPE)
    assert slow.shapes == fast.shapes
    w = initial_weights(lambda: perceptron(SHAPE, CLASSES), range(TRIALS))
    found, wanted = (network.gradients(w, BATCHES, clip) for network in (slow, fast))
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    inputs, labels = BATCHES.inputs[0, 0], BATCHES.labels[0, 0]
    assert np.array_equal(slow.accuracy(w, inputs, labels), fast.accuracy(w, inputs, labels))


@pytest.mark.parametrize("clip", [None, 0.3])
def test_on_every_device(kernels: Kernels, clip: float | None) -> None:
    network, wanted = (stacked(one, convolutional, SHAPE, CLASSES) for one in (kernels, NUMPY))
    w = initial_weights(lambda: convolutional(SHAPE, CLASSES), range(TRIALS))
    there, batches = kernels.asarray(w), Batches(*map(kernels.asarray, BATCHES))
    found = kernels.to_numpy(network.gradients(there, batches, clip))
    np.testing.assert_allclose(found, wanted.gradients(w, BATCHES, clip), rtol=1e-4, atol=1e-6)
    shares = kernels.to_numpy(network.accuracy(there, batches.inputs[0, 0], batches.labels[0, 0]))
    assert np.array_equal(shares, wanted.accuracy(w, BATCHES.inputs[0, 0], BATCHES.labels[0, 0]))


@pytest.mark.parametrize("classes", [2, CLASSES])
def test_gradients_of_a_convolution(classes: int) -> None:
    network = stacked(NUMPY, convolutional, SHAPE, classes)
    assert isinstance(network, StackedNetwork)
    w = initial_weights(lambda: convolutional(SHAPE, classes), range(TRIALS))
    batches = BATCHES._replace(labels=BATCHES.labels % classes)
    model = convolutional(SHAPE, classes)
    nn.utils.vector_to_parameters(torch.from_numpy(w[1].copy()), model.parameters())
    scores = model(torch.from_numpy(batches.inputs[1, 2]).view(RECORDS, *SHAPE))
    labels = torch.from_numpy(batches.labels[1, 2])
    if classes == 2:
        losses = nn.functional.binary_cross_entropy_with_logits(scores[:, 0], labels.float(), reduction="none")
    else:
        losses = nn.functional.cross_entropy(scores, labels, reduction="none")
    (losses * torch.from_numpy(batches.shares[1, 2])).sum().backward()
    wanted = torch.cat([value.grad.ravel() for value in model.parameters() if value.grad is not None])
    np.testing.assert_allclose(network.gradients(w, batches)[1, 2], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("layer", [nn.BatchNorm2d(1), nn.Dropout(0.5)])
def test_images_that_depend_on_others(layer: nn.Module) -> None:
    make = lambda shape, classes: nn.Sequential(layer, convolutional(shape, classes))  # noqa: E731
    with pytest.raises(ValueError, match=r"with batch normalisation or dropout; take nn\.GroupNorm, and no dropout"):
        stacked(NUMPY, make, SHAPE, CLASSES)


def test_projections_are_of_dense_layers() -> None:
    network = stacked(NUMPY, convolutional, SHAPE, CLASSES)
    w = initial_weights(lambda: convolutional(SHAPE, CLASSES), range(TRIALS))
    with pytest.raises(ValueError, match="leave sketched_layers out, or take model=mlp"):
        network.gradients(w, BATCHES, projections=[np.eye(16)])
    with pytest.raises(ValueError, match="clip=0 must be > 0"):
        network.gradients(w, BATCHES, clip=0)
