"""The two numbers, printed and measured, of each counterexample to tang2021, from the definitions alone."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator

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
    matrix = np.sqrt(4 / 2) * HADAMARD[[0, 0]]
    return 0.0, memory_deviation(matrix, np.array([1.0, -1.0]))


def lemma_1_padded() -> Numbers:
    """The same for every pair of rows and any noise."""
    noise = np.array([0.3, -0.7])
    pairs = itertools.combinations(range(4), 2)
    found = [memory_deviation(np.sqrt(4 / 2) * HADAMARD[list(pair), :3], noise) for pair in pairs]
    assert np.ptp(found) < 1e-12
    return 0.0, found[0]


def walsh_hadamard(x: np.ndarray) -> np.ndarray:
    """The product with the Walsh-Hadamard matrix of ones and minus ones, whose first row is constant."""
    result = x
    for length in 2 ** np.arange(int(math.log2(len(x)))):
        pairs = result.reshape(-1, 2, length)
        result = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
    return result


class Rows:
    """The Walsh-Hadamard matrix of order d without its constant row, whose columns have length 1."""

    def __init__(self, d: int, *, transposed: bool = False) -> None:
        self.d, self.transposed = d, transposed

    @property
    def T(self) -> "Rows":  # noqa: N802 - the name of numpy
        return Rows(self.d, transposed=not self.transposed)

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        scaled = x / np.sqrt(self.d - 1)
        if self.transposed:
            return walsh_hadamard(np.append(0.0, scaled))  # the whole matrix is symmetric
        return walsh_hadamard(scaled)[1:]


class Channel:
    """f = ‖x‖²/2 of d entries from its minimum, with exact gradients. Φ is the Walsh-Hadamard matrix without its
    constant row: Q = d - 1 distinct rows, and (4K, 4K/d)-restricted isometry. All noise is a multiple of Φu, for
    u = (e₁ - e₂)/√2, so that x stays a multiple of u.

    Condition (7) holds with γ = 1/2: sp(p) = 2/d for every multiple p of u, and the condition allows γ 2K/d = K/d over
    (1 + C_s(3 - 2K/d))².
    """

    gamma, c_n = 0.5, 2.0

    def __init__(self, d: int, k: int) -> None:
        self.d, self.b, self.k, self.phi = d, d - 1, k, Rows(d)
        self.u = np.zeros(self.d)
        self.u[:2] = 1 / np.sqrt(2), -1 / np.sqrt(2)
        self.energy = float(np.sum((self.phi @ self.u) ** 2))  # of the noise Φu: σ²

    @property
    def largest_c_s(self) -> float:
        """The largest C_s for which (7) holds."""
        return (math.sqrt(self.gamma * self.k) - 1) / (3 - 2 * self.k / self.d)

    def recover(self, y: np.ndarray) -> np.ndarray:
        """One iteration of FIHT (Appendix E), which leaves no residual of these signals."""
        slope = self.phi.T @ y
        support = np.sort(np.argsort(-np.abs(slope), kind="stable")[: self.k])
        g = np.zeros(self.d)
        g[support] = slope[support]
        fall = np.zeros(self.d)
        fall[support] = (self.phi.T @ (y - self.phi @ g))[support]
        rise = self.phi @ fall
        g = g + (fall @ fall) / (rise @ rise) * fall
        assert np.linalg.norm(y - self.phi @ g) < 1e-9 * np.linalg.norm(y)
        return g

    def run(self, noise: Iterable[float], eta: float) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
        """xᵀu, g and x̃ = x - e in every round of Algorithm 1, with w = noise · Φu and e by Lemma 1's recursion."""
        x, kept, e = np.zeros(self.d), np.zeros(self.b), np.zeros(self.d)
        for amount in noise:
            w, g = amount * (self.phi @ self.u), x
            yield float(x @ self.u), g, x - e
            z = eta * (self.phi @ g + w) + kept
            step, p = self.recover(z), eta * g + e
            x, kept = x - step, z - self.phi @ step
            e = p - step + eta * self.b / self.d * (self.phi.T @ w)
            assert np.linalg.norm(kept - self.phi @ e) < 1e-9  # Lemma 1, as rows are distinct

    def bound(self, rounds: int) -> float:
        """Theorem 1's bound of the mean ‖∇f‖², where all other terms are 0."""
        memory = 2 * (self.c_n + np.sqrt(self.b / self.d)) ** 2 * self.energy / (1 - self.gamma)
        return float(3 / rounds * memory)


SMALL, CHANNEL = Channel(1_024, 20), Channel(65_536, 1_280)


def mean_square(rounds: int, constant: float) -> float:
    """The mean over rounds of E a², for a ← (1 - η)a - η noise from 0, noise ± 1 with this mean, η = 1/√rounds."""
    eta, mean, square, total = rounds**-0.5, 0.0, 0.0, 0.0
    for _ in range(rounds):
        total += square
        square = (1 - eta) ** 2 * square - 2 * (1 - eta) * eta * mean * constant + eta**2
        mean = (1 - eta) * mean - eta * constant
    return total / rounds


def theorem_1() -> Numbers:
    rounds, few = 320_000, 5
    assert CHANNEL.largest_c_s > 8.2
    eta, a = rounds**-0.5, 0.0
    signs = [1.0, -1.0, -1.0, 1.0, 1.0]
    for (value, _, _), sign in zip(CHANNEL.run(signs, eta), signs, strict=True):
        assert abs(value - a) < 1e-12, few  # Algorithm 1 itself is the recursion of `mean_square`
        a = (1 - eta) * a - eta * sign
    return CHANNEL.bound(rounds), mean_square(rounds, 0)


def appendix_b() -> Numbers:
    eta = 0.1
    (_, gradient, before), (_, _, after) = SMALL.run([1.0, 0.0], eta)
    return 0.0, float((after - before + eta * gradient) @ SMALL.u)


def assumption_3() -> Numbers:
    rounds = 400
    return CHANNEL.bound(rounds), mean_square(rounds, 1)


def stopping_rule() -> Numbers:
    """Four norms ‖w(0)‖, ..., ‖w(3)‖ before a standard deviation is asked for; and w(1), whose residual is 0."""
    phi = np.sqrt(4 / 3) * HADAMARD[1:]
    y = phi @ np.array([1.0, -1.0, 0.0, 0.0])
    slope = phi.T @ y
    at = np.argsort(-np.abs(slope))[:2]
    columns = phi[:, at]
    fall = columns.T @ (y - columns @ slope[at])
    points = [slope[at], slope[at] + fall * (fall @ fall) / np.sum((columns @ fall) ** 2)]
    assert min(np.linalg.norm(w) for w in points) > 1e-4
    settled = [bool(np.linalg.norm(y - columns @ w) <= 1e-4) for w in points]
    return 4.0, float(settled.index(True) + 1)


def download() -> Numbers:
    """log₂ of the binomial coefficient by log-gamma."""
    d, k = 668_426, 30_000
    bits = (math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)) / math.log(2)
    return 1.0, 1 + bits / (32 * k)


COUNTEREXAMPLES: dict[str, Callable[[], Numbers]] = {
    "tang2021-appendix-B": appendix_b,
    "tang2021-assumption-3": assumption_3,
    "tang2021-download": download,
    "tang2021-lemma-1-padded": lemma_1_padded,
    "tang2021-lemma-1-repeated": lemma_1_with_repeated_rows,
    "tang2021-stopping-rule": stopping_rule,
    "tang2021-theorem-1": theorem_1,
}
