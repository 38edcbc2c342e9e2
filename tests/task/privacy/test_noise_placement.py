"""What a placement of noise costs, against its definition, and what the attacker sees."""

import numpy as np
import pytest

from sketchbench.kernels import load
from sketchbench.privacy import gaussian
from sketchbench.sketch import CountSketch, Gaussian, SubsampledHadamard
from sketchbench.task.privacy.noise_placement import NoisePlacement


def task(family: Gaussian | CountSketch | SubsampledHadamard, trials: int = 2000) -> NoisePlacement:
    return NoisePlacement(family, load("numba"), 3, trials=trials, epsilon=2.0, delta=0.01)


@pytest.mark.parametrize("family", [Gaussian(12, 4), CountSketch(12, 4), SubsampledHadamard(16, 4)])
def test_both_show_the_distance_that_the_account_assumes(family: Gaussian) -> None:
    """μ standard deviations of the exact curve, whatever the operator; twice as many with half of the noise."""
    mu = gaussian.mu(2.0, 0.01)
    shifts = {row["case"]: float(str(row["shift"])) for row in task(family).run() if row["quantity"] == "audit"}
    assert shifts["before"] == pytest.approx(mu, abs=0.2)
    assert shifts["after"] == pytest.approx(mu, abs=0.2)
    assert shifts["halved"] == pytest.approx(2 * mu, abs=0.2)
    assert shifts["unscaled"] > 1.5 * mu


def test_the_cost_by_drawing_noise() -> None:
    """Power of desketched noise, after over before, of one drawn operator."""
    family = Gaussian(12, 4)
    (setting, *_) = task(family, 2)._settings("noise", "cost")
    (ratio, _) = task(family, 2)._ratio(setting)
    R = setting.R[0]
    random = np.random.default_rng(1)
    before = random.standard_normal((40_000, 12)) @ R.T @ R
    after = np.linalg.norm(R, 2) * random.standard_normal((40_000, 4)) @ R
    assert (after**2).sum() / (before**2).sum() == pytest.approx(ratio, rel=0.02)


def test_odd_trials() -> None:
    with pytest.raises(ValueError, match="trials=3 must be even"):
        task(Gaussian(12, 4), 3)
