"""FedAvg and its double-blind form, against transcriptions with full weights and dense matrices."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sketchbench.base import seeds
from sketchbench.federated import checkpoint
from sketchbench.federated.double_blind import estimated_weights
from sketchbench.federated.fedavg import FedAvg, FedAvgRound, FedAvgState
from sketchbench.kernels import load
from sketchbench.learning.dataset import partition
from sketchbench.learning.model import classification, sketched
from sketchbench.learning.model.blind import make_blind
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import cnn, initialise, mlp
from sketchbench.learning.model.residual import residual
from sketchbench.sketch import CountSketch, Family, Gaussian, Identity, SubsampledHadamard

NUMPY = load("numpy")
SEED, CLIENTS = 3, 4
SHAPE = (1, 4, 4)
FAMILIES: list[Family] = [CountSketch(16, 8), Gaussian(16, 5), SubsampledHadamard(16, 8)]
EACH = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family).__name__)


def data(shape: tuple[int, ...] = SHAPE, classes: int = 3, count: int = 42) -> Samples:
    random = np.random.default_rng(0)
    images = torch.from_numpy(random.random((count, *shape)))
    return Samples(images, torch.from_numpy(random.integers(0, classes, count)))


def perceptron(family: Family | None) -> nn.Module:
    return mlp(SHAPE, 3, family, hidden=(6, 5))


def made(make: Callable[[], nn.Module]) -> tuple[nn.Module, nn.Module]:
    server = initialise(make, 1).double()
    return server, make_blind(initialise(make, 2)).double()


def parts_of(samples: Samples) -> partition.Parts:
    return partition.iid(samples.labels.numpy(), SEED, CLIENTS)


def run(algorithm: FedAvg, make: Callable[[], nn.Module], rounds: int, **given: Any) -> list[FedAvgRound]:
    samples = given.pop("samples", data())
    rounds_ = algorithm.run(*made(make), samples, parts_of(samples), SEED, rounds=rounds, kernels=NUMPY, **given)
    return list(rounds_)


def transcribed(
    make: Callable[[], nn.Module], algorithm: FedAvg, rounds: int, samples: Samples, local: Any
) -> nn.Module:
    """FedAvg on full weights: each client trains a copy of the model with the round's sketches by `local`."""
    model = initialise(make, 1).double()
    parts = parts_of(samples)
    for t in range(rounds):
        key = seeds.key(SEED, what="sketch", round=t)
        random = seeds.generator(SEED, what="participants", round=t)
        count = max(1, round(algorithm.participation * CLIENTS))
        results = []
        for client in sorted(random.choice(CLIENTS, count, replace=False).tolist()):
            own = initialise(make, 1).double()
            own.load_state_dict(model.state_dict())
            sketched.draw(own, key, NUMPY)
            mine = seeds.generator(SEED, what="local", round=t, client=client)
            mine.integers(2**63)
            for _ in range(algorithm.epochs):
                order = parts[client][mine.permutation(len(parts[client]))]
                for start in range(0, len(order), algorithm.batch):
                    batch = order[start : start + algorithm.batch]
                    loss = classification.loss(own(samples.images[batch]), samples.labels[batch])
                    local(own, torch.autograd.grad(loss, list(own.parameters())), algorithm.rate)
            results.append(own.state_dict())
        mean = {n: torch.stack([r[n] for r in results]).mean(0) for n in results[0]}
        model.load_state_dict(mean)
    return model


def plain_step(model: nn.Module, gradients: Any, rate: float) -> None:
    with torch.no_grad():
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.sub_(rate * gradient)


class AdamStep:
    """A local step by torch's own Adam and cosine rate, anew for each copy of the model."""

    def __init__(self) -> None:
        self.of: dict[nn.Module, Any] = {}

    def __call__(self, model: nn.Module, gradients: Any, rate: float) -> None:
        if model not in self.of:
            adam = torch.optim.Adam(model.parameters(), rate)
            self.of[model] = adam, torch.optim.lr_scheduler.CosineAnnealingLR(adam, T_max=10, eta_min=rate / 100)
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.grad = gradient
        for each in self.of[model]:
            each.step()


