"""Convergence of SGD with compressed sensing: tang2021 Theorem 1, with its condition (7)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """Constants of the problem, none of which a run measured.

    smoothness: L of f. gap: f(x(1)) - f*. squared_distance: ‖x(1) - x*‖². noise_energy: G², of the mean
    gradient. channel_energy: σ² >= E‖w(t)‖². share: Q/d. tail, noise: C_s and C_n of the recovery (Lemma 2).
    gamma: γ of (7), in (0, 1). rounds: T.
    """

    smoothness: float
    gap: float
    squared_distance: float
    noise_energy: float
    channel_energy: float
    share: float
    tail: float
    noise: float
    gamma: float
    rounds: int

    def __post_init__(self) -> None:
        if not 0 < self.gamma < 1:
            raise ValueError(f"gamma={self.gamma} must satisfy 0 < gamma < 1")
        if not 1 / 6 + self._root / 2 + 3 * self._lasting / self.rounds <= 1 / 4:
            raise ValueError(f"rounds={self.rounds} are too few for Theorem 1 with gamma={self.gamma}; take more")

    @property
    def _root(self) -> float:
        return float(self.rounds**-0.5)

    @property
    def _lasting(self) -> float:
        return self.gamma * (1 + self.gamma) / (1 - self.gamma) ** 2

    @property
    def _lost(self) -> float:
        """What γ(1 + γ)/(1 - γ)² G² + 2(C_n + √(Q/d))² σ²/(1 - γ) comes to."""
        channel = 2 * (self.noise + self.share**0.5) ** 2 * self.channel_energy
        return self._lasting * self.noise_energy + channel / (1 - self.gamma)

    @property
    def rate(self) -> float:
        """The step, 1/(L√T)."""
        return self._root / self.smoothness

    @property
    def squared_gradient(self) -> float:
        """The bound on the mean over t of E‖∇f(x(t))‖²."""
        first = 6 * self.smoothness * self.gap + 3 * self.noise_energy
        return first * self._root / 2 + 3 / self.rounds * self._lost

    @property
    def average_excess(self) -> float:
        """The bound on E f(x̄) - f*, for convex f."""
        first = self.smoothness * self.squared_distance + self.noise_energy / self.smoothness
        return first * self._root + 6 / self.rounds * self._lost / self.smoothness


def sparsity_limit(k: int, d: int, tail: float, gamma: float) -> float:
    """What sp(p(t)) must not exceed, (7), for a recovery with k entries and tail constant C_s."""
    return gamma * 2 * k / d / (1 + tail * (3 - 2 * k / d)) ** 2
