"""The smallest counterexamples known to statements of the papers that are false as printed.

Each test says what is printed, in our words and with its place, and the number that refutes it; beside it stands what
does hold.
"""

import itertools

import exhaustive
import numpy as np
import pytest
from scipy import stats

from sketchbench.federated.compressed_sensing import CompressedSensingSGD, tracked
from sketchbench.kernels import load
from sketchbench.objective.quadratic import Quadratic
from sketchbench.objective.sparse_gradients import SparseGradients
from sketchbench.recovery.fiht import FIHT
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.identity import Identity
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.theory import descent, tail
from sketchbench.theory.compressed_sensing import Setting, sparsity_limit

NUMPY = load("numpy")
RELATIVE = 1e-12  # the error of a few sums in float64, and more

# song2023 Theorem K.3


def conditions_of_theorem_k_3_on_the_square(x: np.ndarray, y: np.ndarray) -> None:
    """L(x) = ‖x‖² is (c, d, p)-semi-strongly convex with c = 0 and d = 1, has an (α, β, p)-semi-Lipschitz gradient
    with α = 0 and β = 2, and is (2, 2)-non-critical: each with equality."""
    assert x @ x == pytest.approx(y @ y + 2 * y @ (x - y) + (x - y) @ (x - y))
    assert np.linalg.norm(2 * x - 2 * y) == pytest.approx(2 * np.linalg.norm(x - y))
    assert (2 * x) @ (2 * x) == pytest.approx(2**2 * (x @ x))


def test_theorem_k_3_confuses_the_rate_with_what_is_left() -> None:
    """Printed (song2023 Theorem K.3): ‖x(t+1) - x*‖ <= (1 - γ)‖x(t) - x*‖ with γ = 1 - ξη/2, so at most ξη/2 is left.

    On ‖x‖², ζ = β² = 4 and ξ = 2d = 2, so η = 1/4 is allowed. The distance is halved; printed is a quarter. The proof
    has γ = ξη/2, for squared distances: at most 3/4 is left of the square, and 1/4 is.
    """
    zeta, xi = 4.0, 2.0
    eta = xi / (2 * zeta)
    start, other = np.random.default_rng(0).standard_normal((2, 3))
    conditions_of_theorem_k_3_on_the_square(start, other)
    left = np.linalg.norm(start - eta * 2 * start) / np.linalg.norm(start)
    assert left == pytest.approx(0.5)
    printed, proven = descent.left_printed(1.0, eta), descent.left_proven(1.0, eta)
    assert (printed, proven) == (xi * eta / 2, 1 - xi * eta / 2)
    assert descent.largest_step(1.0, 1.0) == eta
    assert printed == 0.25 < left
    assert left**2 <= left <= proven == 0.75


@pytest.mark.parametrize("eta", [0.25, 0.1, 1e-3, 1e-6])
def test_theorem_k_3_fails_at_every_step_size_that_it_allows(eta: float) -> None:
    """As printed, the smaller the step, the faster: 1 - 2η is left on ‖x‖², and printed is η."""
    assert abs(1 - 2 * eta) > eta
    assert (1 - 2 * eta) ** 2 <= 1 - eta


# song2023 Lemma D.25


def exceedance_of_flat_vectors(level: float, *, n: int) -> float:
    """P(|gᵀRᵀRh - gᵀh| >= level ‖g‖‖h‖) for a CountSketch of one bucket with independent signs and g = h flat: then
    gᵀRᵀRh/‖g‖² = (2B - n)²/n with a binomial number B of plus signs."""
    plus = np.arange(n + 1)
    errors = abs((2 * plus - n) ** 2 / n - 1)
    return float(stats.binom.pmf(plus, n, 0.5)[errors >= level].sum())


@pytest.mark.parametrize("level", [0.5, 1.0, 2.0, 5.0])
def test_one_bucket_by_enumeration(level: float) -> None:
    """The binomial tail is the share of all 2¹⁰ CountSketches."""
    distribution = exhaustive.ams(10, 1)  # one bucket: a row of signs
    flat = np.full(10, 10**-0.5)
    exceeded = abs(distribution.errors(flat, flat)) >= level - RELATIVE
    assert exceedance_of_flat_vectors(level - RELATIVE, n=10) == pytest.approx(distribution.weights @ exceeded)


