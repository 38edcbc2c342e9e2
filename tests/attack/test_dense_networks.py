"""Networks side by side that take steps, against torch's own."""

import copy

import pytest
import torch
from torch import nn

from sketchbench.attack.dense_networks import DenseNetworks, DrawnBatch, LocalSteps
from sketchbench.learning.model.networks import initialise, mlp

RATE, STEPS = 0.3, 3


def networks() -> list[nn.Module]:
    return [initialise(lambda: mlp(shape=(1, 2, 3), classes=4, hidden=[5]), seed) for seed in range(2)]


def descended(network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> nn.Module:
    network = copy.deepcopy(network)
    descent = torch.optim.SGD(network.parameters(), RATE)
    for _ in range(STEPS):
        descent.zero_grad()
        nn.functional.cross_entropy(network(images), labels).backward()
        descent.step()
    return network


def flat(network: nn.Module) -> torch.Tensor:
    return nn.utils.parameters_to_vector(network.parameters()).detach()


def test_steps_are_those_of_descent() -> None:
    """Each client of each network trains by itself; a training takes the same steps on given batches."""
    generator = torch.Generator().manual_seed(0)
    images, labels = torch.rand(2, 3, 2, 6, generator=generator), torch.randint(4, (2, 3, 2), generator=generator)
    local = LocalSteps(DenseNetworks(networks()), STEPS, RATE).gradients(images, labels)
    for trial, network in enumerate(networks()):
        for client in range(3):
            own, truth = images[trial, client].view(-1, 1, 2, 3), labels[trial, client]
            after = descended(network, own, truth)
            expected = (flat(network) - flat(after)) / (RATE * STEPS)
            torch.testing.assert_close(local[trial, client], expected, rtol=1e-4, atol=1e-6)
    batches = [x[:, 0].expand(STEPS, *x[:, 0].shape) for x in (images, labels)]
    trained = DenseNetworks(networks()).trained(batches[0], batches[1], RATE)
    shown, truth = torch.rand(50, 6, generator=generator), torch.randint(4, (50,), generator=generator)
    for trial, network in enumerate(networks()):
        after = descended(network, images[trial, 0].view(-1, 1, 2, 3), labels[trial, 0])
        share = (after(shown.view(-1, 1, 2, 3)).argmax(dim=1) == truth).double().mean()
        assert float(trained.accuracies(shown, truth)[trial]) == pytest.approx(float(share))


def test_an_update_of_a_drawn_batch() -> None:
    """It is that of the images in these places, in each trial others, after local steps, too."""
    generator = torch.Generator().manual_seed(0)
    images, labels = torch.rand(2, 3, 4, 6, generator=generator), torch.randint(4, (2, 3, 4), generator=generator)
    places = torch.tensor([[0, 3], [2, 1]])
    for whole in (DenseNetworks(networks()), LocalSteps(DenseNetworks(networks()), STEPS, RATE)):
        drawn = DrawnBatch(whole, places)
        own = [torch.stack([x[t][:, places[t]] for t in range(2)]) for x in (images, labels)]
        torch.testing.assert_close(drawn.gradients(images, labels), whole.gradients(*own))
        (slope,) = torch.autograd.grad(drawn.gradients(images.requires_grad_(), labels).square().sum(), images)
        seen = slope.abs().sum(dim=(1, 3)) > 0
        assert seen.tolist() == [[True, False, False, True], [False, True, True, False]]
        images = images.detach()
        everything = DrawnBatch(whole, torch.arange(4).expand(2, -1))
        torch.testing.assert_close(
            everything.gradients(images, labels), whole.gradients(images, labels), rtol=0, atol=0
        )
    with pytest.raises(ValueError, match="places"):
        DrawnBatch(DenseNetworks(networks()), places[:1])


def test_steps_without_biases() -> None:
    bare = DenseNetworks(networks()).without_biases()
    zeros = torch.zeros(2, 1, 1, 6)
    assert not bare.gradients(zeros, torch.zeros(2, 1, 1, dtype=torch.long))[:, :, :30].any()
    assert bare.accuracies(zeros[0, 0], torch.zeros(1, dtype=torch.long)).tolist() == [1, 1]  # all scores are equal
