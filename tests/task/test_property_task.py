"""The protocol of property inference: batches, rounds, controls, and what is refused."""

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
import torch

from sketchbench.attack.property import RandomForest
from sketchbench.dataset import digits
from sketchbench.kernels import load
from sketchbench.model.networks import mlp
from sketchbench.sketch import CountSketch
from sketchbench.task import property_inference
from sketchbench.task.property_inference import Batches, PropertyInference

SMALL = PropertyInference(
    family=CountSketch(64, 32),
    kernels=load("numba"),
    seed=3,
    dataset=digits.load,
    model=functools.partial(mlp, hidden=(8,)),
    property_classes=[0, 1],
    positive=2,
    share=0.5,
    batch=16,
    rate=0.01,
    warm_up=3,
    fit_rounds=5,
    test_rounds=20,
    trees=10,
    trials=2,
    allowed_loss=0.05,
)
CASES = {
    "plain server",
    "plain client",
    "server",
    "server, whole reply",
    "client option I",
    "client option II",
    "client, open parameters",
    "iterative sketching",
    "compressed sensing",
}


@pytest.fixture(autouse=True)
def one_torch_thread() -> None:
    torch.set_num_threads(1)


@functools.cache
def rows() -> list[dict[str, Any]]:
    return SMALL.run()


def test_rows() -> None:
    areas = {row["case"]: row for row in rows() if row["quantity"] == "auc"}
    assert areas.keys() == CASES
    assert all(0 <= row["minimum"] <= row["maximum"] <= 1 for row in areas.values())
    assert {case for case, row in areas.items() if "exact" in row} == {
        case for case in CASES if case.startswith("client")
    }
    counted = [row for row in rows() if row["quantity"] != "auc"]
    assert all(row["bound"] == 0.5 and 0 <= row["count"] <= 2 for row in counted)
    assert {row["case"] for row in counted if row["quantity"] == "auc_loss"} == {
        "plain server",
        "plain client",
    }


def test_the_control_looks_at_both_attackers() -> None:
    task = dataclasses.replace(SMALL, trials=24)
    perfect = {case: [1.0] * 24 for case in CASES}
    assert {row["control"] for row in task._rows(perfect)} == {24}
    for case in ("plain server", "plain client"):
        weak = perfect | {case: [1.0] * 22 + [0.9] * 2}
        assert {row["control"] for row in task._rows(weak)} == {22}


def test_the_same_again() -> None:
    assert dataclasses.replace(SMALL).run() == rows()


def test_batches() -> None:
    data = digits.load()
    images = torch.from_numpy(data.train.images).float()
    batches = Batches(images, data.train.labels, [0, 1], 16, 5, np.random.default_rng(0))
    known = {image.numpy().tobytes(): label for image, label in zip(images, data.train.labels, strict=True)}
    for kind, count in ((True, 5), (False, 0)):
        drawn, labels = batches.draw(kind)
        classes = np.array([known[image.numpy().tobytes()] for image in drawn])
        assert np.isin(classes, [0, 1]).sum() == count
        assert len(drawn) == 16
        assert (labels.numpy() == classes % 2).all()


def test_which_batches_have_the_property() -> None:
    """Two of every ten, at random places: the round alone says nothing."""
    task = dataclasses.replace(SMALL, test_rounds=992)
    truth = task._truth(0)
    assert (truth.reshape(-1, 10).sum(axis=1) == 2).all()
    assert not np.array_equal(truth, task._truth(1))
    places = truth.reshape(-1, 10).mean(axis=0)
    assert places.min() > 0.05
    assert places.max() < 0.4


def test_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """It learns in rounds 3 to 7, ten gradients each, two with the property, and is tested in those after them."""
    events: list[str] = []
    watched = property_inference._Watched
    for name in ("_operators", "_learn", "_server_tested", "_client_tested"):
        inner = getattr(watched, name)

        def spy(self: Any, *given: Any, inner: Any = inner, name: str = name) -> Any:
            events.append(f"{name} {given[0]}" if name == "_operators" else name)
            return inner(self, *given)

        monkeypatch.setattr(watched, name, spy)
    found = []
    forest = RandomForest.area_under_roc

    def shown(self: Any, own: Any, labels: Any, seen: Any, truth: Any, seed: int) -> list[float]:
        found.append((len(own), int(labels.sum()), [len(x) for x in seen], len(truth)))
        return forest(self, own, labels, seen, truth, seed)

    monkeypatch.setattr(RandomForest, "area_under_roc", shown)
    SMALL._trial(digits.load(), 0)
    once = events[: len(events) // 2]
    learnt = [once[i - 1] for i, event in enumerate(once) if event == "_learn"]
    assert learnt == [f"_operators {t}" for t in range(3, 8)]
    assert once.count("_server_tested") == once.count("_client_tested") == 20
    assert once.index("_server_tested") > len(once) - 1 - once[::-1].index("_learn")
    assert all(entry[0] == 50 and entry[1] == 10 and entry[3] == 20 for entry in found)
    assert all(set(entry[2]) == {20} for entry in found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trials": 1}, "trials=1 must be >= 2"),
        ({"test_rounds": 9}, "test_rounds=9 >= 10"),
        ({"positive": 10}, "positive=10 must be 1 to 9"),
        ({"share": 0.0}, "share=0.0 satisfy 0 < share <= 1"),
        ({"batch": 400}, "a party has .* images with the property .* lower batch or share"),
    ],
)
def test_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **change).run()
