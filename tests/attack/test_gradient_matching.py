"""Gradient matching: derivatives against differences, and the constants of its losses."""

import numpy as np
import pytest
import torch

from sketchbench.attack.gradient_matching import (
    GradientMatching,
    non_critical_excess,
    semi_smoothness_excess,
    variation_of,
)
from sketchbench.attack.matching_problem import bilinear, perceptron, residual
from sketchbench.kernels import load
from sketchbench.sketch import CountSketch, Family, Gaussian, Identity
from sketchbench.theory import leakage

TRIALS, D = 6, 8
GAUSSIAN = Gaussian(D, 4)


def attack(case: str, family: Family = GAUSSIAN) -> GradientMatching:
    random = torch.Generator().manual_seed(1)
    if case == "bilinear":
        problem = bilinear(random, TRIALS, D, lipschitz=3.0)
    elif case == "residual":
        problem = residual(random, TRIALS, D, variation=0.1)
    else:
        problem = perceptron(random, TRIALS, D, samples=8)
    return GradientMatching(problem, family.draw(4, operators=TRIALS, kernels=load("numba")))


@pytest.mark.parametrize("case", ["bilinear", "residual", "perceptron"])
def test_slopes_and_pseudo_hessians_by_differences(case: str) -> None:
    matching = attack(case)
    x = matching.problem.start
    point = matching.evaluate(x)
    direction = torch.randn(x.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ahead, behind = x + 1e-5 * direction, x - 1e-5 * direction
    slope = (matching.loss(ahead)[0] - matching.loss(behind)[0]) / 2e-5
    torch.testing.assert_close(slope, (point.slope * direction).sum(dim=1), rtol=1e-6, atol=1e-9)
    moved = (matching.gradient(ahead) - matching.gradient(behind)) / 2e-5
    expected = (point.pseudo_hessian @ direction[:, :, None])[:, :, 0]
    torch.testing.assert_close(moved, expected, rtol=1e-6, atol=1e-9)


def test_the_bilinear_loss_is_what_it_says() -> None:
    """F = wᵀ A x: the gradient A x, with the singular values of A from β/2 to β."""
    matching = attack("bilinear")
    problem = matching.problem
    gradient = matching.gradient(problem.private)
    torch.testing.assert_close(gradient, (problem.data @ problem.private[:, :, None])[:, :, 0])
    constants = matching.constants([matching.evaluate(problem.start)])
    np.testing.assert_allclose(constants.theta_1, 1.5)
    np.testing.assert_allclose(constants.theta_2, 3.0)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_residual_layer_keeps_its_constants_at_all_inputs(scale: float) -> None:
    """Units that are saturated, and units that are not: Φ is between 0.9 and 1.1, and both ends are reached nearly."""
    matching = attack("residual", Identity(D, D))
    points = [matching.evaluate(scale * x) for x in (matching.problem.start, matching.problem.private)]
    values = np.stack([np.linalg.svd(point.pseudo_hessian, compute_uv=False) for point in points])
    assert 0.9 <= values.min() <= values.max() <= 1.1 + 1e-12
    assert variation_of(*points).max() <= 0.1
    constants = matching.constants(points)
    assert set(constants.theta_1) == {0.9}
    assert set(constants.theta_2) == set(constants.lipschitz) == {1.1}


def test_the_step_of_the_repaired_theorem_by_hand() -> None:
    """Without a sketch, ω = 0.1: a = 0.2, b = 1.21, and 1.8² - 0.2 * 2.2 = 2.8."""
    matching = attack("residual", Identity(D, D))
    descent = matching.descent(matching.constants([]))
    step = 2.8 / (2 * 1.21 * 2.2**2)
    np.testing.assert_allclose(descent.step, step)
    np.testing.assert_allclose(descent.rate, step * 2.8 / 2)


def test_the_perceptron_has_no_more_weights_than_inputs() -> None:
    problem = attack("perceptron").problem
    assert problem.w.shape == (TRIALS, D)
    assert problem.private.shape == (TRIALS, 24)


def test_a_descent_recovers_the_private_input_where_nothing_is_hidden() -> None:
    matching = attack("bilinear", Identity(D, D))
    descent = matching.descent(matching.constants([matching.evaluate(matching.problem.start)]))
    assert (descent.rate > 0).all()
    *_, (last, loss) = matching.descend(descent.step, 300)
    assert float(loss.max()) < 1e-12
    np.testing.assert_allclose(matching.recovered_share(last), 1, atol=1e-9)
    np.testing.assert_allclose(matching.recovered_share(matching.problem.start), 0, atol=1e-12)


def test_steps_where_the_theorem_says_nothing() -> None:
    """Operators with an empty bucket, and losses whose β is not known."""
    for matching in (attack("bilinear", CountSketch(D, 4)), attack("perceptron")):
        descent = matching.descent(matching.constants([matching.evaluate(matching.problem.start)]))
        applies = matching.full_rank & (matching.problem.lipschitz is not None)
        np.testing.assert_array_equal(descent.rate > 0, applies)
        np.testing.assert_array_equal(descent.step[~applies], descent.safe[~applies])


def test_excesses_of_the_derived_constants() -> None:
    """The bilinear loss keeps them; with a fifth of the constants it does not."""
    matching = attack("bilinear")
    x, y = (matching.evaluate(point) for point in (matching.problem.start, matching.problem.private + 1.0))
    constants = matching.constants([x, y])
    low, high = leakage.non_critical(constants)
    assert (non_critical_excess(x, low, high) <= 1).all()
    assert (non_critical_excess(x, low, high / 5) > 1).any()
    a, b = leakage.semi_smoothness(constants)
    assert (semi_smoothness_excess(x, y, a, b) <= 1).all()
    assert (semi_smoothness_excess(x, y, 0 * a, b / 1000) > 1).any()
