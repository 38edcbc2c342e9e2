"""The task of what compressed messages leak: its rows, how it chooses attacks, and what its controls see."""

import base64
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from levels import FEW_LEVEL
from selecting import select
from torch import Tensor

from sketchbench import kernels
from sketchbench.attack.message_property import MessageProperty
from sketchbench.attack.stacked_inversion import StackedAttacks
from sketchbench.attack.target import Target
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import Message, Reply
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.sparse import RandomK, TopK
from sketchbench.kernels import Array
from sketchbench.learning.dataset import digits
from sketchbench.learning.model.networks import mlp
from sketchbench.measure.image import likeness
from sketchbench.measure.row import Row
from sketchbench.report.claim.criteria import CRITERIA
from sketchbench.report.claim.verdict import CriterionSettings
from sketchbench.task.compressors import frontier_leakage
from sketchbench.task.compressors.frontier_leakage import FrontierLeakage, LeakageJudging

SMALL = FrontierLeakage(
    compressor=RandomK,
    compression=4,
    kernels=kernels.load("numba"),
    seed=1,
    dataset=digits.load,
    model=functools.partial(mlp, hidden=[50]),
    clients=3,
    attacks=StackedAttacks(steps=4, starts=1, stages=1, rounds=4, pixel_rate=0.03, prior_rate=0.2),
    inference=MessageProperty(classes=[0, 1], batch=4, known=8, tested=6, others=2, features=16),
    judging=LeakageJudging(least=3.0, control=10.0, told=0.6, pictures=1, budgets=[1, 4, 16, 64]),
    rounds={"server": [1, 2], "sum": [1, 2], "another client": [1], "eavesdropper": [1, 2]},
    choosing=2,
    trials=2,
)
VIEWS = {"server", "sum", "another client", "eavesdropper"}
JUDGED = {"psnr", "ssim", "lead", "beyond"}


class Silence(Compressor):
    """A message of a single zero."""

    adds_up: ClassVar[bool] = True

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return Message({"values": np.zeros((*x.shape[:2], 1), "float32")})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return np.zeros((*message.parts["values"].shape[:2], self.layout.d), "float32")

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        return torch.zeros(at.trials, 1), lambda x: 0 * x[:, :1]


@functools.cache
def rows(compressor: Any = RandomK, compression: float = 4) -> list[Row]:
    return dataclasses.replace(SMALL, compressor=compressor, compression=compression).run()


def test_rows() -> None:
    found = rows()
    assert all(row["compression"] == 4 for row in found)
    (guess,) = select(found, case="class mean", quantity="psnr")
    for case in VIEWS:
        first = select(found, case=case, round=1)
        judged = {str(row["quantity"]): row for row in first if "observed" in row}
        assert judged.keys() == JUDGED
        assert {row["bytes_seen"] for row in judged.values()} == {3768}
        assert judged["lead"]["positive_control"] in (0, 1, 2)
        assert judged["lead"]["mean"] == pytest.approx(judged["psnr"]["mean"] - guess["mean"])  # type: ignore[operator]
        own = {str(row["attack"]): row["mean"] for row in select(first, quantity="own_lead")}
        assert own.get(str(judged["lead"]["attack"]), 0.0) == judged["lead"]["mean"]
        assert ("size" in own) == (case == "eavesdropper")
        numbers = SMALL.rounds[case]
        lost, won = (select(found, case=case, quantity=quantity) for quantity in ("hidden", "visible"))
        assert [row["round"] for row in lost] == [row["round"] for row in won] == numbers
        assert all(row["bound"] == 0.5 for row in (*lost, *won))
        assert all(a["count"] + b["count"] == 2 for a, b in zip(lost, won, strict=True))  # type: ignore[operator]
        assert [row["count"] for row in won] == sorted(row["count"] for row in won)  # type: ignore[type-var]
        (until,) = select(found, case=case, quantity="until")
        assert until["value"] in numbers if "value" in until else until["status"] == "unfinished"
    areas = select(found, quantity="property_auc")
    assert [(row["case"], row["exact"]) for row in areas] == [("server", 0.5), ("sum", 0.5)]
    for area, untold in zip(areas, select(found, quantity="untold"), strict=True):
        assert untold["count"] == (area["minimum"] < 0.6) + (area["maximum"] < 0.6)  # type: ignore[operator]


def test_the_same_again() -> None:
    assert dataclasses.replace(SMALL).run() == rows()


def test_pictures_are_as_like_as_they_say() -> None:
    def picture(case: str) -> tuple[Any, Any]:
        row = select(rows(), quantity="picture", case=case)[0]
        levels = np.frombuffer(base64.b64decode(str(row["picture"])), np.uint8)
        assert (row["shape"], row["trial"]) == ("1x8x8", 0)
        return levels.reshape(1, 8, 8) / 255, row["value"]

    (original, best), (server, value) = picture("original"), picture("server")
    assert best == 150
    assert likeness(server, original).psnr == pytest.approx(value, abs=0.1)
    assert np.abs(digits.load().test.images / 16 - original).max(axis=(1, 2, 3)).min() < 1 / 255