@pytest.mark.parametrize(("delta", "times"), [(1e-3, 2.484), (1e-4, 6.737), (1e-5, 21.31)])
def test_lemma_d_25_at_one_bucket(delta: float, times: float) -> None:
    """Printed (song2023 Lemma D.25): |gᵀRᵀRh - gᵀh| >= log(1/δ) ‖g‖‖h‖ with probability at most Θ(δ), for CountSketch.

    With b = 1, n = 640 and flat g = h, the exact probability is 2.5, 6.7 and 21 times 2δ. It falls like √δ, so no
    constant in Θ(δ) is large enough. (The proof has an unnamed c in the threshold, which the lemma leaves out.)
    """
    probability = exceedance_of_flat_vectors(tail.count_sketch(delta, d=640, b=1), n=640)
    assert probability / (2 * delta) == pytest.approx(times, rel=1e-3)


def test_lemma_d_25_at_one_bucket_needs_twice_the_threshold() -> None:
    """With c = 2 it holds there: Hoeffding's bound for (2B - n)²/n >= 1 + 2 log(1/δ) is 2 exp(-1/2) δ."""
    for delta in (0.1, 1e-2, 1e-3, 1e-4, 1e-5):
        assert exceedance_of_flat_vectors(2 * tail.count_sketch(delta, d=640, b=1), n=640) <= 2 * delta


@pytest.mark.parametrize("delta", [1e-3, 1e-4, 1e-5])
def test_lemma_d_25_at_two_buckets_spares_flat_vectors(delta: float) -> None:
    """At b = 2, where the two buckets' sums are the plane's random walk: with the axes turned by 45°, two independent
    walks on the line. At most a fifth of 2δ."""
    n = 640
    plus = np.arange(n + 1)
    walk, chance = (2 * plus - n) ** 2, stats.binom.pmf(plus, n, 0.5)
    errors = abs((walk[:, None] + walk) / (2 * n) - 1)
    exceeded = errors >= tail.count_sketch(delta, d=n, b=2)
    assert 0 < (chance[:, None] * chance)[exceeded].sum() < 0.2 * 2 * delta


# zhang2021 Remark 1


def nearest_update(outputs: int, inputs: int, size: int) -> float:
    """The minimum of ‖W_old S_old Z₁ - W_new S_new Z₂ - Δ‖² over Z₁ and Z₂, over ‖Δ‖², for normal weights."""
    rng = np.random.default_rng(0)
    old, new = rng.standard_normal((2, outputs, inputs))
    matrices = CountSketch(inputs, size).draw(1, operators=2, kernels="numpy").materialize()
    seen = np.hstack([old @ matrices[0].T, -new @ matrices[1].T])
    update = old - new
    both = np.linalg.lstsq(seen, update, rcond=None)[0]
    return float(((seen @ both - update) ** 2).sum() / (update**2).sum())


@pytest.mark.parametrize(("outputs", "size"), [(1, 1), (2, 1), (100, 50)])
def test_remark_1_of_zhang2021(outputs: int, size: int) -> None:
    """Hoped for (zhang2021 Remark 1, not claimed as proven): the best of all linear uses of both sketched weights
    misses the update by Ω(1) ‖Δ‖².

    For d_out <= 2s, the 2s columns seen span all outputs when the weights are generic: the minimum is 0.
    """
    assert nearest_update(outputs, 400, size) < 1e-20


@pytest.mark.parametrize(("outputs", "size"), [(3, 1), (101, 50)])
def test_remark_1_of_zhang2021_may_hold_beyond(outputs: int, size: int) -> None:
    """One more output, and something is left: the condition d_out <= 2s is sharp."""
    assert nearest_update(outputs, 400, size) > 1e-4


# tang2021 Lemma 1


def memory_deviations(d: int, b: int, *, channel_noise: float, rounds: int = 5) -> np.ndarray:
    """Over all rounds, the largest ‖ε - Φe‖ over ‖z‖ in each of 10 trials, with e by the recursion of Lemma 1."""
    objective = SparseGradients(NUMPY, d, 4, 0, decay=d / 50)
    sketch = SubsampledHadamard(d, b, signs=False).draw(3, kernels="numpy")
    algorithm = CompressedSensingSGD(FIHT(min(8, d)), 0.3, channel_noise, clients="mean")
    worst = np.zeros(10)
    for at, vectors in tracked(algorithm.run(objective, sketch, 7, trials=10, rounds=rounds), algorithm, sketch):
        if at.sent is not None and vectors is not None:
            off = np.linalg.norm(at.error - sketch.sketch(vectors.e), axis=1)
            worst = np.maximum(worst, off / np.linalg.norm(at.sent.z, axis=1))
    return worst


