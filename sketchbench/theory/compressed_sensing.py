"""Convergence of SGD with compressed sensing: tang2021 Theorem 1, with its condition (7)."""

from dataclasses import dataclass

from sketchbench.parameters import Checked, Count, NonNegative, Positive, Probability


@dataclass(frozen=True, kw_only=True)
class Setting(Checked):
    """The constants of Theorem 1, none of which a run measured.

    Arguments:
        smoothness: L of f.
        gap: f(x(1)) - f*.
        squared_distance: ‖x(1) - x*‖².
        noise_energy: G², E‖noise‖² of the clients' mean stochastic gradient.
        channel_energy: σ² >= E‖w(t)‖², of the channel's noise.
        share: Q/d, numbers sent over numbers of the gradient.
        tail, noise: C_s and C_n of the recovery (Lemma 2).
        gamma: γ of condition (7).
        rounds: T.

    Raises:
        ValueError: for fewer rounds than the theorem needs.
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

    def __post_init__(self) -> None:
        super().__post_init__()
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
        """γ(1 + γ)/(1 - γ)² G² + 2(C_n + √(Q/d))² σ²/(1 - γ)."""
        channel = 2 * (self.noise + self.share**0.5) ** 2 * self.channel_energy
        return self._lasting * self.noise_energy + channel / (1 - self.gamma)

    @property
    def rate(self) -> float:
        """The step size, 1/(L√T)."""
        return self._root / self.smoothness

    @property
    def squared_gradient(self) -> float:
        """The upper bound of the mean over t of E‖∇f(x(t))‖²."""
        first = 6 * self.smoothness * self.gap + 3 * self.noise_energy
        return first * self._root / 2 + 3 / self.rounds * self._lost

    @property
    def average_excess(self) -> float:
        """The upper bound of E f(x̄) - f*, for convex f and the mean x̄ of all x(t)."""
        first = self.smoothness * self.squared_distance + self.noise_energy / self.smoothness
        return first * self._root + 6 / self.rounds * self._lost / self.smoothness


def sparsity_limit(k: int, d: int, tail: float, gamma: float) -> float:
    """The largest sp(p(t)) that condition (7) allows, for a recovery of k entries with the tail constant C_s."""
    return gamma * 2 * k / d / (1 + tail * (3 - 2 * k / d)) ** 2
