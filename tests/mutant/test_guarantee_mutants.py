"""What a recovery promises of its signals, T14 and T16: the claims pass the sound one, and reject what is broken."""

import functools
from typing import Any

import numpy as np
import pytest
from judging import shared, verdict, verdicts
from operators import DesketchNotAdjoint, GaussianUnscaled, SamplingScaledByB, SignsBiased
from recoveries import SmallestKept

from sketchbench import kernels
from sketchbench.federated.peer_to_peer import PeerToPeer
from sketchbench.sketch import (
    BlockSparseEmbedding,
    CountSketch,
    Family,
    Gaussian,
    Identity,
    SubsampledHadamard,
    UniformSampling,
)
from sketchbench.sketch.control import QuarterCountSketch, TiedSigns
from sketchbench.sketch.recovery import FIHT, CountSketchMedian
from sketchbench.sketch.recovery.control import Nothing
from sketchbench.task.double_blind import peer_to_peer, regulariser
from sketchbench.task.double_blind.peer_to_peer import PeerToPeerLearning, Ring
from sketchbench.task.double_blind.regulariser import Regulariser
from sketchbench.task.recovery.for_all import ForAll
from sketchbench.task.recovery.for_each import ForEach
from sketchbench.task.recovery.probes import errors
from sketchbench.theory import second_moment
from sketchbench.theory.compressed_sensing import orthogonal_constants
from sketchbench.theory.known import Known

NUMBA = kernels.load("numba")


def for_all(recovery: Any, b: int = 256) -> list[dict[str, Any]]:
    rows = []
    for k in (4, 16):
        task = ForAll(SubsampledHadamard(256, b, signs=False), recovery, NUMBA, 3, trials=10, k=k, gamma=0.9)
        rows += [{**row, "d": 256, "b": b, "k": k} for row in task.run()]
    return rows


def test_fiht_keeps_its_promises() -> None:
    rows = for_all(FIHT)
    assert verdict("T14", rows) == "holds"
    assert max(row["maximum"] for row in rows if row["quantity"] == "lemma_3") > 0.97
    assert verdict("T16-all", rows) == "holds"
    twice = [row for row in rows if row["quantity"] == "lemma_3_twice"]
    assert [row["case"] for row in twice] == ["equal"] * 2
    assert verdict("T14", [{**row, "quantity": "lemma_3"} for row in twice]) == "fails"  # beyond condition (7)


def test_one_entry_too_many_for_the_printed_form() -> None:
    """k + 1 equal entries: an error of one entry, of which ‖x - x^[k]‖₁ is as large, so C₁ = √k."""
    rows = for_all(FIHT)
    assert verdict("T16-all-k", rows) == "fails"
    needed = [row["mean"] for row in rows if row["quantity"] == "c_1" and row["case"] == "printed"]
    assert needed == pytest.approx([2, 4])


@pytest.mark.parametrize("broken", [Nothing, SmallestKept])
def test_broken_promises(broken: Any) -> None:
    assert verdict("T14", for_all(broken)) == "fails"


def test_derived_constants() -> None:
    """Noise that makes the wrong one of two entries the larger, where the error is 1.5 times the noise."""
    sketch = SubsampledHadamard(64, 64, signs=False).draw(3, kernels=NUMBA)
    golden = (1 + 5**0.5) / 2
    x, v = np.zeros((2, 64))
    x[0], v[0], v[1] = 1, -1 / golden, 1 - 1 / golden + 1e-9  # the wrong entry of two is taken
    matrix = sketch.materialize()
    (error,) = errors(sketch, FIHT(1), x[None], (matrix @ v)[None])
    tail, noise = orthogonal_constants(1, 64)
    assert tail == 0
    assert 1.4 < error / np.linalg.norm(v) <= noise
    assert orthogonal_constants(64, 64).noise == 1


def for_each(recovery: Any) -> list[dict[str, Any]]:
    task = ForEach(BlockSparseEmbedding(64, 250, 5), recovery, NUMBA, 3, trials=2000, k=3, excess=1.0)
    return [{**row, "b": 120} for row in task.run()]


def test_signals_that_do_not_depend_on_the_sketch() -> None:
    rows = for_each(CountSketchMedian)
    assert verdict("T16-each", rows) == "holds"
    chosen = [{**row, "case": "fixed"} for row in rows if row["case"] == "chosen"]
    assert verdict("T16-each", chosen) == "fails"
    assert verdict("T16-each", for_each(Nothing)) == "fails"


