"""Sums of clients' vectors that a server sees by secure aggregation: integers modulo 2^B, with the discrete Gaussian
noise of all clients (Kairouz, Liu and Steinke 2021, after a linear projection as in Chen et al. 2022).

Each client divides its vector by the unit γ, rounds the entries at random, adds N_Z(0, σ²) to each, and sends integers
modulo 2^B. Two things cost privacy in addition to the Gaussian mechanism of C σ²:

- rounding enlarges the change by a record (`rounded_norm`), with a probability of β in every release. Releases with a
  larger change count in δ, with T β in all;
- the sum of C discrete Gaussians is close to one, but for τ in each of b entries (`closeness`). The probabilities of
  all T releases have a ratio of at most exp(T b τ) to those with one, which adds 2 T b τ to ε and multiplies δ.

The float32 rounding of the vectors, some 1e-6 of their norm, is left out.
"""

import math
from dataclasses import dataclass

from sketchbench.base.parameters import Checked, Count, Positive, Probability, Share
from sketchbench.privacy import discrete_gaussian
from sketchbench.privacy.discrete_gaussian import closeness, on_grid, rounded_norm

SPENT = 1e-3  # of δ for large changes by rounding, and of ε for sums that are not discrete Gaussian
HALVINGS = 60  # of an interval of γ


@dataclass(frozen=True)
class SecureSum(Checked):
    """Sums of C clients' vectors over random batches of their records, and the (ε, δ) that all sums may spend.

    Arguments:
        clients: C; each adds a share of the noise.
        sensitivity: largest ℓ2 norm of a record's part of a sum; a record belongs to one client.
        largest: largest ℓ2 norm of a sum; a larger sum may wrap around, which costs accuracy but no privacy.
        rounds: T, the number of sums.
        rate: q, the probability of a record to be in a batch.
        epsilon, delta: of all sums, for a record more or less.
    """

    clients: Count
    sensitivity: Positive
    largest: Positive
    rounds: Count
    rate: Share
    epsilon: Positive
    delta: Probability


@dataclass(frozen=True)
class Grid(Checked):
    """The integers that clients send, and the noise that each of C clients adds to each of b = `rows` integers. γ
    (`unit`) and the sensitivity, of a sum before it is rounded, are in the unit of the vectors, σ² (`variance`), of a
    client's noise, in units of γ². β is the probability of a larger change than `changed`."""

    unit: Positive
    variance: Positive
    clients: Count
    rows: Count
    sensitivity: Positive
    beta: Probability

    @property
    def sigma(self) -> float:
        """The standard deviation of the sum's noise, in the unit of the vectors."""
        return self.unit * math.sqrt(self.clients * self.variance)

    @property
    def changed(self) -> float:
        """The largest norm of the integers by which a record changes a sum, exceeded with the probability β."""
        return rounded_norm(self.sensitivity / self.unit, self.rows, self.beta)

    def slack(self, rounds: int) -> float:
        """T b τ, the logarithm of the largest ratio of probabilities to a single discrete Gaussian's."""
        return rounds * self.rows * closeness(math.sqrt(self.variance), self.clients)

    def spent(self, rounds: int, rate: float, delta: float) -> float:
        """The ε of `rounds` sums over batches with this rate, at δ."""
        slack, kept = self.slack(rounds), delta - rounds * self.beta
        if kept <= 0:
            raise ValueError(f"rounds={rounds} times beta={self.beta:.3g} must be below delta={delta:g}")
        multiplier = math.sqrt(self.clients * self.variance) / self.changed
        return discrete_gaussian.epsilon(rounds, rate, multiplier, kept * math.exp(-slack)) + 2 * slack


def unit(spread: float, variance: float, clients: int, reach: float) -> float:
    """γ with which sums have a standard deviation of `reach`, with noise of `variance` and C clients that round, whose
    errors count as 1/4 each (Hoeffding); infinity if there is none. `spread` is the deviation of the sums alone."""
    room = reach**2 - variance - clients / 4
    return spread / math.sqrt(room) if room > 0 else math.inf


def reach(bits: int, rows: int, wraps: float) -> float:
    """The largest standard deviation with which any of b integer sums is beyond ±(2^(B - 1) - 1) with a probability of
    at most `wraps`: k deviations have 2 exp(-k²/2) for each sum. Sums are sub-Gaussian: vectors after random signs and
    a Walsh-Hadamard transform of length n, with a deviation of their norm over √n, rounding errors, and discrete
    Gaussians (Canonne, Kamath and Steinke 2020)."""
    return (2 ** (bits - 1) - 1) / math.sqrt(2 * math.log(2 * rows / wraps))


def fit(sums: SecureSum, rows: int, length: int, bits: int, wraps: float) -> Grid:
    """The finest grid on which these sums, and the noise that they need, hardly ever wrap around: with probability
    `wraps` in any entry of a round's sum of at most the largest norm. A client sends b = `rows` integers of B `bits`,
    from a transform of length n. Raises ValueError if B bits are too few for the noise, or if sums of discrete
    Gaussians with that noise are not close to one."""
    beta = SPENT * sums.delta / sums.rounds
    delta = (1 - SPENT) * sums.delta * math.exp(-SPENT * sums.epsilon / 2)
    multiplier = discrete_gaussian.multiplier(sums.rounds, sums.rate, (1 - SPENT) * sums.epsilon, delta)
    most, spread = reach(bits, rows, wraps), sums.largest / math.sqrt(length)

    def variance(gamma: float) -> float:
        """The σ² of a client."""
        changed = rounded_norm(sums.sensitivity / gamma, rows, beta)
        return on_grid((multiplier * changed) ** 2 / sums.clients)

    def fits(gamma: float) -> bool:
        return unit(spread, sums.clients * variance(gamma), sums.clients, most) <= gamma

    low, high = math.log(spread) - 60, math.log(max(spread, sums.sensitivity)) + 60
    if not fits(math.exp(high)):
        raise ValueError(
            f"bits={bits} hold no sum of {sums.clients} clients with noise for {rows} rows, as rounding alone needs "
            f"{math.sqrt(variance(math.exp(high)) * sums.clients):.3g} of {most:.3g}; use more bits or fewer rows"
        )
    for _ in range(HALVINGS):  # the coarser, the less noise in its unit
        middle = (low + high) / 2
        low, high = (low, middle) if fits(math.exp(middle)) else (middle, high)
    gamma = math.exp(high)
    grid = Grid(gamma, variance(gamma), sums.clients, rows, sums.sensitivity, beta)
    sigma = math.sqrt(grid.variance)
    if sigma < 0.5 or 2 * grid.slack(sums.rounds) > SPENT * sums.epsilon:
        raise ValueError(
            f"sigma/gamma={sigma:.3g} of each client is so little that the sum of {sums.clients} clients' noise is no "
            "discrete Gaussian; use a finer grid, by more bits"
        )
    return grid
