"""A network as a function of flat weights: its gradients, its batches, and what is not known of it."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import vector_to_parameters

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset import digits, partition, synthetic
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.model.networks import mlp
from sketchbench.learning.model.residual import residual
from sketchbench.learning.objective.network import Network

RESIDUAL = functools.partial(residual, blocks=1, dropout=0.0)
DROPPING = functools.partial(residual, blocks=1, dropout=0.5)


@functools.cache
def images() -> Dataset:
    """Noise, where the maximum of a pool is never shared."""
    data = synthetic.load("cifar10", train=60, test=10)
    pixels = np.random.default_rng(0).integers(0, 256, (60, 3, 32, 32), dtype=np.uint8)
    return replace(data, train=Split(pixels, data.train.labels))


def network(**change: Any) -> Network:
    given: dict[str, Any] = {
        "data": images(),
        "model": RESIDUAL,
        "partition": functools.partial(partition.iid, clients=5),
        "batch": 4,
    }
    return Network(kernels.load("numba"), 1, **(given | change))


def small(**change: Any) -> Network:
    given = {
        "data": digits.load(),
        "model": functools.partial(mlp, hidden=(6,)),
        "partition": functools.partial(partition.iid, clients=7),
    }
    return network(**(given | change))


def by_hand(own: Network, data: Dataset, batch: np.ndarray) -> np.ndarray:
    model = RESIDUAL(data.shape, data.classes)
    vector_to_parameters(torch.tensor(own.start).float(), model.parameters())
    pixels = torch.tensor(data.train.images[batch]).float() / data.white
    loss = nn.functional.cross_entropy(model(pixels), torch.tensor(data.train.labels[batch]))
    loss.backward()
    slopes = [value.grad.flatten() for value in model.parameters() if value.grad is not None]
    return torch.cat(slopes).double().numpy()


def test_stochastic_gradients_are_those_of_clients_on_their_own() -> None:
    """With batch normalisation by the client's batch alone."""
    own = network()
    _, batches, _ = own._draw(seeds.generator(3))
    expected = np.array([by_hand(own, images(), batch) for batch in batches])
    w = own.start[None]
    mean = own.stochastic_gradient(w, seeds.generator(3))[0]
    np.testing.assert_allclose(mean, expected.mean(axis=0), atol=2e-6)
    shared = np.broadcast_to(w[:, None], (1, 5, own.d))
    each = own.stochastic_gradients(shared, seeds.generator(3))[0]
    np.testing.assert_allclose(each, expected, atol=2e-6)


def test_convolutions_are_of_float32(kernels: Kernels) -> None:
    """On every device: numbers of 11 bits, which cuDNN takes by itself, would be 3e-4 off."""
    given: dict[str, Any] = {"partition": functools.partial(partition.iid, clients=5), "batch": 4}
    own = Network(kernels, 1, data=images(), model=RESIDUAL, **given)
    _, batches, _ = own._draw(seeds.generator(3))
    w = np.asarray(network().start[None])
    found = own.stochastic_gradient(kernels.asarray(w), seeds.generator(3))[0]
    expected = np.mean([by_hand(network(), images(), batch) for batch in batches], axis=0)
    assert np.linalg.norm(kernels.to_numpy(found) - expected) < 2e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize("make", [small, network])
def test_gradients_are_differences_of_the_loss(make: Any) -> None:
    own = make()
    direction = np.random.default_rng(1).standard_normal(own.d)
    direction *= 0.02 / np.linalg.norm(direction) * own.d**0.5
    w, step = own.start, 0.05
    difference = (own.loss(w + step * direction) - own.loss(w - step * direction)) / (2 * step)
    slope = own.gradient(w) @ direction
    assert slope == pytest.approx(float(difference), rel=0.02, abs=2e-4)
    every = own.gradients(np.repeat(w[None], own.clients, axis=0))
    np.testing.assert_allclose(every.mean(axis=0), own.gradient(w), atol=2e-6)


def test_stochastic_gradients_have_the_gradient_as_their_mean() -> None:
    """Of 4,000 draws, within 6 standard errors in every coordinate; half of the clients take part in each."""
    own = small(participation=0.5)
    w = np.repeat(own.start[None], 4000, axis=0)
    draws = own.stochastic_gradient(w, seeds.generator(5))
    away = abs(draws.mean(axis=0) - own.gradient(own.start))
    assert (away <= 6 * draws.std(axis=0) / 4000**0.5 + 1e-7).all()
    assert draws.std(axis=0).max() > 0.01


