"""The tasks on gradient matching and on spectra: their rows, and what they refuse."""

import dataclasses
import functools
from typing import Any

import pytest

from sketchbench.kernels import load
from sketchbench.measure.row import Row
from sketchbench.sketch import CountSketch, Gaussian, Identity
from sketchbench.task.inversion.attack_convergence import AttackConvergence
from sketchbench.task.sketches.spectrum import Spectrum
from sketchbench.theory import leakage
from sketchbench.theory.known import Known

SMALL = AttackConvergence(
    family=Gaussian(8, 4),
    known=Known(spectrum=leakage.gaussian_spectrum),
    kernels=load("numba"),
    seed=1,
    trials=6,
    lipschitz=[3.0],
    batch=8,
    rounds=5,
    recovery_rounds=300,
    points=2,
    variation=0.04,
)


@functools.cache
def rows() -> list[Row]:
    return SMALL.run()


def test_rows() -> None:
    names = {(row["case"], row["quantity"]) for row in rows()}
    for case in ("bilinear, β = 3", "network"):
        assert (case, "semi_smoothness") in names
    assert ("bilinear, β = 3", "contraction") in names
    assert ("network", "contraction") not in names
    (recovered,) = (row for row in rows() if row["quantity"] == "recovered")
    assert recovered["exact"] == 0.5
    logs = [row for row in rows() if row["quantity"] == "log_loss" and row["case"] != "network"]
    assert [row["round"] for row in logs] == [1, 5]
    assert all(row["mean"] < row["bound"] < 0 for row in logs)


def test_everything_is_found_without_a_sketch() -> None:
    known = Known(spectrum=leakage.orthogonal_spectrum)
    task = dataclasses.replace(SMALL, family=Identity(8, 8), known=known)
    (recovered,) = (row for row in task.run() if row["quantity"] == "recovered")
    assert recovered["exact"] == 1
    assert recovered["minimum"] == pytest.approx(1, abs=1e-12)


def test_draws_without_a_step_of_their_own() -> None:
    """A CountSketch with empty buckets has γ₁ = 0: nothing of Theorem 7.5 is said of it, and the rest is finite."""
    known = Known(spectrum=leakage.count_sketch_spectrum)
    task = dataclasses.replace(SMALL, family=CountSketch(8, 4), known=known, trials=40)
    found = task.run()
    (contraction, repaired) = (row for row in found if row["quantity"] == "contraction")
    assert 0 < int(repaired["trials"]) <= int(contraction["trials"])
    assert 0 < contraction["trials"] < 40
    assert contraction["count"] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"family": Gaussian(10, 4)}, "d=10 must be a multiple of 4"),
        ({"family": Gaussian(8, 9)}, "at least b=9"),
        ({"batch": 2}, "at most the number of inputs, 6"),
    ],
)
def test_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **change).run()


def spectrum(family: Any, known: Known, trials: int = 200) -> dict[str, Row]:
    found = Spectrum(family, known, load("numba"), 2, trials).run()
    return {f"{row['quantity']} {row.get('case', '')}".strip(): row for row in found}


def test_spectra() -> None:
    found = spectrum(CountSketch(16, 4), Known(spectrum=leakage.count_sketch_spectrum))
    assert found["norm printed"]["exact"] == 1
    assert found["norm derived"]["minimum"] >= 2
    # 200 draws with a probability of 0.04 are too few for a judgement
    assert "exact" not in found["deficient derived"]
    assert "exact" not in found["gamma_1 derived"]
    assert found["lost_rows"]["count"] == round(found["deficient derived"]["mean"] * 200)
    often = spectrum(CountSketch(16, 8), Known(spectrum=leakage.count_sketch_spectrum))
    assert 0.5 < often["deficient derived"]["exact"] < 1
    gaussian = spectrum(Gaussian(16, 4), Known(spectrum=leakage.gaussian_spectrum))
    assert gaussian["gamma_1_missing derived"]["bound"] == 0
    assert "exact" not in gaussian["gamma_1 derived"]


def test_spectra_that_are_refused() -> None:
    with pytest.raises(ValueError, match="b=5 must be <= d=4"):
        spectrum(Gaussian(4, 5), Known(spectrum=leakage.gaussian_spectrum))
    with pytest.raises(ValueError, match="needs a spectrum under `theory`"):
        spectrum(Gaussian(4, 2), Known())
