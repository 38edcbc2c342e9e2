"""The exact Gaussian curve against arbitrary precision, and at the ends of its range."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sketchbench.privacy import gaussian

EPSILONS = np.geomspace(1e-4, 100, 9).tolist()
DELTAS = [1e-12, 1e-9, 1e-5, 1e-2, 0.3]


def precise(mu: float, epsilon: float) -> mpmath.mpf:
    """δ by its definition, with 60 digits."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))
def test_ten_digits(epsilon: float, delta: float) -> None:
    mu = gaussian.mu(epsilon, delta)
    exact = precise(mu, epsilon)
    assert abs(float(exact / delta) - 1) < 1e-10
    assert abs(gaussian.delta(mu, epsilon) / float(exact) - 1) < 1e-10
    assert abs(gaussian.epsilon(mu, delta) / epsilon - 1) < 1e-10


def test_nothing_overflows() -> None:
    """Far outside what is asked for: either a number or a zero, never an error."""
    for mu, epsilon in itertools.product(np.geomspace(1e-8, 1e4, 13), np.geomspace(1e-6, 1e6, 13)):
        found = gaussian.log_delta(float(mu), float(epsilon))
        assert found <= 1e-12
        exact = precise(float(mu), float(epsilon))
        if float(exact) > 0:
            assert found == pytest.approx(float(mpmath.log(exact)), rel=1e-9, abs=1e-9)


@given(mu=st.floats(1e-3, 20), epsilon=st.floats(1e-3, 50), factor=st.floats(1.001, 3))
def test_monotone(mu: float, epsilon: float, factor: float) -> None:
    """Strictly, but for δ so near 1 that the difference is lost."""
    here = gaussian.log_delta(mu, epsilon)
    fewer, more = gaussian.log_delta(mu, epsilon * factor), gaussian.log_delta(mu * factor, epsilon)
    assert fewer <= here <= more
    assert (fewer < here < more) or here > -1e-9


def mixed(means: np.ndarray, chances: np.ndarray, epsilon: float) -> float:
    """δ of Σ w_j N(j, 1) against its mirror image, by integration."""
    x = np.linspace(-30, 30, 50_001)
    p = (chances[:, None] * stats.norm.pdf(x - means[:, None])).sum(axis=0)
    return float(np.maximum(p - math.exp(epsilon) * p[::-1], 0).sum() * (x[1] - x[0]))


@pytest.mark.parametrize(("mu", "batch", "records"), [(1.0, 4, 16), (2.0, 8, 16), (0.5, 30, 60)])
def test_resampling_is_above_a_real_pair(mu: float, batch: int, records: int) -> None:
    """A record with opposite values, all others zero: the limit is above its δ, and not vacuous."""
    times = np.arange(batch + 1)
    chances = stats.binom.pmf(times, batch, 1 / records)
    for epsilon in (0.1, 0.5, 1.0):
        limit = gaussian.resampled_delta(mu, epsilon, batch, records)
        assert mixed(times * mu / 2, chances, epsilon) <= limit <= gaussian.delta(mu * batch, epsilon)


def test_resampling_one_record_is_sampling_without_replacement() -> None:
    """With one draw only the shares' ratio is left between the limit and the exact amplification."""
    inner = math.log1p(math.expm1(0.2) * 50)
    exact = gaussian.delta(1.0, inner) / 50
    limit = gaussian.resampled_delta(1.0, 0.2, 1, 50)
    assert exact <= limit <= 1.1 * exact


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian.epsilon(1.0, 1.0), "delta=1.0 must satisfy 0 < delta < 1"),
        (lambda: gaussian.epsilon(0.0, 0.1), "mu=0.0 must satisfy"),
        (lambda: gaussian.mu(0.0, 0.1), "epsilon=0.0 must satisfy 0 < epsilon"),
        (lambda: gaussian.mu(1.0, 0.0), "delta=0.0 must satisfy"),
        (lambda: gaussian.delta(1.0, -1.0), "epsilon=-1.0 must be >= 0"),
    ],
)
def test_bad_values(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()
