"""The papers' networks: their sizes, what of them is sketched, and their initialisation."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from torch import nn

from sketchbench.attack.victim import gradient
from sketchbench.kernels import load
from sketchbench.learning.model import sketched
from sketchbench.learning.model.client_norm import normalise_by_client
from sketchbench.learning.model.initialisation import network_as_listing
from sketchbench.learning.model.networks import cnn, initialise, mlp, parameters, sigmoid_cnn
from sketchbench.learning.model.residual import residual
from sketchbench.run.config import composition
from sketchbench.sketch import CountSketch, Identity
from sketchbench.sketch.balanced import BalancedCountSketch

MNIST, CIFAR, LFW = (1, 28, 28), (3, 32, 32), (3, 64, 47)
# Weights and biases, counted by hand; the last is the number in tang2021 §4.2.
SIZES = {
    "mlp": (MNIST, 10, 784 * 200 + 200 + 200 * 200 + 200 + 2010),
    "mnist_cnn": (MNIST, 10, 832 + 51_264 + 1024 * 512 + 512 + 5130),
    "cifar10_cnn": (CIFAR, 10, 2432 + 51_264 + 204_928 + 2048 * 200 + 200 + 2010),
    "lfw_cnn": (LFW, 2, 1792 + 36_928 + 73_856 + 3072 * 32 + 32 + 1056 + 33),
    "small_mlp": ((1, 8, 8), 10, 64 * 12 + 12 + 130),
    "small_cnn": ((1, 8, 8), 10, 160 + 32 * 144 + 32 + 32 * 64 + 64 + 650),
    "sigmoid_cnn": (MNIST, 10, 312 + 2 * 3612 + 5890),
    "digits_cnn": ((1, 8, 8), 10, 2538),
    "digits_cnn_pooled": ((1, 8, 8), 10, 2538),
    "digits_cnn_norm": ((1, 8, 8), 10, 2538),
    "digits_mlp": ((1, 8, 8), 10, 64 * 50 + 50 + 510),
    "strided_cnn": (CIFAR, 10, 448 + 4640 + 18_496 + 1024 * 64 + 64 + 650),
    "residual": (CIFAR, 10, 668_426),
}
EACH = pytest.mark.parametrize("name", SIZES)


def made(name: str, **given: Any) -> nn.Module:
    with initialize_config_dir(str(composition.CONF), version_base="1.3"):
        make = instantiate(compose(f"model/{name}")["model"])
    shape, classes, _ = SIZES[name]
    return initialise(lambda: make(shape=shape, classes=classes, **given), 5)


def test_every_model_has_a_size() -> None:
    assert {path.stem for path in (composition.CONF / "model").glob("*.yaml")} == SIZES.keys()


@EACH
def test_parameters_and_scores(name: str) -> None:
    shape, classes, size = SIZES[name]
    model = made(name)
    assert parameters(model) == size
    assert all(part.training for part in model.modules())
    scores = model.eval()(torch.rand(2, *shape))
    assert scores.shape == (2, 1 if classes == 2 else classes)


@pytest.mark.parametrize("name", [name for name in SIZES if name != "residual"])
def test_all_but_the_last_layer_is_sketched(name: str) -> None:
    """At half of its inputs; with the same parameters, and the same scores in evaluation."""
    shape, _, size = SIZES[name]
    plain, model = made(name), made(name, family=CountSketch(2, 1))
    assert parameters(model) == size
    weighted = [part for part in model.modules() if isinstance(part, nn.Linear | nn.Conv2d)]
    own = [part for _, part in sketched.layers(model)]
    assert own == weighted[:-1]
    assert all(part.family.b == part.family.d // 2 == part.weight[0].numel() // 2 for part in own)
    x = torch.rand(2, *shape)
    assert torch.equal(plain.eval()(x), model.eval()(x))
    with pytest.raises(RuntimeError, match="has no sketch to train with"):
        model.train()(x)
    sketched.draw(model, 3, load("numba"))
    assert not torch.allclose(plain(x), model(x))


def test_the_identity_leaves_layers_plain() -> None:
    assert not list(sketched.layers(mlp(MNIST, 10, Identity(784, 784))))


def test_the_residual_network_refuses_a_sketch() -> None:
    with pytest.raises(ValueError, match="has no sketched layers"):
        made("residual", family=CountSketch(2, 1))


def test_the_network_that_is_inverted_has_wide_weights() -> None:
    """Uniform in [-1/2, 1/2], biases too, and the same with sketched layers."""
    plain, own = made("sigmoid_cnn"), made("sigmoid_cnn", family=CountSketch(2, 1))
    flat = nn.utils.parameters_to_vector(plain.parameters())
    assert torch.equal(flat, nn.utils.parameters_to_vector(own.parameters()))
    assert 0.49 < float(flat.detach().abs().max()) <= 0.5
    assert float(flat.detach().std()) == pytest.approx(12**-0.5, rel=0.05)


def test_pooling_and_normalisation_leave_the_weights_as_they_are() -> None:
    """The largest of 2 × 2 outputs, also at a border, in the place of a stride; normalised pixels of each image."""
    images = torch.rand(1, 1, 5, 5, generator=torch.Generator().manual_seed(0))

    def network(**given: bool) -> nn.Sequential:
        make = lambda: sigmoid_cnn((1, 5, 5), 3, filters=[2], kernel=3, strides=[2], width=0.5, **given)  # noqa: E731
        return initialise(make, 1)  # type: ignore[return-value]

    plain, pooled, norm = network(), network(pooled=True), network(norm=True)
    for one in (pooled, norm):
        for own, other in zip(plain.parameters(), one.parameters(), strict=True):
            assert torch.equal(own, other)
    whole = nn.functional.conv2d(images, plain[0].weight, plain[0].bias, padding=1).sigmoid()
    largest = nn.functional.pad(whole, (0, 1, 0, 1)).unfold(2, 2, 2).unfold(3, 2, 2).amax((4, 5))
    torch.testing.assert_close(pooled[:3](images), largest)
    normal = norm.eval()[:2](images)
    torch.testing.assert_close(normal.mean((2, 3)), torch.zeros(1, 2), atol=1e-6, rtol=0)
    torch.testing.assert_close(normal.var((2, 3), correction=0), torch.ones(1, 2), atol=1e-2, rtol=0)


def test_normalisation_hides_the_contrast_of_an_image() -> None:
    """Half the contrast has the same gradient, but for the small number that is added to the variance."""
    image, label = torch.rand(1, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double(), torch.tensor([3])
    for name, same in (("digits_cnn_norm", True), ("digits_cnn", False)):
        model = made(name).double()
        whole, half = (gradient(model, x, label) for x in (image, image / 2))
        assert (float((whole - half).norm() / whole.norm()) < 1e-3) == same


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mlp((1, 8, 8), 1), "classes=1 must be >= 2"),
        (lambda: mlp((1, 8, 8), 2.0), "classes=2.0 must be an integer"),  # type: ignore[arg-type]
        (lambda: cnn((1, 8, 8), 1, filters=[2], kernel=3, pooled=[False], hidden=[]), "classes=1 must be >= 2"),
        (
            lambda: cnn((1, 8, 8), 3, filters=[2, 2], kernel=3, pooled=[False], hidden=[]),
            r"filters=\[2, 2\] and pooled=\[False\] must be equally long",
        ),
        (
            lambda: sigmoid_cnn((1, 8, 8), 3, filters=[2], kernel=3, strides=[1, 1], width=0.5),
            r"filters=\[2\] and strides=\[1, 1\] must be equally long",
        ),
        (lambda: residual((3, 24, 24), 1), "classes=1 must be >= 2"),
        (lambda: residual((3, 24, 24), 3, blocks=-1), "blocks=-1 must be >= 0"),
        (lambda: residual((3, 24, 24), 3, dropout=1.0), "dropout=1.0 must be >= 0 and < 1"),
        (lambda: residual((3, 24, 24), 3, dropout=float("nan")), "dropout=nan must be finite"),
    ],
)
def test_networks_that_can_not_be(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_initialisation_follows_from_the_seed_alone() -> None:
    def weights(seed: int) -> torch.Tensor:
        return initialise(lambda: mlp(MNIST, 10), seed).state_dict()["1.weight"]

    before = torch.random.get_rng_state()
    first = weights(2**64 - 1)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.rand(3)
    assert torch.equal(first, weights(2**64 - 1))
    assert not torch.equal(first, weights(1))


def test_images_too_small_for_a_network() -> None:
    with pytest.raises(ValueError, match="images of 8 × 8 are too small for 2 convolutions"):
        cnn((1, 8, 8), 10, filters=[4, 4], kernel=5, pooled=[True, True], hidden=[8])


# Initial weights as the listing in zhang2021 Appendix E draws them


@pytest.mark.parametrize("family", [None, BalancedCountSketch(784, 392)])
def test_all_layers_but_the_last_are_wider(family: BalancedCountSketch | None) -> None:
    def make() -> torch.nn.Module:
        return network_as_listing(model=mlp, shape=(1, 28, 28), classes=10, family=family)

    layers = [part for part in initialise(make, 3).modules() if isinstance(part, torch.nn.Linear)]
    for layer, widened in zip(layers, [math.sqrt(3), math.sqrt(3), 1], strict=True):
        bound = widened / math.sqrt(layer.in_features)
        assert 0.95 * bound < layer.weight.abs().max() <= bound
        assert abs(layer.weight.std() / (bound / math.sqrt(3)) - 1) < 0.05


def test_a_seed_decides() -> None:
    def make() -> torch.nn.Module:
        return network_as_listing(model=mlp, shape=(1, 8, 8), classes=10, hidden=[4])

    one, two, other = (initialise(make, seed).state_dict()["1.weight"] for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


# Many clients' batches at once are normalised as each of them alone


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
