"""Broken single steps are rejected by the claims that pass the sound ones: S10-first, S30, S32, S33, S37, S39, S40."""

import dataclasses
import functools
from typing import Any

import judging
import numpy as np
import pytest
from scipy import optimize

from sketchbench.federated import iterative_sketching
from sketchbench.federated.sampled import SampledEstimates
from sketchbench.kernels import load
from sketchbench.learning.objective.logistic import Logistic
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.learning.objective.saturating import Saturating
from sketchbench.sketch.control import Zero
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.task.convergence.descent import Descent
from sketchbench.task.convergence.one_round import OneRound
from sketchbench.task.convergence.prescribed import Prescribed
from sketchbench.theory import corollaries, descent, norm
from sketchbench.theory.convergence import THEOREMS, Assumptions
from sketchbench.theory.known import Known

DESCENT = Descent(
    seed=0,
    d=3,
    conditions=[1.0, 4.0],
    trials=50,
    steps=5,
    momenta=[0.5, 0.9],
    variances=[3.0, 15.0],
    rounds=[1, 2, 10, 100],
)
ROUND = OneRound(
    family=CountSketch(16, 4),
    known=Known(embedding_constant=3, norm=norm.hashed),
    kernels=load("numba"),
    seed=0,
    objective=functools.partial(Saturating, d=16, clients=8, distance=1.0, heterogeneity=0.2),
    trials=3000,
    factor=0.05,
    local_steps=5,
)


def test_theorem_k_3() -> None:
    rows = DESCENT.run()
    assert judging.verdict("S30-printed", rows) == "fails"
    assert judging.verdict("S30-corrected", rows) == "holds"
    assert judging.verdict("S30-semi", rows) == "holds"
    assert judging.verdict("S30-assumptions", rows) == "holds"
    for quantity in ("squared still", "assumptions smooth"):
        assert all(row["count"] > 0 for row in rows if row["quantity"] == quantity)
    assert {row["maximum"] for row in rows if row["quantity"] == "squared still"} == {1.0}
    assert all(row["count"] == 0 for row in rows if row["quantity"] == "squared twice")  # so that it is not sharp
    assert next(row["maximum"] for row in rows if row["quantity"] == "distance") == pytest.approx(0.5)


