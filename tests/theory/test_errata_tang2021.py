"""Why tang2021 Lemma 1 and Theorem 1 are false as printed, on the very algorithm, and what does hold."""

import itertools

import numpy as np
import pytest
from tang2021_counterexamples import mean_square

from sketchbench.federated.compressed_sensing import CompressedSensingSGD, track
from sketchbench.kernels import load
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.learning.objective.sparse_gradients import SparseGradients
from sketchbench.sketch.identity import Identity
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.theory.compressed_sensing import SensingSetting, sparsity_limit

NUMPY = load("numpy")
RELATIVE = 1e-12  # the error of a few sums in float64, and more


def memory_deviations(d: int, b: int, *, channel_noise: float, rounds: int = 5) -> np.ndarray:
    """Over all rounds, the largest ‖ε - Φe‖ over ‖z‖ in each of 10 trials, with e by the recursion of Lemma 1."""
    objective = SparseGradients(NUMPY, d, 4, 0, decay=d / 50)
    sketch = SubsampledHadamard(d, b, signs=False).draw(3, kernels="numpy")
    algorithm = CompressedSensingSGD(FIHT(min(8, d)), 0.3, channel_noise, clients="mean")
    worst = np.zeros(10)
    for at, vectors in track(algorithm.run(objective, sketch, 7, trials=10, rounds=rounds), algorithm, sketch):
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
    _, (at, vectors) = track(algorithm.run(objective, sketch, 7, trials=10, rounds=1), algorithm, sketch)
    assert at.sent is not None
    assert vectors is not None
    off = np.linalg.norm(at.error - vectors.e @ matrix.T, axis=1)
    np.testing.assert_allclose(off, 0.3 / 3 * np.linalg.norm(at.sent.noise, axis=1), rtol=1e-10)


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
    for at, vectors in track(algorithm.run(objective, sketch, 7, trials=4, rounds=20), algorithm, sketch):
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


def bound_at_d_1(rounds: int) -> float:
    """Theorem 1 on x²/2 from its minimum with no noise but the channel's: C_n = √(Q/d) = σ² = 1 and γ = 1/2."""
    return 3 / rounds * 2 * (1 + 1) ** 2 / (1 - 0.5)


def printed_bound_at_d_1(rounds: int) -> float:
    """Theorem 1 for that f from its minimum: C_n = 1, C_s and G² as small as may be, and γ = 1/2, which (7) allows."""
    tiny = 1e-9
    assert sparsity_limit(1, 1, tiny, 0.5 + 1e-8) >= 1  # sp of a number is 1
    setting = SensingSetting(
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
    assert printed_bound_at_d_1(16_000) == pytest.approx(bound_at_d_1(16_000), rel=1e-6)
    assert mean_square(16_000, 0) > 1.3 * printed_bound_at_d_1(16_000)
    assert mean_square(9_216, 0) < printed_bound_at_d_1(9_216) * (1 + 1e-5)
    assert mean_square(9_230, 0) > printed_bound_at_d_1(9_230)


def test_with_the_dropped_noise_theorem_1_holds_there() -> None:
    """For noise of mean zero, (Q/d) σ² belongs to the 1/√T term as G² does: 3 (Q/d) σ²/(2√T) more."""
    for rounds in (400, 4_000, 16_000):
        corrected = printed_bound_at_d_1(rounds) + 1.5 * rounds**-0.5
        assert mean_square(rounds, 0) < corrected
