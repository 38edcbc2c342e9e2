"""What a server and a client make of messages."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sketchbench.attack.messages import estimate_update, flatten, full_steps, step_of_other_client
from sketchbench.federated.double_blind import aggregate, broadcast, receive, respond
from sketchbench.federated.fedavg import FedAvg
from sketchbench.kernels import load
from sketchbench.learning.model import classification, sketched
from sketchbench.learning.model.blind import make_blind
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import initialise, mlp
from sketchbench.sketch import CountSketch, Family, SubsampledCosine

RATE = 0.05


def pair(family: Family | None) -> tuple[nn.Module, nn.Module]:
    make = partial(mlp, (1, 4, 4), 2, family, (6,))
    return initialise(make, 3).train(), make_blind(initialise(make, 0)).train()


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
    receive(twin, broadcast(model, 5, load("numpy")), load("numpy"))
    before = {name: value.clone() for name, value in twin.state_dict().items()}
    reply = respond(twin, 1, *batch(1), RATE)
    assert (reply.client, reply.samples) == (1, 5)
    assert all(torch.equal(value, before[name]) for name, value in twin.state_dict().items())
    seen = full_steps(twin, reply)
    for name, expected in gradients(model, *batch(1)).items():
        torch.testing.assert_close(seen[name].view_as(expected), RATE * expected, rtol=1e-4, atol=1e-6)


def test_a_single_step_is_that_of_federated_averaging() -> None:
    """One epoch in one batch."""
    model, twin = pair(CountSketch(16, 8))
    images, labels = batch(2)
    samples, algorithm = Samples(images, labels), FedAvg(RATE, batch=5, participation=1.0)
    going = algorithm.run(model, twin, samples, [np.arange(5)], 7, rounds=1, kernels=load("numpy"))
    message = next(going).broadcast
    (reply,) = next(going).replies
    receive(twin, message, load("numpy"))
    for name, step in respond(twin, 0, images, labels, RATE).steps.items():
        torch.testing.assert_close(step, reply.steps[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("family", "option"), [(None, "I"), (SubsampledCosine(16, 16), "I"), (SubsampledCosine(16, 16), "II")]
)
def test_a_client_finds_the_other_gradient_where_nothing_is_hidden(family: Family | None, option: str) -> None:
    """Plainly, or where S is invertible: the control of what it can't find otherwise."""
    model, twin = pair(family)
    old = broadcast(model, 1, load("numpy"))
    receive(twin, old, load("numpy"))
    replies = [respond(twin, client, *batch(client), RATE) for client in range(2)]
    own, truth = (full_steps(twin, reply) for reply in replies)
    aggregate(model, replies)
    new = broadcast(model, 2, load("numpy"))
    found = step_of_other_client(estimate_update(twin, old, new, option, load("numpy")), own)  # type: ignore[arg-type]
    for name in own:
        torch.testing.assert_close(found[name], truth[name], rtol=1e-3, atol=1e-6)


def test_a_client_finds_only_open_parameters_otherwise() -> None:
    model, twin = pair(CountSketch(16, 8))
    old = broadcast(model, 1, load("numpy"))
    receive(twin, old, load("numpy"))
    replies = [respond(twin, client, *batch(client), RATE) for client in range(2)]
    own, truth = (full_steps(twin, reply) for reply in replies)
    aggregate(model, replies)
    found = step_of_other_client(
        estimate_update(twin, old, broadcast(model, 2, load("numpy")), "II", load("numpy")), own
    )
    hidden = {f"{name}.weight" for name, _ in sketched.layers(model)}
    for name in own:
        relative = float((found[name] - truth[name]).norm() / truth[name].norm())
        assert (relative > 1) if name in hidden else (relative < 1e-3)


def test_flattened() -> None:
    weights = {"a": torch.ones(2, 2), "b": torch.zeros(3)}
    assert flatten(weights, ["b", "a"]).tolist() == [0, 0, 0, 1, 1, 1, 1]


def test_of_the_other_by_its_weight_in_the_mean() -> None:
    own, other = {"a": torch.tensor([1.0, 2.0])}, {"a": torch.tensor([5.0, -1.0])}
    mean = {"a": 0.75 * own["a"] + 0.25 * other["a"]}
    torch.testing.assert_close(step_of_other_client(mean, own, share=0.75), other)
