"""song2023 Lemmas F.3-F.6, by hand and on random quadratics."""

import dataclasses

import numpy as np
import pytest

from sketchbench.kernels import load
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.theory import norm
from sketchbench.theory.convergence import Assumptions
from sketchbench.theory.known import Known
from sketchbench.theory.local_steps import (
    ClientAverages,
    least_progress,
    most_distance,
    most_distance_after_sketch,
    most_gradient,
    most_spread,
)

P = Assumptions(
    smoothness=2.0,
    convexity=0.5,
    gradient_bound=np.inf,
    gap=1.0,
    squared_distance=1.0,
    heterogeneity=3.0,
    alpha=4.0,
    local_steps=2,
)
AT = ClientAverages(0.1, 0.2, 0.3, 0.4, 0.5)


def test_by_hand() -> None:
    assert most_gradient(P, AT) == pytest.approx(2 * 4 * 0.1 + 8 * 0.3)
    assert least_progress(P, AT) == pytest.approx(0.3 + 0.25 * 0.4)
    eta = 0.01
    spread = 8 * eta**2 * 2 * 4 * 0.6 + 4 * eta**2 * 8 * 3
    assert most_spread(P, eta, [AT, AT]) == pytest.approx(spread)
    within = (1 - 0.005) * 0.4 + 1.5 * eta * 2 * 0.1 - eta * 0.3
    assert most_distance(P, eta, AT) == pytest.approx(within)
    sketch = eta**2 * 4 * 2 * 2 * most_gradient(P, AT)
    assert most_distance_after_sketch(P, eta, [AT, AT]) == pytest.approx(within + sketch)


def test_by_hand_on_a_path_of_three_steps() -> None:
    """Every step with other values, and L = 3: the last one counts for the distance, and all for the sketch."""
    p = dataclasses.replace(P, smoothness=3.0)
    path = [AT, ClientAverages(0.2, 0.0, 0.5, 0.0, 0.0), ClientAverages(0.7, 0.0, 0.6, 0.9, 0.0)]
    gradients = [most_gradient(p, at) for at in path]
    assert gradients == pytest.approx([1.8 + 3.6, 3.6 + 6, 12.6 + 7.2])
    assert most_spread(p, 0.01, path) == pytest.approx(8e-4 * 3 * 9 * 1.4 + 4e-4 * 27 * 3)
    within = 0.995 * 0.9 + 0.045 * 0.7 - 0.006
    assert most_distance_after_sketch(p, 0.01, path) == pytest.approx(within + 1e-4 * 4 * 3 * (5.4 + 9.6 + 19.8))


@pytest.mark.parametrize("seed", range(5))
def test_f_3_and_f_4_at_random_weights(seed: int) -> None:
    """They hold at any weights, along a path or not."""
    problem = Quadratic(load("numpy"), 6, 3, seed)
    p = dataclasses.replace(P, smoothness=problem.smoothness, convexity=problem.convexity)
    u = np.random.default_rng(seed).standard_normal((3, 6))
    gradient, mean = problem.gradients(u).mean(0), u.mean(0)
    away = mean - problem.minimiser
    at = ClientAverages(
        ((u - mean) ** 2).sum(1).mean(),
        gradient @ gradient,
        problem.loss(mean) - problem.minimum,
        away @ away,
        away @ gradient,
    )
    assert at.squared_gradient <= most_gradient(p, at)
    assert at.progress + p.smoothness / 2 * at.spread >= least_progress(p, at)


def test_alpha_as_claimed_and_exact() -> None:
    known = Known(embedding_constant=3.0, norm=norm.gaussian)
    assert known.claimed_alpha(64, 16) == 12
    assert known.exact_alpha(64, 16) == pytest.approx(65 / 16)
    assert Known(norm=lambda h, b: np.array([1.5, 3.0, 2.0])).exact_alpha(3, 2) == 2.0  # that of the worst coordinate
    assert Known(norm=lambda h, b: np.array([0.5, 0.25])).exact_alpha(2, 2) == 0.0  # never below 0
    assert Known(norm=norm.identity).exact_alpha(5, 5) == 0.0
    with pytest.raises(ValueError, match="needs an embedding_constant"):
        Known().claimed_alpha(64, 16)
    with pytest.raises(ValueError, match="needs a norm under `theory`"):
        Known().exact_alpha(64, 16)


@pytest.mark.parametrize(("eta", "error"), [(True, TypeError), (0.0, ValueError), (np.inf, ValueError)])
def test_a_learning_rate_is_a_positive_number(eta: float, error: type[Exception]) -> None:
    for bound in (most_spread, most_distance_after_sketch):
        with pytest.raises(error, match="eta="):
            bound(P, eta, [AT])
