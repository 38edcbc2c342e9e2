"""Decentralised learning that leaks is rejected by the claims that pass the sound one."""

from typing import Any

import pytest
from judging import shared, verdict, verdicts

from sketchbench.federated.peer_to_peer import PeerToPeer
from sketchbench.sketch import CountSketch, Family, Identity
from sketchbench.task.double_blind import peer_to_peer
from sketchbench.task.double_blind.peer_to_peer import PeerToPeerLearning, Ring


def task(family: Family | None = None, heterogeneity: float = 0) -> PeerToPeerLearning:
    return PeerToPeerLearning(
        **shared(family or CountSketch(16, 8), 6),
        points=3,
        ring=Ring(nodes=4, outputs=3, samples=32, heterogeneity=heterogeneity),
        learning=PeerToPeer(rounds=10, rate=0.05, mixing=0.05),
    )


def test_sound() -> None:
    rows = task().run()
    assert verdicts("Z18", rows) == {"holds"}
    assert verdicts("Z18-own", rows) == {"fails", "holds"}
    losses = {(row["case"], row["round"]): row["mean"] for row in rows if row["quantity"] == "loss"}
    assert losses["sketched", 10] == pytest.approx(losses["plain", 10], rel=0.05)
    assert losses["plain", 10] < 0.6


def test_weights_as_they_are() -> None:
    assert verdict("Z18", task(Identity(16, 16)).run()) == "fails"
    plain = [row.replace(case="option I") for row in task().run() if row["case"] == "plain"]
    assert verdicts("Z18", plain) == {"fails"}


def test_one_sketch_for_all_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The update is then seen in the row space of S."""
    draw = PeerToPeerLearning._draw
    monkeypatch.setattr(PeerToPeerLearning, "_draw", lambda self, trial, t: draw(self, trial, 0))
    assert verdict("Z18", task().run()) == "fails"


def test_an_attacker_with_other_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that have nothing to do with the neighbour's are no help, nor is option II under their name."""
    monkeypatch.setitem(peer_to_peer.OPTIONS, "own weights", peer_to_peer.OPTIONS["option II"])
    assert verdict("Z18-own", task().run()) == "holds"


def test_nodes_that_start_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Ring.draw

    def apart(self: Ring, d: int, random: Any) -> Any:
        start, *data = made(self, d, random)
        return random.standard_normal(start.shape), *data

    monkeypatch.setattr(Ring, "draw", apart)
    assert verdict("Z18-own", task().run()) == "holds"
