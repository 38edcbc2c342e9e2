"""Constants of gradient matching, and the spectra of sketches against enumeration and other formulas."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.theory import leakage


@pytest.mark.parametrize(("d", "b"), [(1, 1), (4, 1), (5, 2), (6, 3), (3, 5), (7, 4)])
def test_the_spectrum_of_count_sketch_by_enumeration(d: int, b: int) -> None:
    loads = [np.bincount(a, minlength=b) for a in itertools.product(range(b), repeat=d)]
    spectrum = leakage.count_sketch_spectrum(d=d, b=b)
    assert spectrum.largest == pytest.approx(np.mean([load.max() ** 0.5 for load in loads]))
    assert spectrum.smallest == pytest.approx(np.mean([load.min() ** 0.5 for load in loads]))
    assert spectrum.rank == pytest.approx(np.mean([(load > 0).sum() for load in loads]))
    empty = np.mean([load.min() == 0 for load in loads])
    assert spectrum.deficient == pytest.approx(empty, abs=1e-12)
    assert spectrum.exact


@pytest.mark.parametrize(("d", "b"), [(32, 8), (128, 32), (1024, 128)])
def test_an_empty_bucket_by_inclusion_and_exclusion(d: int, b: int) -> None:
    terms = [(-1) ** (k + 1) * math.comb(b, k) * (b - k) ** d for k in range(1, b + 1)]
    exact = sum(terms) / b**d  # integers: nothing cancels
    assert leakage.count_sketch_spectrum(d=d, b=b).deficient == pytest.approx(exact, rel=1e-9)


def test_the_spectrum_of_gaussian_by_singular_values() -> None:
    """Gordon's bounds are limits: 3 and 1 at d = 400, b = 100; means over 20 draws lie between, 0.1 away at most."""
    spectrum = leakage.gaussian_spectrum(d=400, b=100)
    draws = np.random.default_rng(0).standard_normal((20, 100, 400)) / 10
    values = np.linalg.svd(draws, compute_uv=False)
    assert spectrum.largest - 0.1 < values[:, 0].mean() <= spectrum.largest == 3
    assert spectrum.smallest <= values[:, -1].mean() < spectrum.smallest + 0.1 == 1.1
    assert (values[:, -1] > 0).all()  # so that the rank is b
    assert (spectrum.rank, spectrum.deficient, spectrum.exact) == (100, 0.0, False)


@pytest.mark.parametrize(("d", "b"), [(16, 4), (12, 5), (7, 7), (9, 1)])
def test_the_spectrum_of_orthogonal_rows_by_singular_values(d: int, b: int) -> None:
    """b rows of a random rotation, scaled so that R keeps squared norms in the mean: E‖Rx‖² = ‖x‖² over random x."""
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((d, d)))[0]
    values = np.linalg.svd(rotation[:b] * np.sqrt(d / b), compute_uv=False)
    assert (values**2).sum() == pytest.approx(d)  # the trace of RᵀR is that of the identity
    spectrum = leakage.orthogonal_spectrum(d=d, b=b)
    np.testing.assert_allclose(values, spectrum.largest)
    np.testing.assert_allclose(values, spectrum.smallest)
    assert (spectrum.rank, spectrum.deficient, spectrum.exact) == (b, 0.0, True)


def test_rows_that_padding_is_cut_from() -> None:
    assert leakage.hadamard_spectrum(d=16, b=4) == leakage.orthogonal_spectrum(d=16, b=4)
    assert leakage.hadamard_spectrum(d=1, b=1).largest == 1
    with pytest.raises(ValueError, match="d=12 must be a power of two"):
        leakage.hadamard_spectrum(d=12, b=4)


def constants(theta_1: float, ratio: float, excess: float, gammas: tuple[float, float]) -> leakage.LeakageConstants:
    theta_2 = theta_1 * ratio
    values = (theta_1, theta_2, theta_2 * excess, *gammas)
    return leakage.LeakageConstants(*(np.array([value]) for value in values))


POSITIVE = st.floats(1e-3, 1e3)
AT_LEAST_1 = st.floats(1, 1e3)


@given(POSITIVE, AT_LEAST_1, AT_LEAST_1, POSITIVE, AT_LEAST_1)
def test_no_constants_fulfil_theorems_7_4_and_7_5(
    theta_1: float, ratio: float, excess: float, gamma_1: float, spread: float
) -> None:
    """For every θ₁ <= θ₂ <= β and γ₁ <= γ₂: at least 4 as printed, and 2 with the factors that are missing."""
    c = constants(theta_1, ratio, excess, (gamma_1, gamma_1 * spread))
    a, _ = leakage.semi_smoothness(c)
    assert leakage.condition_7_5(*leakage.non_critical_printed(c), a) >= 4 - 1e-9
    assert leakage.condition_7_5(*leakage.non_critical(c), a) >= 2 - 1e-9
    assert leakage.step_7_5(*leakage.non_critical(c), a, np.ones(1)) < 0


@given(POSITIVE, AT_LEAST_1)
def test_theorem_7_5_on_an_affine_gradient(theta_1: float, ratio: float) -> None:
    """L falls by (1 - 2ησ²)² along the singular vector of σ: never more slowly than promised, for any σ."""
    c = constants(theta_1, ratio, 1.0, (1.0, 1.0))
    low, high = leakage.non_critical(c)
    _, b = leakage.semi_smoothness(c)
    step = leakage.step_7_5(low, high, 0.0, b)
    rate = leakage.rate_7_5(low, high, 0.0, step)
    assert rate == pytest.approx(ratio**-4)
    for sigma in np.linspace(theta_1, theta_1 * ratio, 9):
        assert (1 - 2 * step * sigma**2) ** 2 <= (1 - rate) + 1e-12


def test_the_step_and_the_rate_are_those_of_the_descent_inequality() -> None:
    """L(x')/L(x) <= 1 - η(θ₁² - aθ₂) + η²bθ₂²: at Theorem 7.5's largest step 1 - γ, and best there."""
    low, high, a, b = (np.array([value]) for value in (3.0, 4.0, 0.5, 0.1))

    def left(step: np.ndarray) -> np.ndarray:
        return 1 - step * low**2 + step * a * high + step**2 * b * high**2

    step = leakage.step_7_5(low, high, a, b)
    rate = leakage.rate_7_5(low, high, a, step)
    np.testing.assert_allclose(left(step), 1 - rate)
    assert left(1.01 * step) > 1 - leakage.rate_7_5(low, high, a, 1.01 * step)
    assert left(0.99 * step) < 1 - leakage.rate_7_5(low, high, a, 0.99 * step)
    assert min(left(0.99 * step), left(1.01 * step)) > left(step)


def test_readings_differ_as_told() -> None:
    c = constants(1.0, 2.0, 1.5, (0.5, 4.0))  # θ₂ = 2, β = 3
    a, printed = leakage.semi_smoothness_printed(c)
    again, squared = leakage.semi_smoothness(c)
    assert a == again == 2 * 4 * 3 + 2 * 2 * 4
    assert (printed, squared) == (16 * 3, 16 * 9)
    assert leakage.non_critical_printed(c) == (0.5, 8)
    assert leakage.non_critical(c) == (1, 16)
