"""What a server and a client make of messages."""

import functools
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sketchbench.attack import watched_training
from sketchbench.attack.messages import estimate_update, flatten, full_steps, step_of_other_client
from sketchbench.attack.property_batches import Party, PropertyBatches
from sketchbench.attack.watched_training import Observations, Parties, Phases, WatchedTraining
from sketchbench.federated.double_blind import aggregate, broadcast, receive, respond
from sketchbench.federated.fedavg import FedAvg
from sketchbench.kernels import load
from sketchbench.learning.dataset import digits
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


# A watched training: batches, rounds, and what the attackers collect


BATCHES = PropertyBatches(property_classes=[0, 1], positive=2, share=0.5, batch=16)
PHASES = Phases(warm_up=3, fit_rounds=5, test_rounds=20)
NETWORK = functools.partial(mlp, (1, 8, 8), 2, hidden=(8,))
TRAINING = WatchedTraining(NETWORK, CountSketch(64, 32), load("numba"), BATCHES, PHASES, rate=0.01)
WEIGHTS = 64 * 8, 64 * 8 + 8 + 8 * 2 + 2  # of the sketched layer, and all


def run(blind: bool) -> dict[str, Observations]:
    data, random = digits.load(), np.random.default_rng(0)
    images = torch.from_numpy(data.train.images).float() / data.white
    thirds = np.array_split(np.arange(len(images)), 3)
    parties = Parties(*(Party(images[part], data.train.labels[part], BATCHES, random) for part in thirds))
    return TRAINING.run(parties, BATCHES.truth(PHASES.rounds, random), 7, blind=blind)


def test_batches() -> None:
    data = digits.load()
    images = torch.from_numpy(data.train.images).float()
    batches = PropertyBatches([0, 1], positive=2, share=0.3, batch=16)
    party = Party(images, data.train.labels, batches, np.random.default_rng(0))
    known = {image.numpy().tobytes(): label for image, label in zip(images, data.train.labels, strict=True)}
    for kind, count in ((True, 5), (False, 0)):
        drawn, labels = party.draw(kind)
        classes = np.array([known[image.numpy().tobytes()] for image in drawn])
        assert np.isin(classes, [0, 1]).sum() == count
        assert len(drawn) == 16
        assert (labels.numpy() == classes % 2).all()


def test_which_batches_have_the_property() -> None:
    """Two of every ten, at random places: the round alone says nothing."""
    first, second = (BATCHES.truth(1000, np.random.default_rng(seed)) for seed in (0, 1))
    assert (first.reshape(-1, 10).sum(axis=1) == 2).all()
    assert not np.array_equal(first, second)
    places = first.reshape(-1, 10).mean(axis=0)
    assert places.min() > 0.05
    assert places.max() < 0.4
    assert len(BATCHES.truth(28, np.random.default_rng(0))) == 28


def test_what_attackers_of_plain_training_collect() -> None:
    observations = run(blind=False)
    assert observations.keys() == {"plain server", "iterative sketching", "compressed sensing", "plain client"}
    for attacker, one in observations.items():
        assert one.cases.keys() == {attacker}
        assert (len(one.own), sum(one.labels), len(one.cases[attacker])) == (50, 10, 20)
        size = WEIGHTS[1] if attacker != "compressed sensing" else WEIGHTS[1] // 2
        assert {len(features) for features in (*one.own, *one.cases[attacker])} == {size}


def test_nothing_is_hidden_from_the_client_of_plain_training() -> None:
    observations = run(blind=False)
    server, client = (torch.stack(observations[name].cases[name]) for name in ("plain server", "plain client"))
    torch.testing.assert_close(client, server, rtol=1e-2, atol=1e-6)


def test_what_attackers_of_double_blind_training_collect() -> None:
    observations = run(blind=True)
    sizes = {"server": WEIGHTS[0], "server, whole reply": WEIGHTS[1], "client": WEIGHTS[0]}
    sizes |= {"client, remembering": WEIGHTS[0], "client, open parameters": WEIGHTS[1] - WEIGHTS[0]}
    assert observations.keys() == sizes.keys()
    assert observations["client"].cases.keys() == {"client option I", "client option II"}
    for attacker, one in observations.items():
        assert (len(one.own), sum(one.labels)) == (50, 10)
        for features in one.cases.values():
            assert [len(x) for x in features] == [sizes[attacker]] * 20
    server = torch.stack(observations["server, whole reply"].cases["server, whole reply"])[:, WEIGHTS[0] :]
    client = torch.stack(observations["client, open parameters"].cases["client, open parameters"])
    torch.testing.assert_close(client, server, rtol=1e-2, atol=1e-6)  # the open parameters are known to both


@pytest.mark.parametrize("blind", [False, True])
def test_the_rounds(monkeypatch: pytest.MonkeyPatch, blind: bool) -> None:
    """It learns in rounds 3 to 7 and is tested in those after them, with sketches from the first of these rounds on."""
    observer = watched_training._BlindObserver if blind else watched_training._PlainObserver
    events: list[str] = []
    for name in ("operators", "learn", "test_server", "test_client"):
        inner = getattr(observer, name)

        def spy(self: object, *given: object, inner: object = inner, name: str = name) -> object:
            events.append(f"{name} {given[0]}" if name == "operators" else name)
            return inner(self, *given)  # type: ignore[operator]

        monkeypatch.setattr(observer, name, spy)
    run(blind)
    expected = []
    for t in range(3, 28):
        expected += [f"operators {t}", *(["learn"] * 20 if t < 8 else ["test_server", "test_client"])]
    assert events == expected


def test_refused_phases_and_parties() -> None:
    with pytest.raises(ValueError, match="positive=10 must be >= 1 and <= 9"):
        PropertyBatches(property_classes=[0], positive=10, share=0.5, batch=4)
    with pytest.raises(ValueError, match="test_rounds=9 must be >= 10"):
        Phases(warm_up=0, fit_rounds=1, test_rounds=9)
    images, classes = torch.zeros(4, 1, 2, 2), np.array([0, 2, 2, 3])
    with pytest.raises(ValueError, match="a party has 1 images with the property and 3 without; it needs 8 and 16"):
        Party(images, classes, BATCHES, np.random.default_rng(0))
