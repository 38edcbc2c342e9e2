"""The tasks of where leaks end, of what noise leaves of them, and of clients of double-blind learning."""

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from selecting import select

from sketchbench import kernels
from sketchbench.attack.stacked_inversion import StackedAttacks
from sketchbench.compressor.control import Silent
from sketchbench.compressor.desketched import Desketched
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.sparse import TopK
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import mlp
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.task.compressors.leakage_limits import (
    Condition,
    LeakageLimits,
    LimitsTraining,
    assigned,
    drawn_places,
    memberships,
)
from sketchbench.task.compressors.noisy_leakage import KnownImages, MessagePrivacy, NoisyLeakage, Release
from sketchbench.task.inversion import double_blind_client
from sketchbench.task.inversion.double_blind_client import DoubleBlindClient, Sketching, Variant

NUMBA = kernels.load("numba")
SHARED: dict[str, Any] = {
    "kernels": NUMBA,
    "seed": 3,
    "dataset": digits.load,
    "model": functools.partial(mlp, hidden=[50]),
    "attacks": StackedAttacks(steps=20, starts=1, stages=2, rounds=4, pixel_rate=0.03, prior_rate=0.2),
}
LIMITS = LeakageLimits(
    compressor=Plain,
    compression=1,
    **SHARED,
    conditions={
        "read": Condition(labels="read"),
        "batch": Condition(batch=12),
        "local": Condition(local_steps=2),
        "trained": Condition(trained=3),
    },
    training=LimitsTraining(images=4, rate=0.1),
    local_rate=0.1,
    least=3.0,
    choosing=2,
    trials=3,
)
NOISY = NoisyLeakage(
    compressor=Plain,
    compression=1,
    **SHARED,
    releases={"one": Release(), "sum": Release(clients=50, placement="distributed", others="unknown")},
    privacy=MessagePrivacy(epsilons=[8.0], delta=1e-5, clip=1.0, noise=1.0),
    images=KnownImages(candidates=4, public=60),
    allowed=0.1,
    networks=2,
    trials=400,
)
BLIND = DoubleBlindClient(
    **SHARED,
    sketching=Sketching(CountSketch, 0.5),
    variants={
        "plain": Variant(layers="none"),
        "printed": Variant(),
        "bare": Variant(layers="all", biases=False),
        "fixed": Variant(layers="all", biases=False, sketch="fixed"),
    },
    plain="plain",
    clients=[2, 3],
    training=double_blind_client.ClientTraining(rounds=30, images=40, rate=0.3),
    least=3.0,
    allowed=0.01,
    trials=4,
)


def test_conditions_of_uncompressed_messages() -> None:
    """Single images are given away under all conditions; a network that trains gets better."""
    rows = LIMITS.run()
    for case in ("read", "local", "trained"):
        (lead,) = select(rows, quantity="lead", case=case)
        assert lead["minimum"] > 20
        (visible,) = select(rows, quantity="visible", case=case)
        assert visible["count"] == visible["trials"] == 3
    (read,) = select(rows, quantity="read")
    assert read["count"] == 3
    assert {row["case"]: row["batch"] for row in select(rows, quantity="short")}["batch"] == 12


def test_no_message_leaks_nothing() -> None:
    for row in select(dataclasses.replace(LIMITS, compressor=Silent).run(), quantity="lead"):
        assert abs(row["maximum"]) < 1e-4


def test_weights_move_by_the_steps_of_the_training() -> None:
    """Those of a condition that is trained for as many rounds before."""
    several = {"moving": Condition(trained=1, rounds=3, moving=True), "trained": Condition(trained=3)}
    task = dataclasses.replace(LIMITS, conditions=several)
    assert [condition.times for condition in several.values()] == [[1, 2, 3], [3]]
    weights = [nn._weights[0] for nn in (task._networks[time] for time in (1, 2, 3))]
    assert not any(torch.equal(a, b) for a, b in itertools.pairwise(weights))
    torch.testing.assert_close(
        weights[2], dataclasses.replace(task, conditions={"": several["trained"]})._networks[3]._weights[0]
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch": 2, "labels": "read"}, "labels=read is for batch=1, not 2"),
        ({"moving": True}, "moving=true is for rounds=2 or more, not 1"),
        ({"held": 4, "rounds": 4, "labels": "read"}, "labels=read is for the same image in all rounds, not held=4"),
        ({"batch": 4, "rounds": 8, "held": 6}, "held=6 must be a multiple of batch=4"),
        ({"batch": 4, "rounds": 2, "held": 12}, "held=12 must be <= 8, batch=4 times rounds=2"),
    ],
)
def test_conditions_that_can_not_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Condition(**given)


