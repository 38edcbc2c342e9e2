"""The protocol of property inference: batches, rounds, controls, and what is refused."""

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
import torch

from sketchbench.attack.property import RandomForest
from sketchbench.attack.property_batches import PropertyBatches
from sketchbench.attack.watched_training import Phases
from sketchbench.kernels import load
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import mlp
from sketchbench.measure.row import Row
from sketchbench.sketch import CountSketch
from sketchbench.task.inversion.property_inference import PropertyInference

SMALL = PropertyInference(
    family=CountSketch(64, 32),
    kernels=load("numba"),
    seed=3,
    dataset=digits.load,
    model=functools.partial(mlp, hidden=(8,)),
    batches=PropertyBatches(property_classes=[0, 1], positive=2, share=0.5, batch=16),
    phases=Phases(warm_up=3, fit_rounds=5, test_rounds=20),
    rate=0.01,
    trees=10,
    trials=2,
    allowed_loss=0.05,
)
CASES = {
    "plain server",
    "plain client",
    "shuffled labels",
    "server",
    "server, whole reply",
    "client option I",
    "client option II",
    "client, remembering",
    "client, open parameters",
    "iterative sketching",
    "compressed sensing",
}


@functools.cache
def rows() -> list[Row]:
    return SMALL.run()


def test_rows() -> None:
    areas = {row["case"]: row for row in rows() if row["quantity"] == "auc"}
    assert areas.keys() == CASES
    assert all(0 <= row["minimum"] <= row["maximum"] <= 1 for row in areas.values())
    assert {case for case, row in areas.items() if "exact" in row} == {
        case for case in CASES if case.startswith("client")
    }
    counted = [row for row in rows() if row["quantity"] not in ("auc", "shortfall")]
    assert all(row["bound"] == 0.5 and 0 <= row["count"] <= 2 for row in counted)
    assert {row["case"] for row in counted if row["quantity"] == "auc_loss"} == {
        "plain server",
        "plain client",
        "shuffled labels",
    }


def test_the_control_looks_at_both_attackers() -> None:
    task = dataclasses.replace(SMALL, trials=24)
    perfect = {case: np.ones(24) for case in CASES}
    assert {row["positive_control"] for row in task._rows(perfect)} == {24}
    for case in ("plain server", "plain client"):
        weak = perfect | {case: np.array([1.0] * 22 + [0.9] * 2)}
        assert {row["positive_control"] for row in task._rows(weak)} == {22}


def test_the_same_again() -> None:
    assert dataclasses.replace(SMALL).run() == rows()


def test_what_the_forest_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty gradients to learn from, ten with the property, and those of the twenty test rounds, for each attacker."""
    given = []
    forest = RandomForest.area_under_roc

    def spy(self: Any, own: Any, labels: Any, seen: Any, truth: Any, seed: int) -> list[float]:
        given.append((len(own), int(labels.sum()), {len(x) for x in seen}, len(truth), seed))
        return forest(self, own, labels, seen, truth, seed)

    monkeypatch.setattr(RandomForest, "area_under_roc", spy)
    SMALL._trial(digits.load(), 0)
    assert [entry[:4] for entry in given] == [(50, 10, {20}, 20)] * 9
    assert len({entry[4] for entry in given}) == 8  # shuffled labels change nothing else


def test_trainings_of_a_trial_have_the_same_batches() -> None:
    first, second, other = (SMALL._parties(digits.load(), trial).victim.draw(True) for trial in (0, 0, 1))
    assert torch.equal(first[0], second[0])
    assert not torch.equal(first[0], other[0])


def test_too_few_images_are_refused() -> None:
    large = dataclasses.replace(SMALL, batches=dataclasses.replace(SMALL.batches, batch=400))
    with pytest.raises(ValueError, match=r"a party has .* images with the property .* lower batch or share"):
        large.run()
