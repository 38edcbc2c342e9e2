"""Broken sketches and slopes are rejected by the claims on gradient matching that pass the sound ones."""

import dataclasses
from typing import Any

import pytest
import torch
from judging import shared, verdicts
from operators import BucketNeverUsed, CountSketchTwice, DesketchNotAdjoint, GaussianUnscaled, OperatorReused

from sketchbench.attack.gradient_matching import GradientMatching
from sketchbench.measure.row import Row
from sketchbench.sketch import CountSketch, Family, Gaussian, Identity
from sketchbench.task.attack_convergence import AttackConvergence
from sketchbench.task.spectrum import Spectrum
from sketchbench.theory import leakage
from sketchbench.theory.known import Known

HASHED = Known(spectrum=leakage.count_sketch_spectrum)
DENSE = Known(spectrum=leakage.gaussian_spectrum)
SOUND = AttackConvergence(
    **shared(CountSketch(32, 8), 60),
    known=HASHED,
    lipschitz=[0.5, 8],
    batch=12,
    rounds=60,
    recovery_rounds=300,
    points=2,
    variation=0.04,
)
EXPECTED = {
    "S23": {"holds"},
    "S23-residual": {"holds"},
    "S23-linear": {"holds"},
    "S24": {"fails"},
    "S25-corrected": {"holds"},
    "S26-printed": {"fails"},
    "S26-squared": {"holds"},
}


def judged(task: AttackConvergence) -> dict[str, set[str]]:
    rows = task.run()
    return {claim: verdicts(claim, rows) for claim in EXPECTED}


def test_the_sound_ones() -> None:
    assert judged(SOUND) == EXPECTED
    assert judged(dataclasses.replace(SOUND, family=Gaussian(32, 8), known=DENSE)) == EXPECTED


def test_an_attack_that_stays_where_it_starts() -> None:
    """Judged in the place of the attack; and a network, where nothing converges linearly."""
    rows = SOUND.run()
    names = {"contraction_still": "contraction", "recovered_still": "recovered"}
    still = [
        Row(names[row["quantity"]], **{k: v for k, v in row.items() if k != "quantity"})
        for row in rows
        if row["quantity"] in names
    ]
    assert verdicts("S23", still) == {"fails"}
    assert verdicts("S23-residual", still) == {"fails"}
    assert "holds" not in verdicts("S23-network", rows)
    once, twice = ([row for row in rows if row["quantity"] == f"contraction{end}"] for end in ("", "_twice"))
    once = [row for row in once if row.get("case") in {fast.get("case") for fast in twice}]
    assert all(fast["maximum"] < row["maximum"] for row, fast in zip(once, twice, strict=True))
    assert verdicts("S23", [{**row, "quantity": "contraction"} for row in twice]) == {"holds"}  # so it is not sharp


def test_the_printed_constants_without_a_sketch() -> None:
    known = Known(spectrum=leakage.orthogonal_spectrum)
    rows = dataclasses.replace(SOUND, family=Identity(32, 32), known=known).run()
    assert "fails" in verdicts("S25-printed", rows)
    assert verdicts("S23", rows) == {"holds"}
    small = [row for row in rows if row["case"] != "bilinear, β = 8"]
    found = [row["count"] for row in small if row["quantity"] == "semi_smoothness_printed"]
    assert found[0] == 0  # β = 1/2: the printed constant is the larger one


def test_a_desketch_that_is_no_adjoint() -> None:
    """Slopes by another matrix than Rᵀ, with the same singular values."""
    found = judged(dataclasses.replace(SOUND, family=DesketchNotAdjoint(32, 8)))
    assert "fails" in found["S23"]
    assert "fails" in found["S23-residual"]


def test_a_pseudo_hessian_that_varies_more_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer of sines with twice the slope in the place of the hyperbolic tangents."""
    monkeypatch.setattr("torch.tanh", lambda x: torch.sin(2 * x))
    assert "fails" in verdicts("S23-residual", SOUND.run())


def test_slopes_without_the_factor_2(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = GradientMatching.loss

    def halved(self: Any, x: Any) -> Any:
        value, slope = loss(self, x)
        return value, slope / 2

    monkeypatch.setattr(GradientMatching, "loss", halved)
    assert "fails" in judged(SOUND)["S25-corrected"]


def test_another_operator_than_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attacker who draws a sketch of his own does not find what is there."""
    init = GradientMatching.__init__

    def wrong(self: Any, problem: Any, operators: Any) -> None:
        init(self, problem, operators)
        self._operators = SOUND.family.draw(99, operators=SOUND.trials, kernels=SOUND.kernels)

    monkeypatch.setattr(GradientMatching, "__init__", wrong)
    assert "fails" in judged(SOUND)["S23"]


def derived(family: Family, known: Known) -> set[str]:
    return verdicts("S27-derived", Spectrum(**shared(family, 1000), known=known).run())


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("family", "known", "expected"),
    [
        (CountSketch(64, 16), HASHED, {"holds"}),
        (CountSketchTwice(64, 16), HASHED, {"fails"}),
        (BucketNeverUsed(64, 16), HASHED, {"fails"}),
        (OperatorReused(64, 16), HASHED, {"fails"}),
        (Gaussian(64, 16), DENSE, {"holds"}),
        (GaussianUnscaled(64, 16), DENSE, {"fails"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_spectra(family: Family, known: Known, expected: set[str]) -> None:
    found = derived(family, known)
    assert found == expected or (expected == {"fails"} and "fails" in found)
