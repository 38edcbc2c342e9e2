"""The penalties of sketching and of dropout, against all sketches and all masks of a tiny model."""

import itertools

import exhaustive
import numpy as np
import pytest

from sketchbench.theory import second_moment
from sketchbench.theory.double_blind import dropout_penalty, penalty

RANDOM = np.random.default_rng(3)
FEATURES, WEIGHTS, LABELS = RANDOM.standard_normal((5, 4)), RANDOM.standard_normal(4), RANDOM.standard_normal(5)


def loss(outputs: np.ndarray) -> float:
    return float(((outputs - LABELS) ** 2).mean() / 2)


def expected(sketches: exhaustive.Distribution, d: int) -> float:
    """E f̃ - f, sketch by sketch."""
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


def test_one_weight_alone() -> None:
    """Sampling adds what dropout does, and CountSketch what the other features weigh."""
    spike = np.eye(4)[1]
    sampled = penalty(FEATURES, spike, second_moment.uniform_sampling, size=2)
    assert sampled == pytest.approx(dropout_penalty(FEATURES, spike, kept=0.5))
    others = np.delete(FEATURES, 1, axis=1)
    hashed = penalty(FEATURES, spike, second_moment.hashed, size=2)
    assert hashed == pytest.approx((others**2).sum(axis=1).mean() / 4)
