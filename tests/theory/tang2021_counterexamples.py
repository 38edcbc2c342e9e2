"""The two numbers, printed and measured, of each counterexample to tang2021, from the definitions alone."""

import itertools
import math
from collections.abc import Callable

import numpy as np

Numbers = tuple[float, float]
HADAMARD = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2


def memory_deviation(matrix: np.ndarray, noise: np.ndarray) -> float:
    """‖ε(2) - Φe(2)‖/(η‖w‖), from what the server computes and from the recursion of Lemma 1, for any p and Δ."""
    b, d = matrix.shape
    eta, p, decoded = 0.1, np.linspace(-1, 2, d), np.linspace(3, 1, d)
    kept = matrix @ p + eta * noise - matrix @ decoded
    e = p - decoded + eta * b / d * matrix.T @ noise
    return float(np.linalg.norm(kept - matrix @ e) / (eta * np.linalg.norm(noise)))


def lemma_1_with_repeated_rows() -> Numbers:
    matrix = np.array([[1, 1], [1, 1]]) / np.sqrt(2)
    return 0.0, memory_deviation(matrix, np.array([1.0, -1.0]))


def lemma_1_padded() -> Numbers:
    """The same for every pair of rows and any noise."""
    noise = np.array([0.3, -0.7])
    pairs = itertools.combinations(range(4), 2)
    found = [memory_deviation(np.sqrt(4 / 2) * HADAMARD[list(pair), :3], noise) for pair in pairs]
    assert np.ptp(found) < 1e-12
    return 0.0, found[0]


def bound_at_d_1(rounds: int) -> float:
    """Theorem 1 on x²/2 from its minimum with no noise but the channel's: C_n = √(Q/d) = σ² = 1 and γ = 1/2."""
    return 3 / rounds * 2 * (1 + 1) ** 2 / (1 - 0.5)


def mean_squared_gradient_of_noise(rounds: int) -> float:
    """The mean over t = 1, ..., T of E x(t)² for x(t+1) = x(t) - η(x(t) + w(t)) from x(1) = 0, with E w² = 1 and the
    theorem's η = 1/√T: its f is x²/2, with L = 1."""
    eta, energy, total = rounds**-0.5, 0.0, 0.0
    for _ in range(rounds):
        total += energy
        energy = (1 - eta) ** 2 * energy + eta**2
    return total / rounds


def theorem_1() -> Numbers:
    return bound_at_d_1(16_000), mean_squared_gradient_of_noise(16_000)


def appendix_b() -> Numbers:
    """All is recovered, so that e = 0 and x̃ = x."""
    eta, x, noise = 0.1, 2.0, 1.0
    gradient = x
    after = x - (eta * gradient + eta * noise)
    return 0.0, after - x + eta * gradient


def assumption_3() -> Numbers:
    rounds, x, total = 400, 0.0, 0.0
    for _ in range(rounds):
        total += x**2
        x -= rounds**-0.5 * (x + 1)
    return bound_at_d_1(rounds), total / rounds


def appendix_d() -> Numbers:
    """The best estimate keeps K of the K + 1 entries as they are; with K = 1 nonzero, one of two."""

    def least_constant(k: int) -> float:
        x = np.ones(k + 1)
        estimates = [np.where(np.arange(k + 1) == missed, 0.0, x) for missed in range(k + 1)]
        error = min(np.linalg.norm(x - estimate) for estimate in estimates)
        return float(error * np.sqrt(k) / np.sort(x)[:-k].sum())

    return least_constant(1), least_constant(16)


def download() -> Numbers:
    """log₂ of the binomial coefficient by log-gamma."""
    d, k = 668_426, 30_000
    bits = (math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)) / math.log(2)
    return 1.0, 1 + bits / (32 * k)


COUNTEREXAMPLES: dict[str, Callable[[], Numbers]] = {
    "tang2021-appendix-B": appendix_b,
    "tang2021-appendix-D": appendix_d,
    "tang2021-assumption-3": assumption_3,
    "tang2021-download": download,
    "tang2021-lemma-1-padded": lemma_1_padded,
    "tang2021-lemma-1-repeated": lemma_1_with_repeated_rows,
    "tang2021-theorem-1": theorem_1,
}
