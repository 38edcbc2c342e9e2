"""tang2021 Theorem 1, by hand."""

import itertools
from collections.abc import Callable
from typing import Any

import exhaustive
import numpy as np
import pytest

from sketchbench.theory import second_moment, weight_sketch
from sketchbench.theory.compressed_sensing import SensingSetting, sparsity_limit
from sketchbench.theory.double_blind import dropout_penalty, penalty


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
    for rounds in range(1, 10_000):
        try:
            setting(gamma=gamma, rounds=rounds)
        except ValueError:
            continue
        return rounds
    raise AssertionError


def test_the_fewest_rounds() -> None:
    """1/6 + u/2 + 3 c u² <= 1/4 for u = 1/√T: T >= 190.9 at γ = 1/2, c = 3; 70.4 at 1/4, 5/9; 36 at c = 0."""
    assert fewest_rounds(0.5) == 191
    assert fewest_rounds(0.25) == 71
    assert fewest_rounds(1e-9) == 37


def test_the_condition() -> None:
    assert sparsity_limit(10, 100, 0.0, 0.5) == pytest.approx(0.1)
    assert sparsity_limit(10, 100, 1.0, 0.5) == pytest.approx(0.1 / 3.8**2)
    assert sparsity_limit(25, 100, 2.0, 0.3) == pytest.approx(0.15 / 6**2)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match=r"gamma=1\.0 must be > 0 and < 1"):
        setting(gamma=1.0)
    with pytest.raises(ValueError, match=r"rounds=100 are too few for Theorem 1 with gamma=0\.5"):
        setting(rounds=100)


# Errors of sketched weights against every CountSketch of 3 columns and 2 buckets


D, SIZE = 3, 2
SKETCHES = exhaustive.count_sketch(D, SIZE)
PROJECTIONS = np.einsum("mbi,mbj->mij", SKETCHES.matrices, SKETCHES.matrices)  # S S' of each


def weights() -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.standard_normal((n, D)) for n in (2, 2, 4)]


def test_product() -> None:
    a, _, b = weights()
    errors = ((a @ PROJECTIONS @ b.T - a @ b.T) ** 2).sum(axis=(1, 2))
    assert weight_sketch.product_error(a, b, size=SIZE) == pytest.approx(errors.mean(), rel=1e-12)


def test_product_equals_the_printed_sum() -> None:
    """zhang2021 Lemma 5, term by term."""
    a, _, b = weights()
    total = sum(
        a[i, k] ** 2 * b[j, m] ** 2 + a[i, k] * b[j, k] * a[i, m] * b[j, m]
        for i in range(len(a))
        for j in range(len(b))
        for k in range(D)
        for m in range(D)
        if k != m
    )
    assert weight_sketch.product_error(a, b, size=5) == pytest.approx(total / 5, rel=1e-12)


def test_update() -> None:
    """Old and new weights sketched apart: every pair of sketches."""
    old, new, v = weights()
    sketched_old, sketched_new = (w @ PROJECTIONS for w in (old, new))
    change = sketched_old[:, None] - sketched_new[None] - (old - new)
    assert weight_sketch.update_error(old, new, v, size=SIZE) == pytest.approx(
        ((change @ v.T) ** 2).sum(axis=(2, 3)).mean(), rel=1e-12
    )
    assert weight_sketch.update_error_plain(old, new, size=SIZE) == pytest.approx(
        (change**2).sum(axis=(2, 3)).mean(), rel=1e-12
    )


BALANCED = exhaustive.balanced(4, 2)
GAUSSIAN = exhaustive.gaussian(3, 2)


@pytest.mark.parametrize(
    ("distribution", "moment"),
    [(SKETCHES, second_moment.hashed), (BALANCED, second_moment.balanced), (GAUSSIAN, second_moment.gaussian)],
    ids=["count_sketch", "balanced", "gaussian"],
)
def test_product_variance(distribution: exhaustive.Distribution, moment: Callable[..., Any]) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, distribution.d)), rng.standard_normal((4, distribution.d))
    projections = np.einsum("mbi,mbj->mij", distribution.matrices, distribution.matrices)
    errors = ((a @ projections @ b.T - a @ b.T) ** 2).sum(axis=(1, 2))
    formula = weight_sketch.product_variance(a, b, moment, size=distribution.b)
    assert formula == pytest.approx(distribution.weights @ errors, rel=1e-12)


def test_the_listing_of_the_appendix() -> None:
    """Two columns to a bucket: the plain error is (q - 1) = 1 times the squared weights, not (d - 1)/s = 3/2 times."""
    old, new = np.random.default_rng(4).standard_normal((2, 3, 4))
    whole = (old**2).sum() + (new**2).sum()
    exact = sum(weight_sketch.product_variance(w, np.eye(4), second_moment.balanced, size=2) for w in (old, new))
    assert exact == pytest.approx(whole)
    assert weight_sketch.update_error_plain(old, new, size=2) == pytest.approx(1.5 * whole)


# The penalties of sketching and of dropout, against all sketches and all masks of a tiny model


RANDOM = np.random.default_rng(3)
FEATURES, WEIGHTS, LABELS = RANDOM.standard_normal((5, 4)), RANDOM.standard_normal(4), RANDOM.standard_normal(5)


def loss(outputs: np.ndarray) -> float:
    return float(((outputs - LABELS) ** 2).mean() / 2)


def expected(sketches: exhaustive.Distribution, d: int) -> float:
    x, w = FEATURES[:, :d], WEIGHTS[:d]
    losses = [loss(x @ (R.T @ (R @ w))) for R in sketches.matrices]
    return float(sketches.weights @ np.array(losses)) - loss(x @ w)


@pytest.mark.parametrize(
    ("moment", "sketches"),
    [
        (second_moment.hashed, exhaustive.count_sketch(3, 2)),
        (second_moment.balanced, exhaustive.balanced(4, 2)),
        (second_moment.uniform_sampling, exhaustive.uniform_sampling(4, 2)),
        (second_moment.gaussian, exhaustive.gaussian(3, 2)),
    ],
    ids=["count_sketch", "balanced", "uniform_sampling", "gaussian"],
)
def test_what_a_sketch_adds(moment: second_moment.Vector, sketches: exhaustive.Distribution) -> None:
    d = sketches.d
    found = penalty(FEATURES[:, :d], WEIGHTS[:d], moment, size=sketches.b)
    assert found == pytest.approx(expected(sketches, d), rel=1e-9)


@pytest.mark.parametrize("kept", [0.25, 0.8])
def test_what_dropout_adds(kept: float) -> None:
    total = 0.0
    for mask in itertools.product((0, 1), repeat=4):
        probability = np.prod([kept if bit else 1 - kept for bit in mask])
        total += probability * loss(FEATURES * mask / kept @ WEIGHTS)
    assert dropout_penalty(FEATURES, WEIGHTS, kept=kept) == pytest.approx(total - loss(FEATURES @ WEIGHTS), rel=1e-9)