def test_messages_that_do_not_add_up_have_no_sum() -> None:
    found = rows(TopK, 16)
    (lost,) = select(found, case="sum")
    assert (lost["quantity"], lost["status"]) == ("psnr", "refused")
    assert "don't add up" in str(lost["reason"])
    server, eavesdropper = (select(found, case=case, quantity="lead") for case in ("server", "eavesdropper"))
    assert [row.replace(case="eavesdropper") for row in server] == eavesdropper  # there is no key that it could lack


def test_what_does_not_fit_is_refused() -> None:
    (row,) = rows(Plain, 16)
    assert (row["quantity"], row["status"]) == ("psnr", "refused")
    assert "may send 948" in str(row["reason"])
    with pytest.raises(ValueError, match="must ascend from 1 for sum"):
        dataclasses.replace(SMALL, rounds={**SMALL.rounds, "sum": [2, 4]})
    with pytest.raises(ValueError, match="pictures=3 must be <= trials=2"):
        dataclasses.replace(SMALL, judging=dataclasses.replace(SMALL.judging, pictures=3))


def test_what_is_judged_chooses_no_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attack that is right in the trials for choosing only is taken, and one that is right in the others is not."""
    truth = SMALL._scene.images[:, :1]
    learning = torch.arange(len(truth))[:, None, None] < SMALL.choosing

    def run(self: StackedAttacks, target: Target) -> dict[str, Tensor]:
        of_each = {"closed form": truth * ~learning, "most likely": truth * learning}
        return {kind: images.expand(-1, target.labels.shape[1], -1) for kind, images in of_each.items()}

    monkeypatch.setattr(StackedAttacks, "run", run)
    found = dataclasses.replace(SMALL).run()
    assert {row["attack"] for row in found if "observed" in row} == {"most likely"}
    assert all(row["count"] == 2 for row in select(found, quantity="hidden"))


def test_until_is_the_median_of_the_first_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attack that finds each image in one of the rounds 1, 2 and 4, and not again. One label is read wrongly."""
    task = dataclasses.replace(SMALL, trials=5, rounds={**SMALL.rounds, "server": [1, 2, 4, 8]})
    truth, first = task._scene.images[:, :1], torch.tensor([1, 1, 4, 2, 2, 1, 4])  # two of them choose

    def run(self: StackedAttacks, target: Target) -> dict[str, Tensor]:
        found = truth * (first == len(target.sights))[:, None, None]
        return {"closed form": found.expand(-1, target.labels.shape[1], -1)}

    monkeypatch.setattr(StackedAttacks, "run", run)
    wrong = (torch.arange(7) == 3).long()[:, None]
    monkeypatch.setattr(frontier_leakage, "read_labels", lambda target: (target.labels + wrong) % 10)
    found = select(task.run(), case="server")
    assert [row["count"] for row in select(found, quantity="visible")] == [1, 3, 5, 5]
    assert [row["count"] for row in select(found, quantity="visible_unlabelled")] == [1, 2, 4, 4]
    assert select(found, quantity="until")[0]["value"] == 2
    assert [row["round"] for row in select(found, quantity="lead")] == [1, 2, 4]  # all were visible then
    (until,) = select(task.run(), case="another client", quantity="until")
    assert "not visible in the median trial after 1 rounds" in str(until["reason"])


@pytest.mark.parametrize("peeking", [False, True])
def test_silence_shows_an_attacker_who_sees_the_truth(monkeypatch: pytest.MonkeyPatch, peeking: bool) -> None:
    """Nothing leaks from messages that say nothing, the negative control of a claim that something does; a mutant that
    starts from the image itself makes it hold there, so that the claim counts for nothing."""
    task = dataclasses.replace(SMALL, compressor=Silence, compression=64, trials=24)
    if peeking:
        truth = task._scene.images
        monkeypatch.setattr(
            StackedAttacks,
            "find_most_likely",
            lambda self, target, images: truth[:, target.sights[0].clients].clone(),
        )
    found = pd.DataFrame([dict(row) for row in task.run()])
    hidden = found[(found["quantity"] == "hidden") & (found["case"] == "server") & (found["round"] == 1)]
    hidden = hidden.drop(columns="positive_control")
    (comparison,) = CRITERIA["probability"](hidden, FEW_LEVEL, CriterionSettings())
    assert comparison.verdict == ("holds" if peeking else "fails")
    areas = found[found["quantity"] == "property_auc"]
    assert (areas["mean"] == 0.5).all()