def test_batches_come_from_the_clients_that_take_part() -> None:
    own = small(participation=0.3, batch=3)
    seen = set()
    for t in range(40):
        clients, batches, _ = own._draw(seeds.generator(0, round=t))
        assert len(clients) == len(set(clients.tolist())) == 2
        for client, batch in zip(clients, batches, strict=True):
            assert len(set(batch.tolist())) == 3
            assert set(batch.tolist()) <= set(own._parts[client].tolist())
        seen |= set(clients.tolist())
    assert seen == set(range(7))


def test_clients_of_unequal_size() -> None:
    own = small(partition=functools.partial(partition.dirichlet, clients=4, alpha=0.5))
    sizes = {len(part) for part in own._parts}
    assert len(sizes) > 1
    every = own.gradients(np.repeat(own.start[None], 4, axis=0))
    np.testing.assert_allclose(every.mean(axis=0), own.gradient(own.start), atol=1e-6)


def test_dropout_follows_from_the_generator_and_leaves_torchs_own_alone() -> None:
    own = network(model=DROPPING)
    w = own.start[None]
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, again = (own.stochastic_gradient(w, seeds.generator(3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert torch.equal(torch.get_rng_state(), before)
    other = network().stochastic_gradient(w, seeds.generator(3))
    assert abs(first - other).max() > 1e-3
    np.testing.assert_array_equal(own.gradient(own.start), network().gradient(own.start))


def test_scores_are_a_function_of_the_weights() -> None:
    """Not of what was trained or evaluated before; test images do not see each other."""
    own = network()
    test = torch.tensor(images().test.images)
    first = own.scores(own.start, test)
    own.stochastic_gradient(own.start[None] + 0.1, seeds.generator(3))
    own.scores(own.start + 0.1, test)
    assert torch.equal(own.scores(own.start, test), first)
    torch.testing.assert_close(own.scores(own.start, test[:3]), first[:3])


def test_inputs() -> None:
    """`unit` divides by white; `centred` takes the channel's mean off."""
    data = images()
    unit, centred = network(), network(inputs="centred")
    at = np.arange(4)
    plain = torch.tensor(data.train.images[at]).float()
    torch.testing.assert_close(unit._images(at), plain / 255)
    means = torch.tensor(data.train.images.mean(axis=(0, 2, 3))).float()
    torch.testing.assert_close(centred._images(at), plain - means[:, None, None])


def test_mixed_precision_is_near_the_single_one() -> None:
    w, random = network().start[None], seeds.generator
    single, mixed = (
        network(precision=precision).stochastic_gradient(w, random(3)) for precision in ("float32", "bfloat16")
    )
    away = np.linalg.norm(single - mixed) / np.linalg.norm(single)
    assert 1e-4 < away < 0.2


def test_a_diverged_training_is_told() -> None:
    own = small()
    with pytest.raises(FloatingPointError, match="not finite: the training has diverged"):
        own.stochastic_gradient(np.full((1, own.d), 1e30), seeds.generator(3))


def test_the_backends_agree(kernels: Kernels) -> None:
    data = digits.load()
    make = functools.partial(
        Network,
        data=data,
        model=functools.partial(mlp, hidden=(6,)),
        partition=functools.partial(partition.iid, clients=7),
        batch=4,
    )
    first, second = make(kernels, 1), small()
    w = first.kernels.asarray(first.start[None])
    found = first.stochastic_gradient(w, seeds.generator(3))
    assert isinstance(found, first.kernels.xp.ndarray)
    expected = second.stochastic_gradient(second.start[None], seeds.generator(3))
    np.testing.assert_allclose(first.kernels.to_numpy(found), expected, rtol=1e-4, atol=1e-6)


def test_a_batch_larger_than_a_client() -> None:
    with pytest.raises(ValueError, match="batch=13 must be <= 12"):
        network(batch=13)


@pytest.mark.parametrize("inputs", ["unit", "centred"])
def test_images_kept_as_inputs_change_nothing(inputs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = network(inputs=inputs)
    monkeypatch.setattr("sketchbench.learning.objective.network.KEPT", 0)
    fresh = network(inputs=inputs)
    slopes = [one.stochastic_gradient(one.start[None], np.random.default_rng(3)) for one in (kept, fresh)]
    np.testing.assert_array_equal(*slopes)
    assert slopes[0].any()