@pytest.mark.parametrize("factor", [-1.0, 8.0], ids=["uphill", "too far"])
def test_a_wrong_step_of_gradient_descent(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    largest, proven, printed = descent.largest_step, descent.proven, descent.printed
    task = dataclasses.replace(DESCENT, conditions=[1.0])
    monkeypatch.setattr(descent, "largest_step", lambda constants: factor * largest(constants))
    monkeypatch.setattr(descent, "proven", lambda constants, eta: proven(constants, largest(constants)))
    monkeypatch.setattr(descent, "printed", lambda constants, eta: printed(constants, largest(constants)))
    rows = task.run()
    assert judging.verdict("S30-corrected", rows) == "fails"
    assert judging.verdict("S30-semi", rows) == "fails"


def test_a_loss_without_the_constants_that_it_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ripples that are twice as high."""
    monkeypatch.setattr(descent, "HEIGHT", 2 * descent.HEIGHT)
    assert judging.verdict("S30-assumptions", DESCENT.run()) == "fails"


def renamed(rows: list[Any], name: str, become: str) -> list[Any]:
    """The rows of a near miss in the place of the claim's."""
    return [row.replace(quantity=become) for row in rows if row["quantity"] == name]


def test_momentum_with_the_step_of_plain_descent(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = DESCENT.run()
    assert judging.verdict("S37", rows) == "holds"
    assert judging.verdicts("S37", renamed(rows, "momentum thrice", "momentum")) == {"fails"}  # at every m and α
    sound = descent.with_momentum
    monkeypatch.setattr(descent, "with_momentum", lambda m, eta, alpha: sound(m, eta / (1 - m), alpha))
    assert judging.verdict("S37", DESCENT.run()) == "fails"


def test_theorem_e_3_after_one_step() -> None:
    rows = DESCENT.run()
    assert judging.verdict("S10-first", rows) == "fails"
    assert judging.verdict("S10-two", rows) == "holds"
    assert judging.verdict("S10-two", renamed(rows, "first_gradient", "first_two_gradients")) == "fails"


def test_sketched_gradients_beside_sgd() -> None:
    rows = DESCENT.run()
    assert judging.verdict("S40", rows) == "holds"
    assert judging.verdict("S40", renamed(rows, "beside_quieter_sgd", "beside_sgd")) == "fails"


@pytest.mark.parametrize("rounds", [1, 7])
def test_the_best_steps_of_sgd(rounds: int) -> None:
    """What T rounds leave, by minimising over each step."""
    alpha, left = 3.0, 1.0
    for _ in range(rounds):
        left = optimize.minimize_scalar(
            lambda eta, x=left: (1 - eta) ** 2 * x + eta**2 * alpha, bounds=(0, 1), method="bounded"
        ).fun
    assert descent.beside_sgd(alpha, rounds) == pytest.approx((alpha / (1 + alpha)) ** rounds / left)


def test_the_round_as_derived() -> None:
    rows = ROUND.run()
    assert judging.verdict("S32-update", rows) == "holds"
    assert judging.verdict("S32-descent-corrected", rows) == "holds"
    assert judging.verdict("S32-descent-printed", rows) == "fails"
    assert next(row for row in rows if row.get("case") == "line 9")["count"] == ROUND.trials


def test_standing_still_is_no_descent() -> None:
    known = Known(embedding_constant=0, norm=norm.nothing)
    rows = dataclasses.replace(ROUND, family=Zero(16, 4), known=known).run()
    assert judging.verdict("S32-descent-corrected", rows) == "fails"


def test_half_of_the_step_in_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server takes half of the average, which the update of Lemma F.2 and the descent of G.1 both notice."""

    class Half(iterative_sketching.IterativeSketching):
        def __post_init__(self) -> None:
            object.__setattr__(self, "global_rate", 0.5)

    monkeypatch.setattr("sketchbench.federated.theorems.IterativeSketching", Half)
    rows: list[Any] = ROUND.run()
    assert judging.verdict("S32-update", rows) == "fails"
    assert judging.verdict("S32-descent-corrected", rows) == "fails"


@functools.cache
def prescription() -> Prescribed:
    return Prescribed(
        family=CountSketch(4, 1),
        known=Known(norm=norm.hashed),
        kernels=load("numba"),
        seed=0,
        objective=functools.partial(Quadratic, d=4, clients=8, flat=0.25, heterogeneity=2.0),
        theorem="F.8",
        alpha="exact",
        targets=[1.5],
        trials=25,
        local_steps=1,
    )


def test_the_prescription_for_convex_losses() -> None:
    rows = prescription().run()
    assert judging.verdict("S32-convex", rows) == "holds"
    assert judging.verdict("S32-rows", rows) == "holds"
    assert judging.verdict("S32-plain", rows) == "fails"


def test_a_server_that_hardly_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = functools.partial(iterative_sketching.IterativeSketching, global_rate=0.002)
    monkeypatch.setattr("sketchbench.task.convergence.prescribed.IterativeSketching", slow)
    assert judging.verdict("S32-convex", prescription().run()) == "fails"


def test_standing_still_is_no_row() -> None:
    task = dataclasses.replace(prescription(), family=Zero(4, 1), known=Known(norm=norm.nothing))
    assert judging.verdict("S32-rows", task.run()) == "fails"


def assumptions(**change: Any) -> Assumptions:
    """L = 1, μ = 1/4, σ² = 1/4 and α = 3: the threshold is 1/256."""
    settings = {"smoothness": 1.0, "convexity": 0.25, "gradient_bound": 2.0, "gap": 0.4, "squared_distance": 1.0}
    return Assumptions(**{**settings, "heterogeneity": 0.25, "alpha": 3.0, "local_steps": 1, **change})


def test_the_prescription_by_hand() -> None:
    """1/(8(1 + α)L) = 1/32 from twice the threshold on; at it √(με/2)/(2Lσ) = 1/(32√2); then F.9 gives ε."""
    p, target = assumptions(), 1 / 256
    assert corollaries.threshold(p) == target
    assert corollaries.step(p, 2 * target) == corollaries.step(p, 16 * target) == 1 / 32
    assert corollaries.step(p, target) == pytest.approx(1 / 32 / 2**0.5)
    for share in (0.25, 1.0):
        rounds = np.array(corollaries.rounds(p, share * target))
        bound = THEOREMS["F.9"].bound(p, corollaries.step(p, share * target), rounds)
        assert 0.99 * share * target < bound <= share * target


def test_the_prescription_for_convex_losses_by_hand() -> None:
    """σ²/((1 + α)²L) = 1/64, where both steps are 1/32; after the rounds prescribed the bound of F.7 is ε at most."""
    p, target = assumptions(local_steps=2), 1 / 64
    assert corollaries.convex_threshold(p) == target
    assert corollaries.convex_step(p, target) == corollaries.convex_step(p, 4 * target) == 1 / 64
    assert corollaries.convex_step(p, target / 4) == 1 / 128
    assert corollaries.convex_rounds(p, target) == 64 * 4 * 64
    for share in (0.25, 1.0, 4.0):
        rounds = np.array(corollaries.convex_rounds(p, share * target))
        bound = THEOREMS["F.7"].bound(p, corollaries.convex_step(p, share * target), rounds)
        assert 0.5 * share * target < bound <= share * target


def test_lemma_g_1_by_hand() -> None:
    """K = 2, η = 1/8, G = 2, ‖∇f‖² = 3: the drift is η L K² G² (η + 2η) = 3/4."""
    p = assumptions(local_steps=2)
    assert corollaries.most_change(p, 1 / 8, 3.0, printed=True) == 0.75 - 3
    assert corollaries.most_change(p, 1 / 8, 3.0, printed=False) == 0.75 - 0.75


def test_sampled_gradients_are_unbiased() -> None:
    """Over all draws of one of two records and of one of two clients; all of them are the whole gradient."""
    objective = Logistic(load("numpy"), 2, 0, "thumbnails", 0.2)
    w = np.full((4000, 2, objective.d), 0.1)
    exact = objective.gradients(w[:1])[0]
    random = np.random.default_rng(0)
    np.testing.assert_allclose(SampledEstimates(objective, random, 1.0, 1.0)(w[:1])[0], exact, rtol=1e-12)
    drawn = SampledEstimates(objective, random, 0.5, 0.5)(w)
    assert ((drawn != 0).any(axis=-1).sum(axis=1) == 1).all()
    error = abs(drawn.mean(axis=0) - exact) / (drawn.std(axis=0) / len(w) ** 0.5)
    assert error.max() < 5.5
