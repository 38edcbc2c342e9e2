"""tang2021 Theorem 1, by hand."""

import pytest

from sketchbench.theory.compressed_sensing import SensingSetting, sparsity_limit


def setting(**change: float) -> SensingSetting:
    values = {
        "smoothness": 2.0,
        "gap": 3.0,
        "squared_distance": 5.0,
        "noise_energy": 7.0,
        "channel_energy": 11.0,
        "share": 0.25,
        "tail": 0.5,
        "noise": 1.5,
        "gamma": 0.5,
        "rounds": 400,
    }
    return SensingSetting(**{**values, **change})  # type: ignore[arg-type]


def test_the_bounds() -> None:
    """γ(1 + γ)/(1 - γ)² = 3, and 2 (1.5 + 0.5)² 11/(1 - 0.5) = 176."""
    lost = 3 * 7 + 176
    assert setting().rate == pytest.approx(1 / 40)
    assert setting().squared_gradient == pytest.approx((6 * 2 * 3 + 3 * 7) / 40 + 3 / 400 * lost)
    assert setting().average_excess == pytest.approx((2 * 5 + 7 / 2) / 20 + 6 / 400 * lost / 2)


def test_the_bounds_at_other_numbers() -> None:
    """At γ = 1/4, where γ(1 + γ)/(1 - γ)² = 5/9; 2 (0.7 + 0.3)² 11/(3/4) = 88/3."""
    other = setting(smoothness=3.0, gap=1.0, noise_energy=9.0, share=0.09, noise=0.7, gamma=0.25, rounds=100)
    assert other.rate == pytest.approx(1 / 30)
    assert other.squared_gradient == pytest.approx((18 + 27) / 20 + 3 / 100 * (5 + 88 / 3))
    assert other.average_excess == pytest.approx((15 + 3) / 10 + 6 / 100 * (5 + 88 / 3) / 3)


def test_with_the_dropped_noise() -> None:
    """(Q/d)σ² = 11/4 beside G² = 7 in the first terms only."""
    corrected = setting().with_channel_noise
    assert corrected.squared_gradient - setting().squared_gradient == pytest.approx(3 * 11 / 4 / 40)
    assert corrected.average_excess - setting().average_excess == pytest.approx(11 / 4 / 2 / 20)
    assert corrected.memory_energy == setting().memory_energy


def test_lemma_4() -> None:
    """2η²/(1 - γ) [γ(1 + γ)/(1 - γ) G² + 2(C_n + √(Q/d))²σ²] with η = 1/40, and 2η² γ(1 + γ)/(1 - γ)²."""
    assert setting().memory_energy == pytest.approx(2 / 1600 / 0.5 * (1.5 * 7 + 2 * 4 * 11))
    assert setting().memory_slope == pytest.approx(2 / 1600 * 3)


def fewest_rounds(gamma: float) -> int:
    """By trying all."""
    for rounds in range(1, 10_000):
        try:
            setting(gamma=gamma, rounds=rounds)
        except ValueError:
            continue
        return rounds
    raise AssertionError


def test_the_fewest_rounds() -> None:
    """The proof's 1/6 + u/2 + 3 c u² <= 1/4 for u = 1/√T, solved for T. At γ = 1/2, c = 3: u <= (√3.25 - 1/2)/18, so
    T >= 190.9; at γ = 1/4, c = 5/9: u <= (√(1/4 + 5/9) - 1/2)/(10/3), so T >= 70.4; at c = 0, T >= 36."""
    assert fewest_rounds(0.5) == 191
    assert fewest_rounds(0.25) == 71
    assert fewest_rounds(1e-9) == 37


def test_without_noise_and_compression_it_is_that_of_gradient_descent() -> None:
    quiet = setting(noise_energy=0.0, channel_energy=0.0, gamma=1e-9)
    assert quiet.average_excess == pytest.approx(2 * 5 / 20)


def test_the_condition() -> None:
    assert sparsity_limit(10, 100, 0.0, 0.5) == pytest.approx(0.1)
    assert sparsity_limit(10, 100, 1.0, 0.5) == pytest.approx(0.1 / 3.8**2)
    assert sparsity_limit(25, 100, 2.0, 0.3) == pytest.approx(0.15 / 6**2)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match=r"gamma=1\.0 must be > 0 and < 1"):
        setting(gamma=1.0)
    with pytest.raises(ValueError, match=r"rounds=100 are too few for Theorem 1 with gamma=0\.5"):
        setting(rounds=100)
