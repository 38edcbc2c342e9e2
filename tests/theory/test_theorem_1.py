"""tang2021 Theorem 1, by hand."""

import pytest

from sketchbench.theory.compressed_sensing import Setting, sparsity_limit


def setting(**change: float) -> Setting:
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
    return Setting(**{**values, **change})  # type: ignore[arg-type]


def test_the_bounds() -> None:
    """γ(1 + γ)/(1 - γ)² = 3, and 2 (1.5 + 0.5)² 11/(1 - 0.5) = 176."""
    lost = 3 * 7 + 176
    assert setting().rate == pytest.approx(1 / 40)
    assert setting().squared_gradient == pytest.approx((6 * 2 * 3 + 3 * 7) / 40 + 3 / 400 * lost)
    assert setting().average_excess == pytest.approx((2 * 5 + 7 / 2) / 20 + 6 / 400 * lost / 2)


def test_without_noise_and_compression_it_is_that_of_gradient_descent() -> None:
    quiet = setting(noise_energy=0.0, channel_energy=0.0, gamma=1e-9)
    assert quiet.average_excess == pytest.approx(2 * 5 / 20)


def test_the_condition() -> None:
    assert sparsity_limit(10, 100, 0.0, 0.5) == pytest.approx(0.1)
    assert sparsity_limit(10, 100, 1.0, 0.5) == pytest.approx(0.1 / 3.8**2)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match=r"gamma=1\.0 must be > 0 and < 1"):
        setting(gamma=1.0)
    with pytest.raises(ValueError, match=r"rounds=100 are too few for Theorem 1 with gamma=0\.5"):
        setting(rounds=100)
