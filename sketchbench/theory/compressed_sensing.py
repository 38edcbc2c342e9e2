"""Bounds for SGD with compressed sensing: tang2021 Theorem 1 and Lemma 4, with their condition (7)."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from sketchbench.base.parameters import Checked, Count, NonNegative, Positive, Probability, Share, checked


class SensingConstants(NamedTuple):
    """Constants of a recovery (tang2021 Lemma 2): C_s and C_n, factors of the norms of x - x^[k] and of the noise."""

    tail: float
    noise: float


@checked
def orthogonal_constants(k: Count, d: Count) -> SensingConstants:
    """The constants of Lemma 2 for an orthogonal d × d matrix Φ. Here FIHT returns H_k(x + v) with v = Φᵀw.

    H_k keeps the k entries of largest magnitude. With S the places of x^[k], ‖H_k(x + v) - x - v‖ is at most the norm
    of x + v outside S. So the error is at most ‖x - x^[k]‖ + ‖v outside S‖ + ‖v‖; for k = d it is ‖v‖.

    >>> orthogonal_constants(40, 64)
    SensingConstants(tail=0.0, noise=2.0)
    """
    _check_sparsity(k, d)
    return SensingConstants(0.0, 1.0 if k == d else 2.0)


@dataclass(frozen=True, kw_only=True)
class SensingSetting(Checked):
    """The constants of Theorem 1, from problem and recovery, never from a run; and the theorem's bounds. Raises
    ValueError for fewer rounds than the theorem needs.

    Arguments:
        smoothness: L of f.
        gap: f(x(1)) - f*.
        squared_distance: ‖x(1) - x*‖².
        noise_energy: G², E‖noise‖² of the clients' mean stochastic gradient.
        channel_energy: σ² >= E‖w(t)‖², of the channel's noise.
        share: Q/d, measurements sent over entries of the gradient.
        tail, noise: C_s and C_n of the recovery (Lemma 2).
        gamma: γ of condition (7).
        rounds: T.
        dropped: energy missing next to G² in the printed bound's terms of 1/√T; see `with_channel_noise`.
    """

    smoothness: Positive
    gap: float
    squared_distance: NonNegative
    noise_energy: NonNegative
    channel_energy: NonNegative
    share: Positive
    tail: NonNegative
    noise: NonNegative
    gamma: Probability
    rounds: Count
    dropped: NonNegative = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 / 6 + self._root / 2 + 3 * self._memory_factor / self.rounds <= 1 / 4:
            raise ValueError(f"rounds={self.rounds} are too few for Theorem 1 with gamma={self.gamma}; take more")

    @property
    def _root(self) -> float:
        return float(self.rounds**-0.5)

    @property
    def _memory_factor(self) -> float:
        """γ(1 + γ)/(1 - γ)², a factor of the bound of the memory e(t)."""
        return self.gamma * (1 + self.gamma) / (1 - self.gamma) ** 2

    @property
    def _error_energy(self) -> float:
        channel = 2 * (self.noise + self.share**0.5) ** 2 * self.channel_energy
        return self._memory_factor * self.noise_energy + channel / (1 - self.gamma)

    @property
    def rate(self) -> float:
        """The step size, 1/(L√T)."""
        return self._root / self.smoothness

    @property
    def squared_gradient(self) -> float:
        """The upper bound of the mean over t of E‖∇f(x(t))‖²."""
        first = 6 * self.smoothness * self.gap + 3 * (self.noise_energy + self.dropped)
        return first * self._root / 2 + 3 / self.rounds * self._error_energy

    @property
    def memory_slope(self) -> float:
        """Factor of the mean of E‖∇f(x(t))‖² in Lemma 4's upper bound of the mean of E‖e(t)‖²."""
        return 2 * self.rate**2 * self._memory_factor

    @property
    def memory_energy(self) -> float:
        """Constant term of Lemma 4's upper bound of the mean of E‖e(t)‖²."""
        return 2 * self.rate**2 * self._error_energy

    @property
    def with_channel_noise(self) -> "SensingSetting":
        """The corrected setting, with (Q/d)σ² added to G² in the terms of 1/√T, for channel noise of mean 0. The
        proof's step of x̃, -ηg(t), lacks (ηQ/d)Φᵀw(t), whose squared norm is η²(Q/d)‖w(t)‖²."""
        return replace(self, dropped=self.share * self.channel_energy)

    @property
    def average_excess(self) -> float:
        """The upper bound of E f(x̄) - f*, for convex f and the mean x̄ of all x(t)."""
        energy = self.noise_energy + self.dropped
        first = self.smoothness * self.squared_distance + energy / self.smoothness
        return first * self._root + 6 / self.rounds * self._error_energy / self.smoothness


@checked
def sparsity_limit(k: Count, d: Count, tail: NonNegative, gamma: Probability) -> float:
    """The largest sparsity sp(p(t)) under condition (7), for a recovery of k entries with tail constant C_s."""
    _check_sparsity(k, d)
    return gamma * 2 * k / d / (1 + tail * (3 - 2 * k / d)) ** 2


def _check_sparsity(k: int, d: int) -> None:
    if k > d:
        raise ValueError(f"k={k} must be <= d={d}")


@checked
def feedback_limit(share: Share) -> float:
    """The largest norm of error feedback's memory over the largest norm of a message: q/(1 - q) with q² = 1 - share,
    nearly 2/share. The compressor takes this share of the energy of its input, 0 < share <= 1, so ‖ε(t)‖ <= q
    (‖ε(t - 1)‖ + ‖message‖). For the K largest of d entries the share is at least K/d. Ours."""
    q = math.sqrt(1 - share)
    return q / (1 - q)
