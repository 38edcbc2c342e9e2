"""Property inference: what attackers see, from messages alone, and the forest."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sketchbench.attack.property import (
    RandomForest,
    client_view,
    flattened,
    of_the_other,
    server_view,
)
from sketchbench.federated.double_blind import aggregate, broadcast, receive, respond
from sketchbench.federated.fedavg import FedAvg, Samples
from sketchbench.model import classification, sketched
from sketchbench.model.blind import blinded
from sketchbench.model.networks import initialised, mlp
from sketchbench.sketch import CountSketch, Family, SubsampledCosine

RATE = 0.05


@pytest.fixture(autouse=True)
def one_torch_thread() -> None:
    torch.set_num_threads(1)


def pair(family: Family | None) -> tuple[nn.Module, nn.Module]:
    make = partial(mlp, (1, 4, 4), 2, family, (6,))
    return initialised(make, 3).train(), blinded(initialised(make, 0)).train()


def batch(seed: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(seed)
    return torch.rand(5, 1, 4, 4, generator=random), torch.randint(2, (5,), generator=random)


def gradients(model: nn.Module, images: Tensor, labels: Tensor) -> dict[str, Tensor]:
    names, parameters = zip(*model.named_parameters(), strict=True)
    loss = classification.loss(model(images), labels)
    return dict(zip(names, torch.autograd.grad(loss, parameters), strict=True))


@pytest.mark.parametrize("family", [None, CountSketch(16, 8)])
def test_the_server_sees_the_gradient_through_the_sketch(family: Family | None) -> None:
    """Γ Sᵀ is the gradient by W of a layer trained through S (zhang2021 Eq. 2), and the rest is as it is."""
    model, twin = pair(family)
    receive(twin, broadcast(model, 5, "numpy"), "numpy")
    before = {name: value.clone() for name, value in twin.state_dict().items()}
    reply = respond(twin, 1, *batch(1), RATE)
    assert (reply.client, reply.samples) == (1, 5)
    assert all(torch.equal(value, before[name]) for name, value in twin.state_dict().items())
    seen = server_view(twin, reply, RATE)
    for name, expected in gradients(model, *batch(1)).items():
        torch.testing.assert_close(seen[name], expected, rtol=1e-4, atol=1e-6)


def test_a_single_step_is_that_of_federated_averaging() -> None:
    """One epoch in one batch."""
    model, twin = pair(CountSketch(16, 8))
    images, labels = batch(2)
    samples, algorithm = Samples(images, labels), FedAvg(RATE, batch=5, participation=1.0)
    going = algorithm.run(model, twin, samples, [np.arange(5)], 7, rounds=1, kernels="numpy")
    message = next(going).broadcast
    (reply,) = next(going).replies
    receive(twin, message, "numpy")
    for name, step in respond(twin, 0, images, labels, RATE).steps.items():
        torch.testing.assert_close(step, reply.steps[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("family", "option"),
    [(None, "I"), (SubsampledCosine(16, 16), "I"), (SubsampledCosine(16, 16), "II")],
)
def test_a_client_finds_the_other_gradient_where_nothing_is_hidden(
    family: Family | None, option: str
) -> None:
    """Plainly, or where S is invertible: the control of what it can't find otherwise."""
    model, twin = pair(family)
    old = broadcast(model, 1, "numpy")
    receive(twin, old, "numpy")
    replies = [respond(twin, client, *batch(client), RATE) for client in range(2)]
    own, truth = (server_view(twin, reply, RATE) for reply in replies)
    aggregate(model, replies)
    new = broadcast(model, 2, "numpy")
    update = client_view(twin, old, new, option, "numpy")  # type: ignore[arg-type]
    found = of_the_other(update, own, RATE)
    for name in own:
        torch.testing.assert_close(found[name], truth[name], rtol=1e-3, atol=2e-5)


def test_a_client_finds_only_open_parameters_otherwise() -> None:
    model, twin = pair(CountSketch(16, 8))
    old = broadcast(model, 1, "numpy")
    receive(twin, old, "numpy")
    replies = [respond(twin, client, *batch(client), RATE) for client in range(2)]
    own, truth = (server_view(twin, reply, RATE) for reply in replies)
    aggregate(model, replies)
    found = of_the_other(
        client_view(twin, old, broadcast(model, 2, "numpy"), "II", "numpy"), own, RATE
    )
    hidden = {f"{name}.weight" for name, _ in sketched.layers(model)}
    for name in own:
        relative = float((found[name] - truth[name]).norm() / truth[name].norm())
        assert (relative > 1) if name in hidden else (relative < 1e-3)


def test_flattened() -> None:
    weights = {"a": torch.ones(2, 2), "b": torch.zeros(3)}
    assert flattened(weights, ["b", "a"]).tolist() == [0, 0, 0, 1, 1, 1, 1]


def test_the_forest() -> None:
    """It finds what is there, nothing where nothing is, and is the same for the same seed."""
    random = np.random.default_rng(0)
    labels, truth = random.random(200) < 0.2, random.random(400) < 0.2
    own, noise = random.standard_normal((2, 200, 10)).astype(np.float32)
    seen = random.standard_normal((400, 10)).astype(np.float32)
    own[:, 3] += 6 * labels
    told = seen.copy()
    told[:, 3] += 6 * truth
    forest = RandomForest(30)
    high, low = forest.area_under_roc(own, labels, [told, seen], truth, seed=1)
    assert high > 0.97
    assert abs(low - 0.5) < 0.15
    assert forest.area_under_roc(own, labels, [told], truth, seed=1) == [high]
    assert abs(forest.area_under_roc(noise, labels, [told], truth, seed=1)[0] - 0.5) < 0.15
