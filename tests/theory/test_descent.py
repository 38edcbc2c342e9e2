"""The constants of the losses of song2023 Theorem K.3, on grids."""

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.theory.descent import Ellipsoid, Rippled, largest_step, proven

LOSS = Rippled()
SEMI = LOSS.constants
POINTS = np.concatenate([np.linspace(1e-3, 1, 40), np.linspace(1, 2.5, 1001), np.linspace(2.5, 20, 100)])
APART = np.geomspace(1e-4, 30, 400)


def test_slopes_by_differences() -> None:
    x = np.linspace(-3, 3, 1201)[:, None]
    differences = (LOSS.value(x + 1e-6) - LOSS.value(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(LOSS.move(x, 1.0)[:, 0], differences, atol=1e-6)


def test_a_single_entry_keeps_the_constants_and_needs_c_and_alpha() -> None:
    """Every definition, at all pairs of the grid; and the loss is not convex."""
    x, y = (pair[..., None] for pair in np.broadcast_arrays(POINTS[:, None], POINTS[:, None] + [*APART, *-APART]))
    both = [LOSS.excess(*pair, SEMI).max() for pair in ((x, y), (y, x))]
    assert 0.999 < max(both) <= 1
    assert LOSS.excess(x, y, SEMI.smooth()).max() > 4
    slope = LOSS.move(POINTS[:, None], 1.0)[:, 0]
    assert (np.diff(slope) < 0).any()


@given(st.integers(0, 2**32), st.floats(-4, 2))
@examples(30)
def test_many_entries_keep_them(seed: int, scale: float) -> None:
    x, move = np.random.default_rng(seed).standard_normal((2, 20, 8))
    assert LOSS.excess(3 * x, 3 * x + 10**scale * move, SEMI).max() <= 1 + 1e-9


def test_the_conditions_of_the_theorem() -> None:
    """θ₁ > α², ξ > 0, and the condition on d as it is printed (erratum K.3-condition)."""
    assert SEMI.theta_1 > SEMI.alpha**2
    assert (SEMI.zeta, SEMI.xi) == (pytest.approx(6.33, abs=0.01), pytest.approx(1.66, abs=0.01))
    gap = SEMI.theta_1 * (SEMI.theta_1 - SEMI.alpha) ** 2
    assert SEMI.c / gap * (SEMI.beta**2 + SEMI.alpha**2 / SEMI.theta_1) + SEMI.c < SEMI.d
    assert proven(SEMI, largest_step(SEMI)) == pytest.approx(0.8905, abs=1e-4)


def test_an_ellipsoid() -> None:
    constants = Ellipsoid(4.0).constants
    assert (constants.zeta, constants.xi, largest_step(constants)) == (64.0, 2.0, 1 / 64)
