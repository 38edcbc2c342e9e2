"""Step sizes and bounds, against the formulas worked out by hand at small numbers."""

import dataclasses
import math

import numpy as np
import pytest

from sketchbench.theory.convergence import (
    THEOREMS,
    Assumptions,
    Convexity,
    noise_floor,
    noisy_strongly_convex,
)

P = Assumptions(
    smoothness=2.0,
    convexity=0.5,
    gradient_bound=3.0,
    gap=7.0,
    squared_distance=5.0,
    heterogeneity=0.25,
    alpha=3.0,
    local_steps=4,
)
T = np.array([1, 10])

RATES = {
    "E.1": 1 / 8,
    "E.2": 1 / 16,
    "E.3": 1 / 8,
    "F.7": 1 / 256,
    "F.9": 1 / 256,
    "G.2-printed": 1 / 16,
    "G.2-corrected": 1 / 16,
}
AT_0_1 = {  # after 10 rounds with η = 0.1
    "E.1": 0.95**10 * 7,
    "E.2": 5 / (0.1 * 11),
    "E.3": 14 / (0.1 * 11),
    "F.7": 20 / (0.1 * 4 * 10) + 32 * 0.01 * 2 * 16 * 0.25,
    "F.9": 5 * math.exp(-0.5) + 4 * 0.01 * 4 * 64 * 0.25 / 0.5,
    "G.2-printed": 7 / 11 + 0.1 * 2 * 16 * 9 * (0.1 + 0.05 * 4),
    "G.2-corrected": 7 / (0.4 * 11) + 2 * 4 * 9 * (0.1 + 0.05 * 4),
}


def test_convexity() -> None:
    for convexity, expected in ((-math.inf, (True, False, False)), (0.0, (True, True, False)), (0.1, (True,) * 3)):
        assert tuple(needs.holds(convexity) for needs in Convexity) == expected


def test_all_theorems_are_here() -> None:
    assert set(RATES) == set(AT_0_1) == set(THEOREMS)


@pytest.mark.parametrize("name", THEOREMS)
def test_rates_and_bounds(name: str) -> None:
    theorem = THEOREMS[name]
    assert theorem.rate(P) == pytest.approx(RATES[name])
    bounds = theorem.bound(P, 0.1, T)
    assert bounds.shape == (2,)
    assert bounds[1] == pytest.approx(AT_0_1[name])
    assert bounds[1] < bounds[0]


@pytest.mark.parametrize("name", THEOREMS)
def test_more_sketching_noise_means_smaller_steps(name: str) -> None:
    noisier = dataclasses.replace(P, alpha=100.0)
    theorem = THEOREMS[name]
    allowed = theorem.rate(noisier) / theorem.rate(P)
    assert allowed == pytest.approx(1.0 if name.startswith("G") else 4 / 101)


def test_the_printed_bound_vanishes_with_the_step_and_the_corrected_one_does_not() -> None:
    far = np.array([10**6])
    printed = THEOREMS["G.2-printed"].bound(P, 1e-9, far)[0]
    corrected = THEOREMS["G.2-corrected"].bound(P, 1e-9, far)[0]
    assert printed < 1e-4
    assert corrected > 1e3


def test_what_noise_adds() -> None:
    """Attained by the quadratic L/2 ‖w‖² without a sketch: every round adds η² V L/2, and shrinks what was there
    by (1 - ηL)²; with η = 1/L nothing is left of it, and the bound is exact."""
    flat = dataclasses.replace(P, convexity=2.0, alpha=0.0)
    t = np.array([1, 2, 50])
    for eta in (0.5, 0.1):
        rounds = [eta**2 * 0.3 * 2.0 / 2 * sum((1 - 2 * eta) ** (2 * s) for s in range(n)) for n in t]
        floor = noise_floor(flat, eta, t, 0.3)
        assert (floor >= np.array(rounds) * (1 - 1e-12)).all()
        assert floor[-1] < 2 * rounds[-1]
    np.testing.assert_allclose(noise_floor(flat, 0.5, t, 0.3), 0.075)
    both = noisy_strongly_convex(P, 0.1, t, 0.3)
    np.testing.assert_allclose(both, THEOREMS["E.1"].bound(P, 0.1, t) + noise_floor(P, 0.1, t, 0.3))
