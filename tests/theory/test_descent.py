"""The constants of the losses of song2023 Theorem K.3, on grids."""

import exhaustive
import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.theory.descent import Ellipsoid, Rippled, largest_step, proven, with_momentum

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


@pytest.mark.parametrize(("m", "eta"), [(0.5, 1 / 8), (0.9, 1 / 40), (0.9, 1 / 4)])
def test_momentum_over_all_sketches(m: float, eta: float) -> None:
    """The second moments of (w, v) by all signs of an AMS sketch with d = 4 and b = 1, for which α = 3."""
    signs = exhaustive.ams(4, 1)
    grams = signs.matrices.transpose(0, 2, 1) @ signs.matrices
    moment = np.kron([[1.0, 0.0], [0.0, 0.0]], np.diag([1.0, 2.0, 0.5, 3.0]))
    traces = []
    for _ in range(100):
        after = np.zeros((8, 8))
        for weight, gram in zip(signs.weights, grams, strict=True):
            step = np.block([[np.eye(4) - eta * gram, -eta * m * np.eye(4)], [gram, m * np.eye(4)]])
            after += weight * step @ moment @ step.T
        moment = after / np.trace(moment)
        traces.append(np.trace(moment))
    assert np.mean(traces[50:]) == pytest.approx(with_momentum(m, eta, 3.0), rel=2e-2)


def test_no_momentum() -> None:
    assert with_momentum(0.0, 1 / 4, 3.0) == pytest.approx(3 / 4)
