"""Many clients' batches at once are normalised as each of them alone."""

import torch
from torch import nn

from sketchbench.learning.model.client_norm import normalise_by_client
from sketchbench.learning.model.residual import residual


def test_each_client_has_its_own_mean_and_variance() -> None:
    torch.manual_seed(0)
    images = torch.randn(6, 4, 3, 3) * torch.tensor([1.0, 1, 5, 5, 9, 9])[:, None, None, None] + 2
    plain = nn.Sequential(nn.BatchNorm2d(4))
    with torch.no_grad():
        plain[0].weight.uniform_()
        plain[0].bias.uniform_()
    alone = torch.cat([plain(part) for part in images.split(2)])
    (layer,) = normalise_by_client(plain)
    layer.batch = 2
    torch.testing.assert_close(plain(images), alone)
    layer.batch = 6
    assert not torch.allclose(plain(images), alone, atol=0.1)


def test_training_leaves_evaluation_alone_and_measuring_averages_clients() -> None:
    torch.manual_seed(0)
    images = torch.randn(6, 4, 3, 3) * 3 + 1
    model = nn.Sequential(nn.BatchNorm2d(4))
    (layer,) = normalise_by_client(model)
    layer.batch = 2
    model(images)
    assert (layer.running_mean == 0).all()
    layer.measuring = True
    model(images)
    means = torch.stack([part.mean(dim=(0, 2, 3)) for part in images.split(2)])
    variances = torch.stack([part.var(dim=(0, 2, 3)) for part in images.split(2)])
    torch.testing.assert_close(layer.running_mean, means.mean(dim=0))
    torch.testing.assert_close(layer.running_var, variances.mean(dim=0))
    scaled = (images - means.mean(dim=0)[:, None, None]) / (variances.mean(dim=0) + layer.eps)[:, None, None] ** 0.5
    torch.testing.assert_close(model.eval()(images), scaled)


def test_every_layer_is_replaced_and_parameters_keep_their_names() -> None:
    model = residual((3, 32, 32), 10)
    before = {name: value.shape for name, value in model.named_parameters()}
    assert len(normalise_by_client(model)) == 16
    assert {name: value.shape for name, value in model.named_parameters()} == before
