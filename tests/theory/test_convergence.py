"""Step sizes and bounds, against the formulas worked out by hand at small numbers."""

import dataclasses
import math

import exhaustive
import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.kernels import load
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.theory import norm
from sketchbench.theory.convergence import (
    ROUNDS_FACTOR,
    THEOREMS,
    Assumptions,
    Convexity,
    noise_floor,
    noisy_strongly_convex,
)
from sketchbench.theory.descent import Ellipsoid, Rippled, largest_step, proven, with_momentum
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


def test_what_noise_adds_through_a_sketch() -> None:
    """Attained by L/2 ‖w‖² at step 1/((1 + α)L), over all 216 CountSketches of d = b = 3 (α = 2/3) and both signs."""
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


# The constants of the losses of song2023 Theorem K.3, on grids


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


# song2023 Lemmas F.3-F.6, by hand and on random quadratics


LOCAL = Assumptions(
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
    assert most_gradient(LOCAL, AT) == pytest.approx(2 * 4 * 0.1 + 8 * 0.3)
    assert least_progress(LOCAL, AT) == pytest.approx(0.3 + 0.25 * 0.4)
    eta = 0.01
    spread = 8 * eta**2 * 2 * 4 * 0.6 + 4 * eta**2 * 8 * 3
    assert most_spread(LOCAL, eta, [AT, AT]) == pytest.approx(spread)
    within = (1 - 0.005) * 0.4 + 1.5 * eta * 2 * 0.1 - eta * 0.3
    assert most_distance(LOCAL, eta, AT) == pytest.approx(within)
    sketch = eta**2 * 4 * 2 * 2 * most_gradient(LOCAL, AT)
    assert most_distance_after_sketch(LOCAL, eta, [AT, AT]) == pytest.approx(within + sketch)


def test_by_hand_on_a_path_of_three_steps() -> None:
    """Every step with other values, and L = 3: the last one counts for the distance, and all for the sketch."""
    p = dataclasses.replace(LOCAL, smoothness=3.0)
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
    p = dataclasses.replace(LOCAL, smoothness=problem.smoothness, convexity=problem.convexity)
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
            bound(LOCAL, eta, [AT])
