"""The paper's privacy lemmas: their formulas, where they speak, and against exact ones."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from sketchbench.privacy import gaussian, renyi, worst_case
from sketchbench.privacy.mechanism import mean_sensitivity
from sketchbench.theory.privacy import (
    Guarantee,
    OutOfRangeError,
    advanced_composition,
    amplify_by_sampling,
    classical_composition,
    gaussian_epsilon,
    gaussian_noise,
    parallel_composition,
    sampling_with_replacement,
    training_guarantee,
)

GOOD = Guarantee(0.1, 1e-6)


def test_noise_and_back() -> None:
    sigma = gaussian_noise(0.5, 1e-6, 3.0)
    assert sigma**2 == pytest.approx(2 * math.log(1.25e6) * 9 / 0.25)
    assert gaussian_epsilon(sigma, 1e-6, 3.0) == pytest.approx(0.5)


def test_formulas_by_hand() -> None:
    assert parallel_composition([Guarantee(1, 0.1), Guarantee(2, 0.01)]) == (2, 0.1)
    total = advanced_composition(Guarantee(0.1, 1e-6), 50, slack=1e-5)
    assert total.epsilon == pytest.approx(math.sqrt(100 * math.log(1e5)) * 0.1 + 1.0)
    assert total.delta == pytest.approx(6e-5)
    assert training_guarantee(Guarantee(0.1, 1e-7), 20, 5) == pytest.approx((1.0, 1e-5))
    sampled = sampling_with_replacement(Guarantee(0.5, 1e-6), 10, 100)
    assert sampled == pytest.approx((0.3, math.exp(0.3) * 4e-7))
    at_the_edge = sampling_with_replacement(Guarantee(1.0, 1e-6), 50, 100)
    assert at_the_edge == pytest.approx((3.0, math.exp(3) * 2e-6))
    together = classical_composition(Guarantee(0.1, 1e-6), 50, slack=1e-5)
    assert together == pytest.approx((3.393070 + 5 * 0.105170918, 6e-5), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.9])
def test_the_noise_is_enough_by_the_exact_account(epsilon: float) -> None:
    """The δ of a Gaussian release that is shifted by the sensitivity; with two thirds of the noise it is too large."""
    sigma = gaussian_noise(epsilon, 1e-6, 3.0)
    assert gaussian.delta(3.0 / sigma, epsilon) <= 1e-6 < gaussian.delta(3.0 / (sigma / 1.5), epsilon)


def delta_of_randomised_responses(epsilon: float, each: float, times: int) -> float:
    """The least δ of `times` answers, each true with odds e^`each`: Σ max(P - e^ε Q, 0) (Kairouz et al. 2015)."""
    truth = 1 / (1 + math.exp(-each))
    return sum(
        math.comb(times, k)
        * max(0.0, truth**k * (1 - truth) ** (times - k) - math.exp(epsilon) * truth ** (times - k) * (1 - truth) ** k)
        for k in range(times + 1)
    )


def test_the_composition_of_2010_ends_at_exp_600() -> None:
    """At ε = 600 its sum is a float, k ε exp(ε) but for a part below its precision."""
    assert classical_composition(Guarantee(600.0, 0.0), 2, slack=0.5).epsilon == pytest.approx(1200 * math.exp(600))
    with pytest.raises(OutOfRangeError, match=r"needs a step's 0 <= ε <= 600\.0, not 600\.1"):
        classical_composition(Guarantee(600.1, 0.0), 2, slack=0.5)


@pytest.mark.parametrize(("each", "times"), [(0.1, 50), (0.05, 200), (0.02, 500)])
@pytest.mark.parametrize("compose", [advanced_composition, classical_composition])
def test_composition_bounds_randomised_responses(compose: Any, each: float, times: int) -> None:
    """The mechanisms for which composition costs most; half of the ε would be too little."""
    total = compose(Guarantee(each, 0.0), times, 1e-6)
    assert delta_of_randomised_responses(total.epsilon, each, times) <= total.delta == 1e-6
    assert delta_of_randomised_responses(total.epsilon / 2, each, times) > 1e-6


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("times", [1, 10, 1000])
def test_the_paper_composes_as_its_source_does_or_worse(epsilon: float, times: int) -> None:
    ours, source = (f(Guarantee(epsilon, 0.0), times, 1e-6) for f in (advanced_composition, classical_composition))
    assert source.epsilon <= ours.epsilon
    assert source.delta == ours.delta


@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_amplification_is_exact_for_what_is_released_at_random(share: float) -> None:
    """A release that happens with this probability: its δ is share times δ at the inner ε."""
    total = amplify_by_sampling(Guarantee(1.0, gaussian.delta(0.7, 1.0)), share)
    mixed = share * gaussian.delta(0.7, math.log1p(math.expm1(total.epsilon) / share))
    assert total.delta == pytest.approx(mixed)
    assert total.epsilon <= 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: advanced_composition(Guarantee(1.1, 0), 2, 0.1), "Lemma H.3 needs ε <= 1, not 1.1"),
        (lambda: sampling_with_replacement(Guarantee(1.1, 0), 2, 10), "Lemma H.4 needs ε <= 1, not 1.1"),
        (lambda: sampling_with_replacement(Guarantee(0.5, 0), 6, 10), "needs batch <= records/2, not 6 of 10"),
        (lambda: training_guarantee(Guarantee(0.5, 0), 3, 4), r"Lemma 6.1 needs a step's ε < 1/√K = 0.5"),
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
        (lambda: advanced_composition(Guarantee(0.5, 0), 2, 1.0), "slack=1.0 must satisfy"),
        (lambda: advanced_composition(GOOD, -1, 1e-5), "times=-1 must be >= 1"),
        (lambda: classical_composition(GOOD._replace(delta=math.nan), 3, 1e-5), "each has .* delta=nan"),
        (lambda: sampling_with_replacement(GOOD._replace(epsilon=-0.1), 1, 10), "each has epsilon=-0.1"),
        (lambda: amplify_by_sampling(GOOD, 1.5), "share=1.5 must be > 0 and <= 1"),
        (lambda: training_guarantee(GOOD, 3, 0), "local_steps=0 must be >= 1"),
        (lambda: parallel_composition([]), "there is no guarantee to compose"),
        (lambda: parallel_composition([GOOD._replace(epsilon=math.nan)]), "epsilon=nan"),
        (lambda: renyi.epsilon(1, 0.1, math.nan, 1e-5), "sigma=nan must be finite|sigma=nan must be > 0"),
        (lambda: renyi.epsilon(1, 2.0, 1.0, 1e-5), "rate=2.0 must be > 0 and <= 1"),
        (lambda: mean_sensitivity(math.nan, 10, "add_remove"), "bound=nan must be"),
        (lambda: mean_sensitivity(1.0, 0, "add_remove"), "batch=0 must be >= 1"),
        (lambda: worst_case.composed_epsilon(math.nan, 0.0, 3, 0.1), "each=nan must be"),
    ],
)
def test_what_lemmas_refuse(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
