"""Broken sketches, and other penalties, are rejected by the claims about sketching as a regulariser."""

from typing import Any

import pytest
from judging import shared, verdict, verdicts
from operators import DesketchNotAdjoint, GaussianUnscaled, SamplingScaledByB, SignsBiased

from sketchbench.sketch import CountSketch, Family, Gaussian, UniformSampling
from sketchbench.sketch.control import QuarterCountSketch, TiedSigns
from sketchbench.task.double_blind import regulariser
from sketchbench.task.double_blind.regulariser import Regulariser
from sketchbench.theory import second_moment
from sketchbench.theory.known import Known

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
