"""Trainings of many networks at once from compressed updates: batches, noise, the compressor, and divergence."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.power_sgd import PowerSGD
from sketchbench.compressor.quantised import QSGD, Sign
from sketchbench.compressor.sketched_memory import CompressedSensing
from sketchbench.compressor.sparse import RandomK, TopK
from sketchbench.federated.frontier import Arm, Federation, Gradients, TrainedArm, draw_round, make_federation, train
from sketchbench.kernels import Array
from sketchbench.learning.dataset import digits, partition
from sketchbench.learning.model.networks import mlp, strided_cnn
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch.recovery.count_sketch import CountSketchMedian
from sketchbench.sketch.sparse import BlockSparseEmbedding

NUMPY = kernels.load("numpy")
MODEL = functools.partial(mlp, hidden=(6,))
PARTITION = functools.partial(partition.iid, clients=5)
TRIALS = 3


@functools.cache
def clients() -> Federation:
    return make_federation(NUMPY, digits.mixed(), PARTITION, MODEL, range(TRIALS))


@functools.cache
def poisson(batch: int = 16) -> Sampling:
    return Sampling("poisson", batch, clients().records.shape[2])


FIXED = Gradients(Sampling("without_replacement", 16, 287))


def arm(make: Any = Plain, limit: int | None = None, rate: Any = 0.3, sigma: float = 0.0) -> Arm:
    layout = clients().layout
    rates = np.broadcast_to(np.float32(rate), (TRIALS,))
    return Arm(make(layout=layout, limit=limit or layout.nbytes), rates, sigma)


def sensing(layout: Layout, limit: int) -> CompressedSensing:
    """With a recovery that fits into any range."""
    family = functools.partial(BlockSparseEmbedding, s=5)
    return CompressedSensing(layout, limit, family=family, recovery=CountSketchMedian, share=0.02)


def change(trained: TrainedArm) -> np.ndarray:
    return np.asarray(trained.w - clients().start)


def test_trials_have_their_own_records_and_starts() -> None:
    records = clients().records
    for one in records:
        assert len(np.unique(one)) == one.size  # no record is with two clients
    assert not np.array_equal(records[0], records[1])
    assert not np.array_equal(clients().start[0], clients().start[1])


@pytest.mark.parametrize("kind", ["poisson", "without_replacement"])
def test_batches(kind: Any) -> None:
    sampling = Sampling(kind, 16, clients().records.shape[2])
    inputs, labels, shares = clients().batches(sampling, 7, 3)
    times = sampling.draw(seeds.generator(7, part="batches", round=3), (TRIALS, 5))
    for t, c in np.ndindex(TRIALS, 5):
        drawn = clients().records[t, c][times[t, c] > 0]
        there = shares[t, c] > 0
        np.testing.assert_array_equal(labels[t, c][there], clients().train[1][drawn])
        np.testing.assert_array_equal(inputs[t, c][there], clients().train[0][drawn])
        assert shares[t, c][there] == pytest.approx(1 / 16)  # also where the true size is another


def test_plain_training_is_gradient_descent() -> None:
    rates = np.float32([0.1, 0.2, 0.4])
    everyone = Gradients(Sampling("full", 287, 287))
    (full,) = train(clients(), everyone, [arm(rate=rates)], 3, rounds=1)
    batches = clients().batches(everyone.sampling, 3, 0)
    slope = clients().network.gradients(clients().start, batches).mean(axis=1)
    np.testing.assert_allclose(change(full), -rates[:, None] * slope, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"rounds": 0}, ValueError, "rounds=0 must be >= 1"),
        ({"rounds": -1}, ValueError, "rounds=-1 must be >= 1"),
        ({"rounds": 2, "judged": 0}, ValueError, "judged=0 must be >= 1"),
        ({"rounds": 2, "judged": 3}, ValueError, "judged=3 rounds, 1 apart, must be among the rounds=2"),
        ({"rounds": 4, "judged": 3, "apart": 2}, ValueError, "judged=3 rounds, 2 apart, must be among the rounds=4"),
        ({"rounds": 1.5}, TypeError, "rounds=1.5 must be an integer"),
    ],
)
def test_numbers_of_rounds_are_checked(change: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        train(clients(), FIXED, [arm()], 3, **change)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"rates": np.float32([0.1])}, r"must be one finite number for each of 3 trials"),
        ({"rates": np.float32([0.1, np.nan, 0.1])}, r"must be one finite number for each of 3 trials"),
        ({"sigma": -1.0}, "sigma=-1.0 must be >= 0 and finite"),
        ({"compressor": Plain(Layout(((3,),)), 12)}, r"parameters of \[3\] entries must be of the network's, \["),
    ],
)
def test_arms_are_checked(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        train(clients(), FIXED, [arm()._replace(**change)], 3, rounds=1)


def test_a_federation_has_trials() -> None:
    with pytest.raises(ValueError, match="needs at least one trial"):
        make_federation(NUMPY, digits.mixed(), PARTITION, MODEL, [])
    with pytest.raises(ValueError, match="times=0 must be >= 1"):
        clients().repeat(0)


def test_arms_side_by_side_are_trained_as_alone() -> None:
    private = Gradients(poisson(), 1.0)
    several = [arm(sigma=0.1), arm(), arm(TopK, 200, sigma=0.1), arm(RandomK, 200, rate=0.1, sigma=0.1)]
    together = train(clients(), private, several, 3, rounds=3)
    for own, trained in zip(several, together, strict=True):
        (alone,) = train(clients(), private, [own], 3, rounds=3)
        np.testing.assert_array_equal(alone.w, trained.w)


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_the_compressor_is_used(sigma: float) -> None:
    """Five clients of one entry each change at most five weights: noise is added before, not after."""
    (trained,) = train(clients(), FIXED, [arm(TopK, 6, sigma=sigma)], 3, rounds=1)
    changed = (change(trained) != 0).sum(axis=1)
    assert ((changed >= 1) & (changed <= 5)).all()
    assert (trained.bytes_up, trained.bytes_down) == (6, int((change(trained)[0] != 0).sum()) * 6)


@pytest.mark.parametrize("make", [Plain, RandomK, sensing])
@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_the_mean_gradient_is_compressed_where_that_is_the_same(
    make: Any, sigma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    gradients = Gradients(poisson(), 0.5)
    (merged,) = train(clients(), gradients, [arm(make, sigma=sigma)], 3, rounds=4)
    monkeypatch.setattr(Compressor, "linear", False)
    monkeypatch.setattr(type(arm(make).compressor), "linear", False)
    (each,) = train(clients(), gradients, [arm(make, sigma=sigma)], 3, rounds=4)
    assert abs(change(each)).max() > 1e-3
    np.testing.assert_allclose(change(merged), change(each), rtol=0, atol=1e-4 * abs(change(each)).max())
    assert (merged.bytes_up, merged.bytes_down) == (each.bytes_up, each.bytes_down)


def test_memory_is_carried_on() -> None:
    for rounds, same in ((1, True), (2, False)):
        (without,) = train(clients(), FIXED, [arm(Forgetful, 60)], 3, rounds=rounds)
        (carried,) = train(clients(), FIXED, [arm(TopK, 60)], 3, rounds=rounds)
        assert np.array_equal(without.w, carried.w) == same


class Forgetful(TopK):
    feedback = "none"


def test_operators_are_fresh_in_every_round() -> None:
    """Ten entries a round: with the same ones in all rounds, no more than ten weights would ever change."""
    (trained,) = train(clients(), FIXED, [arm(RandomK, 40)], 3, rounds=8)
    changed = (change(trained) != 0).sum(axis=1)
    assert ((changed > 50) & (changed <= 80)).all()
    assert not np.array_equal(change(trained)[0] != 0, change(trained)[1] != 0)  # another operator for each trial


def test_every_client_adds_all_of_its_noise() -> None:
    """Where gradients are clipped to nearly nothing, the mean of five clients has a fifth of the variance of each."""
    still = Gradients(poisson(), 1e-6)
    (trained,) = train(clients(), still, [arm(rate=1.0, sigma=0.1)], 3, rounds=2)
    moved = change(trained)
    assert moved.std() == pytest.approx(0.1 * (2 / 5) ** 0.5, rel=0.05)
    assert abs(np.corrcoef(moved)[0, 1]) < 0.2


def test_clipping_bounds_a_client() -> None:
    private = Gradients(poisson(), 0.05)
    (trained,) = train(clients(), private, [arm(rate=1.0)], 3, rounds=1)
    assert np.linalg.norm(change(trained), axis=1).max() <= 0.05 * 40 / 16
    (unclipped,) = train(clients(), Gradients(poisson()), [arm(rate=1.0)], 3, rounds=1)
    assert np.linalg.norm(change(unclipped), axis=1).min() > 0.05 * 40 / 16


@pytest.mark.parametrize("rate", [1e20, 1e30, 3e38])
@pytest.mark.parametrize("make", [TopK, RandomK, QSGD, Sign, PowerSGD, sensing])
def test_divergence_stays_with_its_trial(make: Any, rate: float) -> None:
    (sound,) = train(clients(), FIXED, [arm(make, 900, rate=[0.3, 0.3, 0.3])], 3, rounds=5)
    (mixed,) = train(clients(), FIXED, [arm(make, 900, rate=[0.3, rate, 0.3])], 3, rounds=5)
    assert not sound.diverged.any()
    assert mixed.diverged.tolist() == [False, True, False]
    assert np.isfinite(mixed.w).all()
    np.testing.assert_array_equal(mixed.w[[0, 2]], sound.w[[0, 2]])


@dataclass(frozen=True)
class Boastful(Plain):
    def check(self) -> None:
        """Takes every limit."""


@dataclass(frozen=True)
class Blind(Plain):
    def projections(self, at: At) -> list[Array | None]:
        return [np.zeros((at.trials, 64, 64), np.float32), None, None, None]


def test_who_takes_part_is_drawn_for_each_round() -> None:
    """Each trial draws its own two of five, whose batches are of their own records."""
    some = make_federation(NUMPY, digits.mixed(), PARTITION, MODEL, range(TRIALS), 2)
    rounds = [draw_round(FIXED.sampling, 3, number, TRIALS, 5, 2) for number in range(40)]
    drawn = np.array([one.clients for one in rounds])
    assert (drawn[..., 0] != drawn[..., 1]).all()
    counts = np.bincount(drawn.ravel(), minlength=5)
    assert abs(counts - 48).max() < 25  # of 240; beyond 4 standard deviations
    assert (drawn[:, 0] != drawn[:, 1]).any()
    _, labels, _ = some.batches(FIXED.sampling, 3, 0)
    own = some.records[0, rounds[0].clients[0, 1]][rounds[0].places[0, 1]]
    np.testing.assert_array_equal(labels[0, 1], some.train[1][own])
    (trained,) = train(some, FIXED, [arm(RandomK, 200)], 3, rounds=2)
    assert (change(trained) != 0).any(axis=1).all()
    with pytest.raises(ValueError, match="TopK keeps a memory at each client, and 2 of 5 clients take part"):
        train(some, FIXED, [arm(TopK, 200)], 3, rounds=1)


def test_rounds_that_are_judged() -> None:
    """The last one, and others before it: at a mean of the accuracies that single trainings end with."""
    ends = [train(clients(), FIXED, [arm()], 3, rounds=rounds)[0].accuracy for rounds in (3, 5, 7)]
    (judged,) = train(clients(), FIXED, [arm()], 3, rounds=7, judged=3, apart=2)
    np.testing.assert_allclose(judged.accuracy, np.mean(ends, axis=0))


def test_the_course_is_the_ends_of_shorter_trainings() -> None:
    """Whichever rounds are averaged; a training that diverges has no accuracy in any round."""
    ends = [train(clients(), FIXED, [arm()], 3, rounds=rounds)[0].accuracy for rounds in (3, 6)]
    watched = train(clients(), FIXED, [arm(), arm(rate=[1e9] * TRIALS)], 3, rounds=7, judged=3, apart=2, every=3)
    np.testing.assert_array_equal(watched[0].course, ends)
    assert not watched[1].course.any()
    assert train(clients(), FIXED, [arm()], 3, rounds=2, every=3)[0].course.shape == (0, TRIALS)


def test_networks_with_convolutions_are_trained() -> None:
    """Also where all gradients are merged, or those of records clipped; sketched layers need a perceptron."""
    model = functools.partial(strided_cnn, filters=(4,), kernel=3, strides=(2,), hidden=(8,))
    some = make_federation(NUMPY, digits.mixed(), PARTITION, model, range(TRIALS))
    limit = some.layout.nbytes
    arms = [Arm(make(layout=some.layout, limit=limit), np.full(TRIALS, np.float32(0.3))) for make in (Plain, TopK)]
    for trained in train(some, FIXED, arms, 3, rounds=25):
        assert (trained.accuracy - some.accuracy(some.start)).mean() > 0.2
    for trained in train(some, Gradients(poisson(), 1.0), arms, 3, rounds=1):
        assert np.isfinite(trained.accuracy).all()


def test_messages_beyond_the_limit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Boastful sends .* bytes in a round and may send 100"):
        train(clients(), FIXED, [arm(Boastful, 100)], 3, rounds=1)


def test_the_compressor_stands_before_the_layers() -> None:
    (trained,) = train(clients(), FIXED, [arm(Blind)], 3, rounds=2)
    assert not change(trained)[:, : 64 * 6].any()
    assert change(trained)[:, 64 * 6 :].any()


def test_clients_need_equally_many_records() -> None:
    uneven = functools.partial(partition.dirichlet, clients=3)
    with pytest.raises(ValueError, match="need equally many; choose the partition iid or one_class"):
        make_federation(NUMPY, digits.mixed(), uneven, MODEL, [0])


def test_mixed_digits_are_the_same_images() -> None:
    """In another order, which puts no image on both sides."""
    mixed, plain = digits.mixed(), digits.load()
    mixed.check_disjoint()
    assert sorted(i.tobytes() for i in mixed.whole.images) == sorted(i.tobytes() for i in plain.whole.images)
    assert len(mixed.test.labels) == len(plain.test.labels)
    assert (mixed.test.labels != plain.test.labels).any()


# Two cells of the frontier, redone with plain torch: autograd, and loops over clients


RATE, SEED, BATCH, RECORDS = 0.3, 3, 16, 110
KEPT = (3760 * 4 // 16 + 8) // 6  # entries of 4 bytes with a place of 2, in 1/16 of the bytes and 8 more


def largest(x: Tensor) -> Tensor:
    """Among equals the first, as there are many: pixels at the border of an image have the same value."""
    places = torch.sort(x.abs(), descending=True, stable=True).indices[:KEPT]
    return torch.zeros_like(x).scatter(0, places, x[places])


def signs(x: Tensor) -> Tensor:
    return x.abs().mean() * torch.where(x >= 0, 1.0, -1.0)


def redo(clients: Federation, trial: int, compress: Callable[[Tensor], Tensor], rounds: int) -> tuple[Tensor, float]:
    """The weights of a trial after so many rounds, and their accuracy."""
    inputs, labels = (torch.from_numpy(np.asarray(one)) for one in clients.train)
    model = nn.Sequential(nn.Linear(64, 50), nn.ReLU(), nn.Linear(50, 10))
    weights = torch.from_numpy(clients.start[trial].copy())
    memory = torch.zeros(10, len(weights))
    for number in range(rounds):
        drawn = draw_round(Sampling("without_replacement", BATCH, RECORDS), SEED, number, len(clients.start), 10, 10)
        sent = []
        for client in range(10):
            nn.utils.vector_to_parameters(weights, model.parameters())
            rows = torch.from_numpy(clients.records[trial, client][drawn.places[trial, client]])
            model.zero_grad()
            nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
            gradient = nn.utils.parameters_to_vector([one.grad for one in model.parameters() if one.grad is not None])
            wanted = memory[client] + RATE * gradient
            sent.append(compress(wanted))
            memory[client] = wanted - sent[-1]
        weights = weights - torch.stack(sent).mean(dim=0)
    nn.utils.vector_to_parameters(weights, model.parameters())
    tested, truth = (torch.from_numpy(np.asarray(one)) for one in clients.test)
    return weights, float((model(tested).argmax(dim=1) == truth).double().mean())


@pytest.mark.parametrize(("make", "compress", "off"), [(TopK, largest, 0.2), (Sign, signs, 1e-3)])
def test_redone(make: type[Compressor], compress: Callable[[Tensor], Tensor], off: float) -> None:
    """The same weights after a round, to rounding, nearly so after 20 (Top-K follows rounding); the same accuracy."""
    dealt = functools.partial(partition.one_class, clients=10, samples=RECORDS)
    data, model = digits.mixed(), functools.partial(mlp, hidden=[50])
    clients = make_federation(kernels.load("numba"), data, dealt, model, [1, 2])
    compressor = make(layout=clients.layout, limit=byte_limit(clients.layout, 16))
    arm = Arm(compressor, np.full(2, RATE, np.float32))
    gradients = Gradients(Sampling("without_replacement", BATCH, RECORDS))
    for rounds, allowed in ((1, 1e-5), (20, off)):
        (trained,) = train(clients, gradients, [arm], SEED, rounds=rounds)
        for trial in range(2):
            weights, accuracy = redo(clients, trial, compress, rounds)
            change = np.linalg.norm(weights.numpy() - clients.start[trial])
            assert np.linalg.norm(trained.w[trial] - weights.numpy()) < allowed * change
            assert trained.accuracy[trial] == pytest.approx(accuracy, abs=5 / 360)
    assert accuracy > 0.5
