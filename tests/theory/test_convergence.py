"""Step sizes and bounds, against the formulas worked out by hand at small numbers."""

import dataclasses
import math

import exhaustive
import numpy as np
import pytest

from sketchbench.theory.convergence import (
    ROUNDS_FACTOR,
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
# Constants of which no two are alike, and none is 2, so that no two operations give the same number.
Q = Assumptions(
    smoothness=3.0,
    convexity=0.7,
    gradient_bound=1.5,
    gap=1.1,
    squared_distance=1.3,
    heterogeneity=0.9,
    alpha=0.4,
    local_steps=5,
)
Q_RATES = {
    "E.1": 1 / 4.2,
    "E.2": 1 / 8.4,
    "E.3": 1 / 4.2,
    "F.7": 1 / 168,
    "F.9": 1 / 168,
    "G.2-printed": 1 / 30,
    "G.2-corrected": 1 / 30,
}
Q_AT_0_2 = {  # after 3 rounds with η = 0.2
    "E.1": 0.86**3 * 1.1,
    "E.2": 1.3 / 0.8,
    "E.3": 2.2 / 0.8,
    "F.7": 5.2 / 3 + 32 * 0.04 * 3 * 25 * 0.9,
    "F.9": 1.95 * math.exp(-0.42) + 4 * 0.04 * 9 * 125 * 0.9 / 0.7,
    "G.2-printed": 1.1 / 4 + 0.2 * 3 * 25 * 2.25 * (0.2 + 0.1 * 1.4),
    "G.2-corrected": 1.1 / 4 + 3 * 5 * 2.25 * (0.2 + 0.1 * 1.4),
}
AT_THE_START = {  # t = 0: F.7 has the mean of t weights, and its bound is that for one
    "E.1": 1.1,
    "E.2": 1.3 / 0.2,
    "E.3": 2.2 / 0.2,
    "F.7": 5.2 + 86.4,
    "F.9": 1.95 + 231.428571,
    "G.2-printed": 1.1 + 11.475,
    "G.2-corrected": 1.1 + 11.475,
}


def test_convexity() -> None:
    for convexity, expected in ((-math.inf, (True, False, False)), (0.0, (True, True, False)), (0.1, (True,) * 3)):
        assert tuple(needs.holds(convexity) for needs in Convexity) == expected


def test_all_theorems_are_here() -> None:
    assert set(Q_RATES) == set(Q_AT_0_2) == set(THEOREMS)


@pytest.mark.parametrize("name", THEOREMS)
def test_rates_and_bounds(name: str) -> None:
    theorem = THEOREMS[name]
    assert theorem.rate(Q) == pytest.approx(Q_RATES[name])
    start, later = theorem.bound(Q, 0.2, np.array([0, 3]))
    assert later == pytest.approx(Q_AT_0_2[name])
    assert start == pytest.approx(AT_THE_START[name])


def test_which_theorems_are_about_one_local_step() -> None:
    """Those of song2023 Appendix E; with K local steps are Appendices F and G."""
    assert {name for name, theorem in THEOREMS.items() if theorem.single_step} == {"E.1", "E.2", "E.3"}


def test_descent_without_a_sketch_needs_half_of_the_rounds() -> None:
    """On μ/2 w² with η < 1/μ, w falls like (1 - μη)^t, and f like its square: Theorem E.1 has half of that rate."""
    mu, eta, w = 0.3, 0.5, 1.0
    flat = dataclasses.replace(P, convexity=mu, gap=mu / 2)
    for t in range(1, 6):
        w -= eta * mu * w
        bound = THEOREMS["E.1"].bound(flat, eta, np.array([round(ROUNDS_FACTOR * t)]))
        np.testing.assert_allclose(bound, mu / 2 * w**2)


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


def test_what_noise_adds_through_a_sketch() -> None:
    """Attained by L/2 ‖w‖² under CountSketch at the largest step, 1/((1 + α)L): f falls by just 1 - ηL in the mean, and
    the noise adds what the bound says. Every round is the mean over all 216 sketches of 3 columns and 3 buckets, and
    over both signs of the noise; d - 1 = 2 over b = 3 is α."""
    sketches = exhaustive.count_sketch(3, 3)
    back = np.einsum("mbi,mbj->mij", sketches.matrices, sketches.matrices)
    L, alpha, variance = 1.7, 2 / 3, 0.3
    eta = 1 / ((1 + alpha) * L)
    p = dataclasses.replace(P, smoothness=L, convexity=L, alpha=alpha, gap=0.0)

    def after_a_round(energy: float) -> float:
        """E f(w⁺) from f(w) = `energy`, for w along (1, 1, 1) and noise along (1, -2, 2)."""
        w = np.ones(3) * (2 * energy / L / 3) ** 0.5
        noise = np.array([1.0, -2.0, 2.0]) / 3 * variance**0.5
        ends = [w - eta * back @ (L * w + sign * noise) for sign in (1, -1)]
        return float(np.mean([L / 2 * sketches.weights @ (end**2).sum(axis=1) for end in ends]))

    energy = 0.0
    for t in range(1, 6):
        energy = after_a_round(energy)
        np.testing.assert_allclose(noise_floor(p, eta, np.array([t]), variance), energy)
        np.testing.assert_allclose(noisy_strongly_convex(p, eta, np.array([t]), variance), energy)


def test_what_noise_adds_is_the_sum_over_rounds() -> None:
    """Each adds (1 + α) L η² V/2, and all later ones shrink it by 1 - μη."""
    for t in (0, 1, 7):
        rounds = sum(1.4 * 3 * 0.04 * 0.5 / 2 * 0.86**s for s in range(t))
        np.testing.assert_allclose(noise_floor(Q, 0.2, np.array([t]), 0.5), rounds)