def test_lemma_1_with_padding() -> None:
    """Printed (tang2021 Lemma 1): the server's memory is ε(t) = Φe(t), with e(t+1) = p(t) - Δ(t) + (ηQ/d) Φᵀw(t).

    For rows of an orthogonal d x d matrix; the paper's network has d = 668,426, where a Walsh-Hadamard matrix is cut to
    d columns. At d = 500, Q = 200, W = 0.5, every trial is off by more than 1 %; at d = 512, by rounding only.
    """
    assert memory_deviations(500, 200, channel_noise=0.5).min() > 0.01
    assert memory_deviations(512, 200, channel_noise=0.5).max() < 1e-10


def test_lemma_1_with_padding_but_no_noise() -> None:
    """Only the noise is carried over by Φᵀ, so without it the cut does no harm."""
    assert memory_deviations(500, 200, channel_noise=0.0).max() < 1e-10


def test_lemma_1_at_three_of_four_columns() -> None:
    """The smallest: d = 3, Q = 2. (Q/d)ΦΦᵀ has 1 on the diagonal and ±1/3 beside it, so noise w comes back as w plus a
    third of its own entries, exchanged: ‖ε - Φe‖ = η‖w‖/3 after the first round."""
    sketch = SubsampledHadamard(3, 2, signs=False).draw(3, kernels="numpy")
    matrix = sketch.materialize()
    np.testing.assert_allclose(abs(2 / 3 * matrix @ matrix.T), [[1, 1 / 3], [1 / 3, 1]], rtol=RELATIVE)
    objective = Quadratic(NUMPY, 3, 2, 0)
    algorithm = CompressedSensingSGD(FIHT(1), 0.3, 0.5)
    _, (at, vectors) = tracked(algorithm.run(objective, sketch, 7, trials=10, rounds=1), algorithm, sketch)
    assert at.sent is not None
    assert vectors is not None
    off = np.linalg.norm(at.error - vectors.e @ matrix.T, axis=1)
    np.testing.assert_allclose(off, 0.3 / 3 * np.linalg.norm(at.sent.noise, axis=1), rtol=1e-10)


# tang2021 Theorem 1


def test_the_proof_of_theorem_1_drops_the_noise() -> None:
    """Printed (tang2021 Appendix B, both cases): x̃(t+1) = x̃(t) - ηg(t) for x̃ = x - e, without (ηQ/d) Φᵀw(t).

    What is missing has the length η √(Q/d) ‖w(t)‖ in every round, because the rows of Φ are orthogonal and of length
    √(d/Q): at W = 5, 36 % to 88 % of the step that x̃ takes. With the term, the recursion holds up to rounding.
    """
    d, b, eta = 64, 40, 0.05
    objective = SparseGradients(NUMPY, d, 5, 0, decay=4.0, spike_rate=0.05)
    sketch = SubsampledHadamard(d, b, signs=False).draw(3, kernels="numpy")
    matrix = sketch.materialize()
    algorithm = CompressedSensingSGD(FIHT(6), eta, 5.0)
    before, shares = np.zeros((4, d)), []
    for at, vectors in tracked(algorithm.run(objective, sketch, 7, trials=4, rounds=20), algorithm, sketch):
        if at.sent is None or vectors is None:
            continue
        np.testing.assert_allclose(vectors.e @ matrix.T, at.error, atol=1e-10)  # this is the e of Lemma 1
        virtual = at.w - vectors.e
        missing = virtual - (before - eta * at.sent.gradient)
        dropped = eta * b / d * at.sent.noise @ matrix
        np.testing.assert_allclose(missing, -dropped, atol=1e-10)
        length = np.linalg.norm(missing, axis=1)
        np.testing.assert_allclose(length, eta * (b / d) ** 0.5 * np.linalg.norm(at.sent.noise, axis=1), rtol=1e-9)
        shares.append(length / np.linalg.norm(virtual - before, axis=1))
        before = virtual
    assert len(shares) == 20
    np.testing.assert_allclose([np.min(shares), np.max(shares)], [0.36, 0.88], atol=0.01)


