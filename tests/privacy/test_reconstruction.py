"""The bound of reconstruction against privacy curves, and against the best attack on a prior of two records."""

import math

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sketchbench.privacy import gaussian
from sketchbench.privacy.mechanism import Composed, GaussianRelease, SampledGaussian
from sketchbench.privacy.reconstruction import reconstruction_bound
from sketchbench.privacy.sampling import Sampling

BASELINES = st.floats(1e-6, 0.999)
MULTIPLIERS = st.floats(0.05, 50)  # sensitivity over σ


@examples(15)
@given(BASELINES, MULTIPLIERS, st.floats(0, 20), st.integers(1, 50))
def test_below_all_private_curves_and_above_the_guess(baseline: float, mu: float, epsilon: float, times: int) -> None:
    """An (ε, δ)-private mechanism blows κ up to at most exp(ε) κ + δ."""
    bound = reconstruction_bound(Composed(GaussianRelease(mu, 1.0), times), baseline)
    blown = math.exp(epsilon) * baseline + gaussian.delta(math.sqrt(times) * mu, epsilon)
    assert baseline * (1 - 1e-9) <= bound <= min(1.0, blown) * (1 + 1e-9)


@examples(15)
@given(BASELINES, st.floats(0.05, 5))
def test_touched_by_a_private_curve(baseline: float, mu: float) -> None:
    """At the ε of the ratio of densities where the event ends, the two are equal."""
    bound = reconstruction_bound(GaussianRelease(mu, 1.0), baseline)
    threshold = -stats.norm.ppf(baseline)  # of the event under noise alone, in units of σ
    epsilon = mu * threshold - mu**2 / 2  # the logarithm of the ratio of densities there
    if epsilon >= 0:
        assert bound == pytest.approx(math.exp(epsilon) * baseline + gaussian.delta(mu, epsilon), rel=1e-9)


def test_two_opposite_records() -> None:
    """The best attack on N(±μ, 1) is right with probability Φ(μ): the bound is reached."""
    assert reconstruction_bound(GaussianRelease(0.7, 1.0), 0.5) == pytest.approx(stats.norm.cdf(0.7))


def test_random_batches_are_refused() -> None:
    step = SampledGaussian(GaussianRelease(1.0, 1.0), Sampling("poisson", 2, 10), "add_remove")
    with pytest.raises(ValueError, match="sampling=poisson must be full"):
        reconstruction_bound(step, 0.1)