@pytest.mark.parametrize("k", [5, 256])
def test_bad_sizes(k: int) -> None:
    task = ForAll(SubsampledHadamard(256, 128), functools.partial(FIHT), NUMBA, 3, trials=4, k=k, gamma=0.9)
    with pytest.raises(ValueError, match=f"k={k} must be even, and < d=256"):
        task.run()


# Broken sketches, and other penalties, are rejected by the claims about sketching as a regulariser


HASHED, NORMAL, SAMPLED = second_moment.hashed, second_moment.gaussian, second_moment.uniform_sampling


def task(family: Family, moment: Any = None, trials: int = 20_000) -> Regulariser:
    return Regulariser(**shared(family, trials), known=Known(second_moment=moment), samples=8, residual=0.3)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("family", "moment"),
    [(CountSketch(16, 4), HASHED), (Gaussian(16, 4), NORMAL), (UniformSampling(16, 4), SAMPLED)],
    ids=lambda value: type(value).__name__,
)
def test_sound_sketches(family: Family, moment: Any) -> None:
    assert verdicts("Z14", task(family, moment).run()) == {"holds"}


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("family", "moment"),
    [
        (QuarterCountSketch(16, 4), HASHED),
        (SignsBiased(16, 4), HASHED),
        (TiedSigns(16, 4), HASHED),
        (DesketchNotAdjoint(16, 4), HASHED),
        (GaussianUnscaled(16, 4), NORMAL),
        (SamplingScaledByB(16, 4), SAMPLED),
        (CountSketch(16, 4), NORMAL),  # the right sketch, and the penalty of another
    ],
    ids=lambda value: type(value).__name__,
)
def test_broken_sketches(family: Family, moment: Any) -> None:
    assert verdict("Z14", task(family, moment).run()) == "fails"


@pytest.mark.statistical
def test_sampling_is_nearly_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for equal products; with twice the penalty of dropout in none of the cases."""
    sampling = task(UniformSampling(16, 4))
    assert verdicts("Z14-dropout", sampling.run()) == {"holds", "fails"}
    dropout = regulariser.dropout_penalty
    monkeypatch.setattr(regulariser, "dropout_penalty", lambda *model, kept: 2 * dropout(*model, kept=kept))
    assert verdicts("Z14-dropout", sampling.run()) == {"fails"}


@pytest.mark.statistical
def test_which_weights_cost_more() -> None:
    assert verdict("Z14-projections", task(UniformSampling(16, 4)).run()) == "holds"
    assert verdict("Z14-projections", task(CountSketch(16, 4)).run()) == "fails"


def test_a_sketch_of_all_features_is_refused() -> None:
    with pytest.raises(ValueError, match="b=16 must be < d=16"):
        task(CountSketch(16, 16))


# Decentralised learning that leaks is rejected by the claims that pass the sound one


def peers(family: Family | None = None, heterogeneity: float = 0) -> PeerToPeerLearning:
    return PeerToPeerLearning(
        **shared(family or CountSketch(16, 8), 6),
        points=3,
        ring=Ring(nodes=4, outputs=3, samples=32, heterogeneity=heterogeneity),
        learning=PeerToPeer(rounds=10, rate=0.05, mixing=0.05),
    )


def test_sound() -> None:
    rows = peers().run()
    assert verdicts("Z18", rows) == {"holds"}
    assert verdicts("Z18-own", rows) == {"fails", "holds"}
    losses = {(row["case"], row["round"]): row["mean"] for row in rows if row["quantity"] == "loss"}
    assert losses["sketched", 10] == pytest.approx(losses["plain", 10], rel=0.05)
    assert losses["plain", 10] < 0.6


def test_weights_as_they_are() -> None:
    assert verdict("Z18", peers(Identity(16, 16)).run()) == "fails"
    plain = [row.replace(case="option I") for row in peers().run() if row["case"] == "plain"]
    assert verdicts("Z18", plain) == {"fails"}


def test_one_sketch_for_all_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = PeerToPeerLearning._draw
    monkeypatch.setattr(PeerToPeerLearning, "_draw", lambda self, trial, t: draw(self, trial, 0))
    assert verdict("Z18", peers().run()) == "fails"


def test_an_attacker_with_other_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that have nothing to do with the neighbour's are no help, nor is option II under their name."""
    monkeypatch.setitem(peer_to_peer.OPTIONS, "own weights", peer_to_peer.OPTIONS["option II"])
    assert verdict("Z18-own", peers().run()) == "holds"


def test_nodes_that_start_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Ring.draw

    def apart(self: Ring, d: int, random: Any) -> Any:
        start, *data = made(self, d, random)
        return random.standard_normal(start.shape), *data

    monkeypatch.setattr(Ring, "draw", apart)
    assert verdict("Z18-own", peers().run()) == "holds"
