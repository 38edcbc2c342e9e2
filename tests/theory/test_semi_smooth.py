"""Second derivatives by differences, and the examples of Lemma I.9 by their definition."""

import numpy as np
import pytest

from sketchbench.theory.double_blind import unreachable_share
from sketchbench.theory.semi_smooth import ALPHA, FUNCTIONS, POWER, allowed_by_lemma_i_9, remainder

GRID = np.linspace(-8, 8, 16001)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_by_differences(name: str) -> None:
    function = FUNCTIONS[name]
    u = np.array([0.3, 0.9, 2.0])
    differences = (function.value(u + 1e-6) - function.value(u - 1e-6)) / 2e-6
    np.testing.assert_allclose(function.slope(u), differences, rtol=1e-8)


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.smoothness])
def test_smoothness_is_the_largest_second_derivative(name: str) -> None:
    function = FUNCTIONS[name]
    second = np.diff(function.slope(GRID)) / np.diff(GRID)
    assert second.max() == pytest.approx(function.smoothness, rel=1e-6)


@pytest.mark.parametrize("name", ["root", "logarithm"])
def test_concave_functions_have_no_remainder(name: str) -> None:
    x, y = np.meshgrid([0.1, 1.0, 5.0], [0.2, 2.0, 9.0])
    assert (remainder(FUNCTIONS[name], x, y) < 0).all()


def test_the_example_of_lemma_i_9_has_a_semi_lipschitz_gradient() -> None:
    """‖∇L(x) - ∇L(y)‖² <= α²‖x - y‖^(2-2p) L(x)^p with p = 1/2 (song2023 Definition I.5), nearly with equality."""
    x, y = np.meshgrid(GRID[::100], GRID[::100] + 0.005)
    ratio = (POWER.slope(x) - POWER.slope(y)) ** 2 / (ALPHA**2 * np.abs(x - y) * POWER.value(x) ** 0.5)
    assert 0.5 < ratio.max() <= 1
    assert (remainder(POWER, x, y) <= allowed_by_lemma_i_9(x, y)).all()


def test_what_is_missed_of_an_update() -> None:
    """Against the least squares of both factors at once."""
    before, after = np.random.default_rng(0).standard_normal((2, 5, 2))
    update = np.random.default_rng(1).standard_normal((5, 7))
    columns = np.hstack([before, -after])
    best = columns @ np.linalg.lstsq(columns, update, rcond=None)[0]
    assert unreachable_share(before, after, update) == pytest.approx(((best - update) ** 2).sum() / (update**2).sum())
    assert unreachable_share(before, after, columns @ np.ones((4, 7))) < 1e-25
    assert unreachable_share(before[:3], after[:3], update[:3]) < 1e-25  # no more outputs than columns
