"""The synthetic problem of tang2021 Appendix C.1: stochastic gradients that are nearly sparse."""

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Array, Kernels
from sketchbench.objective.objective import Objective
from sketchbench.objective.problem import Vector


class SparseGradients(Objective):
    """f_c(w) = ½ (w - w*)ᵀ A_c (w - w*) with diagonal A_c, normal w*, and noise in the gradients.

    The mean A of all A_c has the diagonal exp(-j / decay) + floor for j = 1, ..., `active` (None: d), and 0
    beyond, where w* is 0; there, all clients have 0. Else, a client's own curvature is normal around it with variance
    1 - 1/N, often negative: f is convex, its parts are not. A client's stochastic gradient adds
    `smooth` A u + `spikes` b⊙v, with u and v standard normal and b Bernoulli of the rate `spike_rate`.
    Large curvatures are few, and so are spikes, so gradients are nearly sparse. Exactly known, as for all
    quadratics; the constants of f itself are `mean_smoothness` and `mean_convexity`.
    """

    def __init__(
        self,
        kernels: Kernels,
        d: int,
        clients: int,
        seed: int,
        decay: float = 300.0,
        floor: float = 0.001,
        smooth: float = 12.5,
        spikes: float = 50.0,
        spike_rate: float = 1.5e-3,
        active: int | None = None,
    ) -> None:
        super().__init__(kernels, d, clients)
        for name, value in (("decay", decay), ("floor", floor)):
            if not value > 0:
                raise ValueError(f"{name}={value} must be > 0")
        for name, value in (("smooth", smooth), ("spikes", spikes)):
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name}={value} must be >= 0 and finite")
        if not 0 <= spike_rate <= 1:
            raise ValueError(f"spike_rate={spike_rate} must satisfy 0 <= spike_rate <= 1")
        if active is not None and not 1 <= active <= d:
            raise ValueError(f"active={active} must satisfy 1 <= active <= d={d}")
        random = seeds.generator(seed, data="sparse gradients", d=d, clients=clients)
        acts = np.arange(d) < (d if active is None else active)
        mean = (np.exp(-np.arange(1, d + 1) / decay) + floor) * acts
        own = random.standard_normal((clients, d))
        curvature = mean + (own - own.mean(axis=0)) * acts
        self.minimiser = random.standard_normal(d) * acts
        self.minimum = 0.0
        self.start = np.zeros(d)
        self.smoothness = float(abs(curvature).max())
        self.convexity = -np.inf
        self.mean_smoothness = float(mean.max())
        self.mean_convexity = float(mean.min())
        self._mean, self._curvature = kernels.asarray(mean), kernels.asarray(curvature)
        self._best = kernels.asarray(self.minimiser)
        self._amplitude = smooth * mean
        self._spikes, self._spike_rate = spikes, spike_rate
        self.noise_energy = float(((self._amplitude**2).sum() + spikes**2 * spike_rate * d) / clients)

    def loss(self, w: Array) -> Array:
        return 0.5 * (self._mean * (w - self._best) ** 2).sum(axis=-1)

    def gradients(self, w: Array) -> Array:
        return self._curvature * (w - self._best)

    def gradient(self, w: Array) -> Array:
        return self._mean * (w - self._best)

    def noise(self, random: np.random.Generator, trials: int) -> Array:
        noise = self._amplitude * random.standard_normal((trials, self.clients, self.d))
        at, values = self._drawn_spikes(random, trials)
        noise.reshape(-1)[at] += values
        return self.kernels.asarray(noise)

    def mean_noise(self, random: np.random.Generator, trials: int) -> Array:
        """As drawn: the mean of N normal vectors is one of 1/N of the variance; spikes are averaged."""
        noise = self._amplitude * random.standard_normal((trials, self.d)) / np.sqrt(self.clients)
        at, values = self._drawn_spikes(random, trials)
        trial, at = np.divmod(at, self.clients * self.d)
        np.add.at(noise, (trial, at % self.d), values / self.clients)
        return self.kernels.asarray(noise)

    def _drawn_spikes(self, random: np.random.Generator, trials: int) -> tuple[np.ndarray, Vector]:
        """Where b is 1, as flat places in (trials, N, d), and the noise there."""
        entries = trials * self.clients * self.d
        # Given how many there are, all sets of places are equally likely.
        count = random.binomial(entries, self._spike_rate)
        at = random.choice(entries, count, replace=False, shuffle=False)
        return at, self._spikes * random.standard_normal(count)