def test_batches_are_drawn_in_passes_through_the_images() -> None:
    """Each image is in as many messages as any other; in each pass in another one than most of its batch before."""
    places = drawn_places(Condition(batch=3, rounds=5, held=6), 4, 0)
    assert places.shape == (5, 4, 3)
    assert places[:2].tolist() == [[[0, 1, 2]] * 4, [[3, 4, 5]] * 4]
    for both in (places[:2], places[2:4]):
        assert torch.equal(torch.cat([*both], dim=1).sort(dim=1).values, torch.arange(6).expand(4, -1))
    assert len({tuple(own.flatten().tolist()) for own in places[2:].transpose(0, 1)}) == 4  # each client draws anew
    seen = memberships(places, 6)
    for trial, image in np.ndindex(4, 6):
        rounds = {number for number in range(5) if image in places[number, trial]}
        assert rounds == {number for number in range(5) if seen[trial, image] >> number & 1}
    kept = drawn_places(Condition(batch=3, rounds=5, held=3), 4, 0)
    assert torch.equal(kept, torch.arange(3).expand(5, 4, -1))


def test_further_images_are_new_ones() -> None:
    task = dataclasses.replace(LIMITS, conditions={"": Condition(batch=12, rounds=3, held=36)})
    images, labels = task._clients(task.conditions[""])
    kept, own = dataclasses.replace(task, conditions={"": Condition(batch=12)})._clients(Condition(batch=12))
    assert torch.equal(images[:, :, :12], kept)
    assert torch.equal(labels[:, :, :12], own)
    assert torch.equal(labels, (labels[..., :1] + torch.arange(36)) % 10)
    for trial, client in np.ndindex(*labels.shape[:2]):
        further, old = images[trial, client, 12:], images[trial, client, :12]
        assert len(further.unique(dim=0)) == 24
        assert not (further[:, None] == old).all(dim=2).any()
    few = dataclasses.replace(task, conditions={"": Condition(batch=12, rounds=99, held=12 * 99)})
    with pytest.raises(ValueError, match=r"digits has \d+ further test images of class"):
        few.run()


def test_a_batch_drawn_from_itself_is_the_same_batch() -> None:
    several = {"8 messages": Condition(batch=2, rounds=2)}
    again = {"8 messages": Condition(batch=2, rounds=2, held=2)}
    compressed = dataclasses.replace(LIMITS, compressor=functools.partial(Desketched, family=SubsampledHadamard))
    kept, drawn = (dataclasses.replace(compressed, conditions=own, compression=16).run() for own in (several, again))
    assert kept == drawn
    other = {"8 messages": Condition(batch=2, rounds=2, held=4)}
    assert dataclasses.replace(compressed, conditions=other, compression=16).run() != kept


def test_fresh_images_show_what_one_message_of_them_shows() -> None:
    """Uncompressed, where no key sets rounds apart: the first image is in the first message only."""
    (one,), (several,) = (
        select(dataclasses.replace(LIMITS, conditions={"": own}).run(), quantity="lead")
        for own in (Condition(batch=2), Condition(batch=2, rounds=3, held=6))
    )
    assert several["mean"] == pytest.approx(one["mean"], abs=0.5)


def test_reconstructions_are_assigned_within_a_class() -> None:
    images, labels = torch.eye(4), torch.tensor([0, 1, 0, 1])
    found = 0.9 * images[[2, 3, 0, 1]]
    torch.testing.assert_close(assigned(found, images, labels), 0.9 * images)
    apart = assigned(found, images, torch.tensor([0, 0, 1, 1]))  # 2 and 3 are of another class than 0 and 1
    assert sorted(map(tuple, apart[:2].tolist())) == sorted(map(tuple, found[:2].tolist()))


def test_no_attack_exceeds_the_bound() -> None:
    """Nor is one that sees noise as good as without; what is accounted and not added is noticed."""
    for row in select(NOISY.run(), quantity="found") + select(NOISY.run(), quantity="inverted"):
        deviation = (row["bound"] * (1 - row["bound"]) / row["trials"]) ** 0.5
        assert row["count"] / row["trials"] <= row["bound"] + 5 * deviation
        if row["quantity"] == "found":
            assert row["count"] < row["positive_control"]
    silent = dataclasses.replace(NOISY, privacy=dataclasses.replace(NOISY.privacy, noise=0.0)).run()
    (found,) = select(silent, quantity="found", case="one")
    assert found["count"] == found["positive_control"] == found["trials"] == 400
    (retained,) = select(silent, quantity="retained", case="one")
    assert retained["mean"] == pytest.approx(1)


def test_what_noise_can_not_be_judged() -> None:
    with pytest.raises(ValueError, match="TopK compresses; choose compressor=none"):
        dataclasses.replace(NOISY, compressor=TopK).run()
    with pytest.raises(ValueError, match="trials=401 must be a multiple of networks=2"):
        dataclasses.replace(NOISY, trials=401)


def test_clients_of_double_blind_learning() -> None:
    """What is open gives images away, as does a fixed sketch; where nothing is open, a guess is left."""
    rows = BLIND.run()
    for row in select(rows, quantity="lead"):
        assert row["maximum"] == 0 if row["case"] == "bare" else row["mean"] > 1
    seen = {row["case"]: row["observed"] for row in select(rows, quantity="lead", clients=3)}
    assert seen == {"plain": 3760, "printed": 560, "bare": 0, "fixed": 3700}
    losses = {row["case"]: row["mean"] for row in select(rows, quantity="accuracy_loss")}
    assert losses["plain"] == 0
    assert losses["bare"] > 0.05
