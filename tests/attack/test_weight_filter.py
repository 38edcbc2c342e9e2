"""A client's memory of sketched weights."""

import numpy as np
import pytest
import torch
from torch import Tensor

from sketchbench.attack.property import Ridge
from sketchbench.attack.weight_filter import WeightFilter
from sketchbench.sketch.count_sketch import CountSketch

OUT, D, B, ROUNDS, RATE = 16, 48, 24, 40, 1e-3


def sketch(number: int) -> Tensor:
    return torch.as_tensor(CountSketch(D, B).draw(number, kernels="numpy").materialize()).T


def follow(*, memory: bool = True, rounds: int = ROUNDS) -> tuple[list[float], float]:
    """Train by random steps; return the correlation of each estimate with the other client's step, less the attacker's
    own, and the squared error of the followed weights over the error that the filter expects."""
    random = torch.Generator().manual_seed(1)
    weights = (2 * torch.rand(OUT, D, generator=random).double() - 1) / D**0.5
    filters, found = WeightFilter(OUT, D), []
    filters.observe(weights @ sketch(0), sketch(0))
    for t in range(rounds):
        own, other = (RATE * torch.randn(OUT, B, generator=random).double() @ sketch(t).T for _ in range(2))
        if not memory:
            filters = WeightFilter(OUT, D)
            filters.observe(weights @ sketch(t), sketch(t))
        weights = weights - (own + other) / 2
        filters.step(own, sketch(t))
        estimate = filters.observe(weights @ sketch(t + 1), sketch(t + 1))
        apart, seen = (other - own).flatten(), (estimate - own).flatten()
        found.append(float(apart @ seen / (apart.norm() * seen.norm())))
    error = (filters.mean - weights).square().sum() / (OUT * filters.covariance.trace())
    return found, float(error)


def test_memory_shows_most_of_the_others_step() -> None:
    """Two broadcasts alone, the mutant, show little of it."""
    remembered, error = follow()
    assert np.mean(remembered[10:]) > 0.6
    assert error == pytest.approx(1, abs=0.2)
    assert np.mean(follow(memory=False)[0]) < 0.35


def test_the_weights_are_known_once_the_sketches_span_them() -> None:
    """Of weights that do not move, and of which the attacker knows it."""
    weights = torch.randn(OUT, D, generator=torch.Generator().manual_seed(2)).double()
    filters = WeightFilter(OUT, D)
    for t in range(12):
        assert not filters.observe(weights @ sketch(t), sketch(t)).any()  # nobody took a step
    torch.testing.assert_close(filters.mean, weights, rtol=1e-3, atol=1e-3)


def test_one_broadcast_is_the_weights_in_its_span() -> None:
    weights = torch.randn(OUT, D, generator=torch.Generator().manual_seed(3)).double()
    filters = WeightFilter(OUT, D)
    filters.observe(weights @ sketch(0), sketch(0))
    torch.testing.assert_close(filters.mean, weights @ sketch(0) @ torch.linalg.pinv(sketch(0)))


def test_a_linear_classifier_of_many_features() -> None:
    """It ranks batches by a direction that few examples show, and an order of labels at random by none."""
    random = np.random.default_rng(4)
    labels, truth = random.random(200) < 0.3, random.random(400) < 0.3
    own, seen = (
        (random.standard_normal((len(kind), 500)) + 0.4 * kind[:, None]).astype(np.float32) for kind in (labels, truth)
    )
    (area,) = Ridge().area_under_roc(own, labels, [seen], truth, 0)
    (shuffled,) = Ridge().area_under_roc(own, random.permutation(labels), [seen], truth, 0)
    assert area > 0.9
    assert shuffled < 0.75
    assert Ridge(penalty=1e-3).area_under_roc(10 + own, labels, [10 + seen], truth, 0)[0] > 0.8