def test_the_dropped_noise_with_nothing_compressed() -> None:
    """The smallest: d = Q = K = 1 and Φ = 1. All is recovered, so e = 0 and x̃ = x, and as printed the channel's noise
    would leave no trace in x. It does: x(t+1) = x(t) - η(g(t) + w(t))."""
    objective = Quadratic(NUMPY, 1, 2, 0)
    sketch = Identity(1, 1).draw(3, kernels="numpy")
    algorithm = CompressedSensingSGD(FIHT(1), 0.1, 0.5)
    states = list(algorithm.run(objective, sketch, 7, trials=4, rounds=20))
    for before, after in itertools.pairwise(states):
        assert after.sent is not None
        assert (after.error == 0).all()
        np.testing.assert_allclose(after.w, before.w - 0.1 * (after.sent.gradient + after.sent.noise), atol=1e-14)
        assert (abs(after.sent.noise) > 0).all()


def mean_squared_gradient_of_noise(rounds: int) -> float:
    """The mean over t = 1, ..., T of E x(t)² for x(t+1) = x(t) - η(x(t) + w(t)) from x(1) = 0, with E w² = 1 and the
    theorem's η = 1/√T: its f is x²/2, with L = 1."""
    eta, energy, total = rounds**-0.5, 0.0, 0.0
    for _ in range(rounds):
        total += energy
        energy = (1 - eta) ** 2 * energy + eta**2
    return total / rounds


def printed_bound_at_d_1(rounds: int) -> float:
    """Theorem 1 for that f from its minimum: C_n = 1, C_s and G² as small as may be, and γ = 1/2, which (7) allows."""
    tiny = 1e-9
    assert sparsity_limit(1, 1, tiny, 0.5 + 1e-8) >= 1  # sp of a number is 1
    setting = Setting(
        smoothness=1.0,
        gap=0.0,
        squared_distance=0.0,
        noise_energy=tiny,
        channel_energy=1.0,
        share=1.0,
        tail=tiny,
        noise=1.0,
        gamma=0.5 + 1e-8,
        rounds=rounds,
    )
    return setting.squared_gradient


def test_theorem_1_itself_is_false_without_the_dropped_noise() -> None:
    """Printed (tang2021 Theorem 1): σ² is in the bound's 1/T term only, 48 σ²/T at d = Q = K = 1.

    On x²/2 from its minimum, with no noise but the channel's, the mean E‖∇f‖² is about σ²/(2√T): 1.3 times the bound at
    T = 16,000, and above it from T = 9,217 on. Condition (7) does not help: sp(p) = 1 <= 2γ at γ = 1/2. With another
    C_n, the bound is 12(C_n + 1)² σ²/T, and a longer run exceeds it.
    """
    assert printed_bound_at_d_1(16_000) == pytest.approx(48 / 16_000, rel=1e-6)
    assert mean_squared_gradient_of_noise(16_000) > 1.3 * printed_bound_at_d_1(16_000)
    assert mean_squared_gradient_of_noise(9_216) < printed_bound_at_d_1(9_216) * (1 + 1e-5)
    assert mean_squared_gradient_of_noise(9_230) > printed_bound_at_d_1(9_230)


def test_with_the_dropped_noise_theorem_1_holds_there() -> None:
    """For noise of mean zero, (Q/d) σ² belongs to the 1/√T term as G² does: 3 (Q/d) σ²/(2√T) more."""
    for rounds in (400, 4_000, 16_000):
        corrected = printed_bound_at_d_1(rounds) + 1.5 * rounds**-0.5
        assert mean_squared_gradient_of_noise(rounds) < corrected


def test_assumption_3_of_tang2021_lets_the_noise_have_a_mean() -> None:
    """Printed (tang2021 Assumption 3): E‖w(t)‖² <= σ², and no more. A constant w = σ moves the point at which x rests
    to -σ, where ‖∇f‖² = σ²: after 400 rounds the mean is 0.93 σ², and Theorem 1's bound 0.12 σ²."""
    rounds, x, total = 400, 0.0, 0.0
    for _ in range(rounds):
        total += x**2
        x -= rounds**-0.5 * (x + 1)
    assert total / rounds == pytest.approx(0.93, abs=0.01)
    assert printed_bound_at_d_1(rounds) == pytest.approx(0.12, rel=1e-6)
