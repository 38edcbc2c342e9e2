"""Views that carry more than the protocol sends, and labels that follow from time, are rejected by Z12."""

import dataclasses
import functools
from typing import Any

import pytest
import torch
from judging import shared, verdicts
from sketchbench.task.inversion.inversion.property_inference import PropertyInference

from sketchbench.attack import watched_training
from sketchbench.attack.property import RandomForest
from sketchbench.attack.property_batches import PropertyBatches
from sketchbench.attack.watched_training import Observations, Phases, WatchedTraining
from sketchbench.base.kept import Kept
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import mlp
from sketchbench.sketch import CountSketch

SOUND = PropertyInference(
    **shared(CountSketch(64, 32), 10),
    dataset=digits.load,
    model=functools.partial(mlp, hidden=(8,)),
    batches=PropertyBatches(property_classes=[0, 1], positive=2, share=0.75, batch=24),
    phases=Phases(warm_up=5, fit_rounds=10, test_rounds=40),
    rate=0.01,
    trees=15,
    allowed_loss=0.05,
)


PLAIN: Kept[int, dict[str, Observations]] = Kept(1000)  # what is seen of plain trainings, by their seeds
FOUND: Kept[int, dict[str, float]] = Kept(1000)  # what attackers find in it, by the seeds of their forests


@pytest.fixture
def plain_trainings_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is broken in double-blind training only: plain training is the same, and so is what is found in it."""
    run, areas = WatchedTraining.run, PropertyInference._areas

    def trained(self: Any, parties: Any, truth: Any, seed: int, *, blind: bool, device: Any) -> Any:
        if blind:
            return run(self, parties, truth, seed, blind=blind, device=device)
        return PLAIN.of(seed, lambda: run(self, parties, truth, seed, blind=blind, device=device))

    def attacked(self: Any, seen: Observations, truth: Any, seed: int) -> dict[str, float]:
        if not any(seen is one for training in PLAIN.values() for one in training.values()):
            return areas(self, seen, truth, seed)
        return FOUND.of(seed, lambda: areas(self, seen, truth, seed))

    monkeypatch.setattr(WatchedTraining, "run", trained)
    monkeypatch.setattr(PropertyInference, "_areas", attacked)


def observed(task: Any = SOUND) -> list[dict[str, Any]]:
    """The rows of a task, as of a share of the images at which the claims look."""
    return [{**row, "share": 0.3} for row in task.run()]


def controlled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with nothing more to ask of the control, which all trainings have met: they are enough for leaks that
    are seen in every one, and too few to show at the level of a quick run that most would meet it."""
    assert {row["positive_control"] for row in rows} == {SOUND.trials}
    return [{name: value for name, value in row.items() if name != "positive_control"} for row in rows]


def judged() -> dict[str, set[str]]:
    rows = controlled(observed())
    return {claim: verdicts(claim, rows) for claim in ("Z12-plain", "Z12-client")}


@pytest.mark.usefixtures("plain_trainings_once")
def test_the_sound_one() -> None:
    """Too few for verdicts that hold, and nothing fails."""
    assert not any("fails" in found for found in judged().values())


@pytest.mark.usefixtures("plain_trainings_once")
def test_estimates_from_the_weights_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside W̃, the message has W: the client's difference is then the update."""
    broadcast = watched_training.broadcast

    def leaking(model: Any, key: int, kernels: Any) -> Any:
        message = broadcast(model, key, kernels)
        whole = {name: value.detach().clone() for name, value in model.named_parameters()}
        object.__setattr__(message, "whole", whole)
        return message

    monkeypatch.setattr(watched_training, "broadcast", leaking)
    monkeypatch.setattr(
        watched_training,
        "estimate_update",
        lambda twin, old, new, *_: {n: old.whole[n] - new.whole[n] for n in old.whole},
    )
    assert "fails" in judged()["Z12-client"]


@pytest.mark.usefixtures("plain_trainings_once")
def test_sketches_that_are_not_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """One S for all rounds: option II then gives the update within its row space. The areas are so near to 1, and so
    skewed, that no mean of ten is judged: nothing holds, and no training looks safe."""
    broadcast = watched_training.broadcast
    monkeypatch.setattr(watched_training, "broadcast", lambda model, key, kernels: broadcast(model, 7, kernels))
    rows = observed()
    assert "holds" not in verdicts("Z12-client", rows)
    areas = [r for r in rows if r["quantity"] == "auc" and r["case"].startswith("client option")]
    assert len(areas) == 2
    assert all(row["minimum"] > 0.75 for row in areas)


@pytest.mark.parametrize("leaking", [False, True])
def test_labels_that_follow_from_time(monkeypatch: pytest.MonkeyPatch, leaking: bool) -> None:
    """Features that tell nothing but the round tell nothing of the batches, unless those with the property come at
    times of their own, in learning as in testing."""
    now = [0]

    def at(self: Any, t: int) -> Any:
        now[0] = t
        return {}  # of the other papers' servers there is nothing to see here

    task = dataclasses.replace(SOUND, allowed_loss=1.0)  # nothing is seen without a defence, either
    monkeypatch.setattr(watched_training, "flatten", lambda steps, names: torch.tensor([float(now[0] % 2)]))
    for observer in (watched_training._PlainObserver, watched_training._BlindObserver):
        monkeypatch.setattr(observer, "operators", at)
    if leaking:
        monkeypatch.setattr(
            PropertyBatches, "truth", lambda self, rounds, random: torch.arange(rounds).remainder(2).bool().numpy()
        )
        learn = watched_training._Observer.learn
        monkeypatch.setattr(
            watched_training._Observer, "learn", lambda self, views, kind: learn(self, views, bool(now[0] % 2))
        )
    found = verdicts("Z12-client", controlled(observed(task)))
    assert ("fails" in found) is leaking


def test_an_attack_too_weak_to_show_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forest that guesses: nothing is then said to be safe."""
    forest = RandomForest
    monkeypatch.setattr(forest, "area_under_roc", lambda self, own, labels, seen, truth, seed: [0.5 for _ in seen])
    rows = observed()
    assert verdicts("Z12-client", rows) == {"inconclusive"}
    assert "holds" not in verdicts("Z12-plain", rows)