def same(found: nn.Module, expected: nn.Module) -> None:
    for (name, a), b in zip(found.state_dict().items(), expected.state_dict().values(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11, msg=name)


@EACH
def test_it_is_fedavg_on_the_sketched_model(family: Family) -> None:
    """As FedAvg whose clients train all weights through the round's sketches (zhang2021 Eq. 2, Appendix E)."""
    algorithm = FedAvg(0.3, epochs=2, batch=4, participation=0.5, local_step="weights")

    def make() -> nn.Module:
        return perceptron(family)

    *_, last = run(algorithm, make, 3)
    same(last.model, transcribed(make, algorithm, 3, data(), plain_step))


def test_adam_is_that_of_full_weights() -> None:
    algorithm = FedAvg(0.01, epochs=6, batch=4, participation=0.5, local_step="weights", optimiser="adam")

    def make() -> nn.Module:
        return perceptron(CountSketch(16, 8))

    *_, last = run(algorithm, make, 2)
    same(last.model, transcribed(make, algorithm, 2, data(), AdamStep()))
    with pytest.raises(ValueError, match=r"momentum=0\.9 must be 0 with optimiser=adam"):
        FedAvg(0.01, momentum=0.9, optimiser="adam")


def test_the_same_for_convolutions_and_one_score() -> None:
    algorithm = FedAvg(0.1, batch=5, participation=0.25, local_step="weights")
    samples = data((2, 10, 10), classes=2, count=24)

    def make() -> nn.Module:
        layers = {"filters": [8, 6], "kernel": 3, "pooled": [True, False], "hidden": [7]}
        return cnn((2, 10, 10), 2, CountSketch(18, 9), **layers)  # type: ignore[arg-type]

    *_, last = run(algorithm, make, 2, samples=samples)
    same(last.model, transcribed(make, algorithm, 2, samples, plain_step))


def test_without_sketches_it_is_plain() -> None:
    algorithm = FedAvg(0.3, batch=4, participation=1.0)

    def make() -> nn.Module:
        return perceptron(None)

    *_, last = run(algorithm, make, 2)
    same(last.model, transcribed(make, algorithm, 2, data(), plain_step))
    *_, other = run(algorithm, lambda: perceptron(Identity(16, 16)), 2)
    same(other.model, last.model)


def test_local_steps_in_the_sketched_space() -> None:
    """W̃ ← W̃ - ηΓ for all steps of a round, then W ← W - (ΣηΓ) Sᵀ; the first step of a round is the same."""
    make = lambda: perceptron(CountSketch(16, 8))  # noqa: E731
    once = [run(FedAvg(0.3, batch=99, local_step=kind), make, 2)[-1] for kind in ("weights", "sketch")]
    same(once[0].model, once[1].model)
    several = [run(FedAvg(0.3, batch=4, local_step=kind), make, 1)[-1] for kind in ("weights", "sketch")]
    assert not torch.allclose(several[0].model[1].weight, several[1].model[1].weight)
    first, second = run(FedAvg(0.3, batch=4, local_step="sketch"), make, 1)
    (reply,) = second.replies
    _, twin = made(make)
    sketched.draw(twin, first.broadcast.key, NUMPY)
    twin.load_state_dict(first.broadcast.weights)
    mine = seeds.generator(SEED, what="local", round=0, client=reply.client)
    mine.integers(2**63)
    own = parts_of(data())[reply.client]
    order = own[mine.permutation(len(own))]
    for start in range(0, len(order), 4):
        batch = order[start : start + 4]
        loss = classification.loss(twin(data().images[batch]), data().labels[batch])
        plain_step(twin, torch.autograd.grad(loss, list(twin.parameters())), 0.3)
    for name, value in twin.state_dict().items():
        moved = first.broadcast.weights[name] - value
        torch.testing.assert_close(reply.steps[name], moved, rtol=1e-9, atol=1e-12)


@EACH
def test_what_is_sent(family: Family) -> None:
    """W̃ and Γ of s columns for the sketched layers, and nothing of d columns; bytes are those of the arrays."""
    seen = run(FedAvg(0.3, participation=0.5), lambda: perceptron(family), 3)
    b = family.b
    shapes = {
        "1.weight": (6, b),
        "1.bias": (6,),
        "3.weight": (5, 6 * b // 16),
        "3.bias": (5,),
        "5.weight": (3, 5),
        "5.bias": (3,),
    }
    size = 8 * sum(int(np.prod(shape)) for shape in shapes.values())
    assert [at.t for at in seen] == [0, 1, 2, 3]
    for t, at in enumerate(seen):
        assert {n: tuple(v.shape) for n, v in at.broadcast.weights.items()} == shapes
        assert at.broadcast.nbytes == size + 8
        assert len(at.replies) == (2 if t else 0)
        for reply in at.replies:
            assert {n: tuple(v.shape) for n, v in reply.steps.items()} == shapes
            assert reply.nbytes == size
        assert at.state.bytes_up == 2 * t * size
        assert at.state.bytes_down == 2 * t * (size + 8)
    R = torch.from_numpy(
        seen[0].model[1].family.draw(sketched.layer_key(seen[0].broadcast.key, "1"), kernels=NUMPY).materialize()
    )
    weight = seen[0].state.weights["1.weight"]
    torch.testing.assert_close(seen[0].broadcast.weights["1.weight"], weight @ R.T)
    assert len({at.broadcast.key for at in seen}) == 4


def test_messages_stay_as_they_were_sent() -> None:
    make = lambda: perceptron(CountSketch(16, 8))  # noqa: E731
    algorithm, samples = FedAvg(0.3), data()
    rounds = algorithm.run(*made(make), samples, parts_of(samples), SEED, rounds=2, kernels=NUMPY)
    first = next(rounds)
    kept = {name: value.clone() for name, value in first.broadcast.weights.items()}
    second = next(rounds)
    replied = {name: value.clone() for name, value in second.replies[0].steps.items()}
    next(rounds)
    assert all(torch.equal(first.broadcast.weights[n], v) for n, v in kept.items())
    assert all(torch.equal(second.replies[0].steps[n], v) for n, v in replied.items())


def test_shares_are_weighted_by_samples() -> None:
    samples = data()
    parts = [np.arange(9), np.arange(9, 12)]
    algorithm = FedAvg(0.3, batch=99, participation=1.0)
    server, twin = made(lambda: perceptron(None))
    start = {name: value.clone() for name, value in server.state_dict().items()}
    *_, last = algorithm.run(server, twin, samples, parts, SEED, rounds=1, kernels=NUMPY)
    own = initialise(lambda: perceptron(None), 1).double()
    own.load_state_dict(start)
    loss = classification.loss(own(samples.images[:12]), samples.labels[:12])
    plain_step(own, torch.autograd.grad(loss, list(own.parameters())), 0.3)
    same(last.model, own)


def test_going_on_from_a_state_is_the_same(tmp_path: Path) -> None:
    make = lambda: perceptron(CountSketch(16, 8))  # noqa: E731
    algorithm = FedAvg(0.3, batch=4, participation=0.5)
    whole = run(algorithm, make, 5)
    checkpoint.save(tmp_path / "state", whole[2].state._asdict())
    loaded = checkpoint.load(tmp_path / "state")
    assert loaded is not None
    rest = run(algorithm, make, 5, state=FedAvgState(**loaded))
    assert [at.t for at in rest] == [2, 3, 4, 5]
    for ours, theirs in zip(rest, whole[2:], strict=True):
        assert ours.state.bytes_up == theirs.state.bytes_up
        for name, value in theirs.state.weights.items():
            assert torch.equal(ours.state.weights[name], value)
    (tmp_path / "state").write_bytes(b"nonsense")
    assert checkpoint.load(tmp_path / "state") is None
    assert checkpoint.load(tmp_path / "none") is None


@EACH
def test_estimates_of_a_client(family: Family) -> None:
    make = lambda: perceptron(family)  # noqa: E731
    _, at = run(FedAvg(0.3), make, 1)
    _, twin = made(make)
    for option in ("I", "II"):
        found = estimated_weights(twin, at.broadcast, option, NUMPY)  # type: ignore[arg-type]
        assert found.keys() == {"1.weight", "3.weight"}
        for (name, layer), (key, estimate) in zip(sketched.layers(at.model), found.items(), strict=True):
            assert key == f"{name}.weight"
            S = layer.current.materialize().T
            W = layer.weight.detach().numpy()
            expected = W @ S @ (S.T if option == "I" else np.linalg.pinv(S))
            np.testing.assert_allclose(estimate.numpy(), expected, rtol=1e-8, atol=1e-10)


def test_scores_and_losses() -> None:
    scores = torch.tensor([[2.0], [-1.0], [0.5]])
    labels = torch.tensor([1, 0, 0])
    expected = nn.functional.cross_entropy(torch.cat([torch.zeros(3, 1), scores], 1), labels)
    torch.testing.assert_close(classification.loss(scores, labels), expected)
    assert classification.predict_classes(scores).tolist() == [1, 0, 1]
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.9), nn.Linear(16, 3))
    images = torch.rand(2500, *SHAPE)
    found = classification.scores(model, images)
    assert model.training
    torch.testing.assert_close(found, model[2](images.flatten(1)).detach())
    share = (found.argmax(1) == 1).double().mean()
    assert classification.accuracy(found, torch.ones(2500)) == pytest.approx(float(share))
    assert classification.area_under_roc(scores, labels) == 1.0
    both = torch.cat([torch.zeros(3, 1), -scores], 1)
    assert classification.area_under_roc(both, labels) == 0.0


def test_points_of_a_roc_curve() -> None:
    labels = torch.tensor([0, 0, 0, 0, 1, 1])
    scores = torch.tensor([[0.1], [0.2], [0.4], [0.8], [0.4], [0.9]])
    rates = [0.0, 0.125, 0.25, 0.375, 0.5, 1.0]
    found = classification.true_positives(scores, labels, rates)
    assert found == pytest.approx([0.5, 0.5, 0.5, 0.75, 1.0, 1.0])
    fine = np.linspace(0, 1, 1001)
    area = np.trapezoid(classification.true_positives(scores, labels, fine.tolist()), fine)
    assert area == pytest.approx(classification.area_under_roc(scores, labels))


def test_buffers_are_refused() -> None:
    with pytest.raises(ValueError, match="batch normalisation"):
        run(FedAvg(0.1), lambda: residual((3, 24, 24), 3, blocks=1), 1)
