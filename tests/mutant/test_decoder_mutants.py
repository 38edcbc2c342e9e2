"""The claims about FIHT beside other decoders reject a broken FIHT, and a peer that has more applications."""

from functools import partial
from typing import Any

import pytest
from judging import shared, verdict
from recoveries import SmallestKept

from sketchbench.sketch.recovery import peers
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.task.recovery.decoders import Decoders

SENSING = SubsampledHadamard(256, 64, signs=False)


def decoders(recovery: Any) -> list[Any]:
    given = {"k": 11, "noise": 0.05, "applications": [32], "penalties": [0.1]}
    return Decoders(**shared(SENSING, 90), recovery=recovery, **given).run()


def test_fiht_and_a_broken_one() -> None:
    for claim in ("T18-cosamp", "T18-lasso", "T18-omp", "T18-iht"):
        assert verdict(claim, decoders(partial(SmallestKept, stopping="paper", support="padded"))) == "fails", claim
    assert verdict("T18-cosamp", decoders(partial(FIHT, stopping="paper", support="padded"))) == "holds"


def test_a_peer_that_is_given_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """CoSaMP that knows the signals: the criterion must notice that it is better."""
    wanted = {}

    def oracle(phi: Any, y: Any, k: int, applications: int) -> Any:
        return wanted[y.tobytes()]

    original = Decoders._other_estimates

    def stored(task: Any, phi: Any, y: Any, x: Any, budget: int) -> Any:
        wanted.update({measured.tobytes(): signal for measured, signal in zip(y, x, strict=True)})
        return original(task, phi, y, x, budget)

    monkeypatch.setattr(Decoders, "_other_estimates", stored)
    monkeypatch.setattr(peers, "cosamp", oracle)
    assert verdict("T18-cosamp", decoders(FIHT)) == "fails"
