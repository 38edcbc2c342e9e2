"""The paper's privacy lemmas: their formulas, where they speak, and against exact ones."""

import math

import pytest

from sketchbench.privacy import gaussian
from sketchbench.theory.privacy import (
    Guarantee,
    OutOfRangeError,
    advanced,
    amplified,
    classical,
    gaussian_epsilon,
    gaussian_noise,
    parallel,
    sampling,
    training,
)


def test_noise_and_back() -> None:
    sigma = gaussian_noise(0.5, 1e-6, 3.0)
    assert sigma**2 == pytest.approx(2 * math.log(1.25e6) * 9 / 0.25)
    assert gaussian_epsilon(sigma, 1e-6, 3.0) == pytest.approx(0.5)


def test_formulas_by_hand() -> None:
    assert parallel([Guarantee(1, 0.1), Guarantee(2, 0.01)]) == (2, 0.1)
    total = advanced(Guarantee(0.1, 1e-6), 50, slack=1e-5)
    assert total.epsilon == pytest.approx(math.sqrt(100 * math.log(1e5)) * 0.1 + 1.0)
    assert total.delta == pytest.approx(6e-5)
    assert training(Guarantee(0.1, 1e-7), 20, 5) == pytest.approx((1.0, 1e-5))
    sampled = sampling(Guarantee(0.5, 1e-6), 10, 100)
    assert sampled == pytest.approx((0.3, math.exp(0.3) * 4e-7))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("times", [1, 10, 1000])
def test_the_paper_composes_as_its_source_does_or_worse(epsilon: float, times: int) -> None:
    ours, source = (f(Guarantee(epsilon, 0.0), times, 1e-6) for f in (advanced, classical))
    assert source.epsilon <= ours.epsilon
    assert source.delta == ours.delta


@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_amplification_is_exact_for_what_is_released_at_random(share: float) -> None:
    """A release that happens with this probability: its δ is share times δ at the inner ε."""
    total = amplified(Guarantee(1.0, gaussian.delta(0.7, 1.0)), share)
    mixed = share * gaussian.delta(0.7, math.log1p(math.expm1(total.epsilon) / share))
    assert total.delta == pytest.approx(mixed)
    assert total.epsilon <= 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: advanced(Guarantee(1.1, 0), 2, 0.1), "Lemma H.3 needs ε <= 1, not 1.1"),
        (lambda: sampling(Guarantee(1.1, 0), 2, 10), "Lemma H.4 needs ε <= 1, not 1.1"),
        (lambda: sampling(Guarantee(0.5, 0), 6, 10), "needs batch <= records/2, not 6 of 10"),
        (lambda: training(Guarantee(0.5, 0), 3, 4), r"Lemma 6.1 needs a step's ε < 1/√K = 0.5"),
    ],
)
def test_conditions(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OutOfRangeError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian_noise(0.0, 1e-5, 1.0), "epsilon=0.0 must satisfy 0 < epsilon"),
        (lambda: gaussian_noise(1.0, 1.0, 1.0), "delta=1.0 must satisfy 0 < delta < 1"),
        (lambda: gaussian_epsilon(0.0, 1e-5, 1.0), "sigma=0.0 must satisfy"),
        (lambda: advanced(Guarantee(0.5, 0), 2, 1.0), "slack=1.0 must satisfy"),
    ],
)
def test_bad_values(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()
