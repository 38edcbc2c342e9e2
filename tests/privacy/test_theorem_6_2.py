"""Which trainings break song2023 Theorem 6.2: the numbers of finding 1 and of erratum song2023-6.2, at δ = 1e-5."""

import math

import numpy as np
import pytest
from scipy import optimize

import sketchbench as sb
from sketchbench.privacy import gaussian
from sketchbench.theory.privacy import gaussian_noise

DELTA = 1e-5


def sigma(total: float, step: float) -> tuple[float, float]:
    """The noise of Lemma H.7 for the sensitivity 1, and the number of steps, of ε̂ = `step` each, with this total."""
    steps = (total / step) ** 2
    return gaussian_noise(step, DELTA / steps, 1.0), steps


@pytest.mark.parametrize(("step", "least"), [(1.0, 22.9), (0.3, 30.6), (0.1, 37.6), (0.01, 52.4)])
def test_the_shortest_trainings_fail_first(step: float, least: float) -> None:
    """The total from which trainings with this ε̂ of a step fail: no smaller total fails."""

    def excess(log_total: float) -> float:
        total = math.exp(log_total)
        noise, steps = sigma(total, step)
        return gaussian.log_delta(math.sqrt(steps) / noise, total) - math.log(DELTA)

    found = math.exp(optimize.brentq(excess, math.log(2), math.log(1_000)))
    assert found == pytest.approx(least, abs=0.05)
    assert all(excess(math.log(share * found)) < 0 for share in np.linspace(0.1, 0.999, 50))


def log_delta(rate: float, noise: float, steps: float, epsilon: float) -> float:
    """log δ of Poisson-sampled Gaussian steps that lose a record, with no accountant: δ is the mean of
    (1 - exp(ε - L))₊ over the loss L, the inverse Laplace transform of E exp(zL) / (z(1 + z)) along Re z = c."""
    x = np.linspace(-14 * noise, 1 + 14 * noise, 4_001)
    loss = np.log1p(rate * np.expm1((2 * x - 1) / (2 * noise**2)))  # of a release with the record
    weight = np.exp(-(x**2) / (2 * noise**2)) * np.exp(loss)
    log_weight = np.log(weight / weight.sum())

    def tilted(c: float) -> tuple[float, np.ndarray]:
        exponent = log_weight + c * loss
        top = exponent.max()
        shares = np.exp(exponent - top)
        return float(top + np.log(shares.sum())), shares / shares.sum()

    saddle = lambda c: steps * (tilted(c)[1] @ loss) - epsilon - 1 / c - 1 / (1 + c)  # noqa: E731
    c = float(optimize.brentq(saddle, 1e-12, 1e3))
    log_moment, shares = tilted(c)
    spread = 1 / math.sqrt(steps * (shares @ (loss - shares @ loss) ** 2) + 1 / c**2 + 1 / (1 + c) ** 2)
    frequencies = np.linspace(0, 14 * spread, 301)
    moments = np.array([shares @ np.exp(1j * u * loss) for u in frequencies])
    z = c + 1j * frequencies
    values = (np.exp(steps * np.log(moments) - 1j * frequencies * epsilon) / (z * (1 + z))).real
    integral = (values.sum() - values[0] / 2) * frequencies[1] / math.pi
    return steps * log_moment - c * epsilon + math.log(integral)


@pytest.mark.parametrize(("rate", "least"), [(1.0, 22.92), (0.5, 249.3), (0.1, 11_426), (0.01, 1.5947e6)])
def test_random_batches_delay_the_failure(rate: float, least: float) -> None:
    """The least total that fails if each step draws each record with this probability, for ε̂ = 1 and K = 1."""
    for share, fails in ((0.998, False), (1.002, True)):
        noise, steps = sigma(share * least, 1.0)
        assert (log_delta(rate, noise, steps, share * least) > math.log(DELTA)) is fails


@pytest.mark.parametrize(("rate", "spent"), [(0.5, 13.08), (0.1, 1.993), (0.01, 0.1602)])
def test_what_902_steps_spend_that_promise_30(rate: float, spent: float) -> None:
    """By the accountant of dp-accounting, and by the transform: two ways to one number."""
    step = 30 / math.sqrt(902)
    noise, steps = sigma(30, step)
    batches = sb.Sampling("poisson", batch=round(1_000 * rate), records=1_000)
    release = sb.SampledGaussian(sb.GaussianRelease(1.0, noise), batches, "add_remove")
    assert sb.epsilon("pld", sb.Composed(release, 902), DELTA) == pytest.approx(spent, rel=2e-3)
    assert log_delta(rate, noise, steps, 0.995 * spent) > math.log(DELTA) > log_delta(rate, noise, steps, 1.005 * spent)
