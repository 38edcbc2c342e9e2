"""The synthetic problem of tang2021 Appendix C.1, whose stochastic gradients are nearly sparse."""

from typing import Annotated

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import Count, Range, checked
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.diagonal import Diagonal
from sketchbench.learning.objective.problem import Moderate, Vector


class SparseGradients(Diagonal):
    """f_c(w) = ½ (w - w*)ᵀ A_c (w - w*) with diagonal A_c and normal w*, and noisy gradients. Raises ValueError for a
    parameter out of its range.

    The mean A of all A_c has the diagonal exp(-j / decay) + floor in the active coordinates j = 1, ..., `active` (None:
    all). There a client's curvatures are normal around it with variance 1 - 1/N, often negative: f is convex, the f_c
    are not. In other coordinates A, every A_c and w* are 0. A client's stochastic gradient has the noise `smooth` A u +
    `spikes` b⊙v, with u and v standard normal and b Bernoulli of rate `spike_rate` (R₁, R₂ and p_b in the paper).
    Gradients are nearly sparse, since large curvatures and spikes are few. All constants are exact; f's own are
    `mean_smoothness` and `mean_convexity`.
    """

    @checked
    def __init__(
        self,
        kernels: Kernels,
        d: int,
        clients: int,
        seed: int,
        *,
        decay: Annotated[float, Range(1e-50, 1e50)] = 300.0,
        floor: Annotated[float, Range(0, 1e50, open_low=True)] = 0.001,
        smooth: Moderate = 12.5,
        spikes: Moderate = 50.0,
        spike_rate: Annotated[float, Range(0, 1)] = 1.5e-3,
        active: Count | None = None,
    ) -> None:
        super().__init__(kernels, d, clients)
        if active is not None and active > d:
            raise ValueError(f"active={active} must be <= d={d}")
        random = seeds.generator(seed, data="sparse gradients", d=d, clients=clients)
        acts = np.arange(d) < (d if active is None else active)
        mean = (np.exp(-np.arange(1, d + 1) / decay) + floor) * acts
        deviations = random.standard_normal((clients, d))
        curvatures = mean + (deviations - deviations.mean(axis=0)) * acts
        self.minimiser = random.standard_normal(d) * acts
        self.minimum = 0.0
        self._set(curvatures, self.minimiser)
        self.convexity = -np.inf
        self.mean_smoothness = float(mean.max())
        self.mean_convexity = float(mean.min())
        self._mean = kernels.asarray(mean)
        self._amplitude = smooth * mean
        self._spikes, self._spike_rate = spikes, spike_rate
        self.noise_energy = float(((self._amplitude**2).sum() + spikes**2 * spike_rate * d) / clients)

    def loss(self, w: Array) -> Array:  # by the mean curvature, since all clients have the same minimiser
        return 0.5 * (self._mean * (w - self._centres) ** 2).sum(axis=-1)

    def gradient(self, w: Array) -> Array:
        return self._mean * (w - self._centres)

    def noise(self, random: np.random.Generator, trials: int) -> Array:
        noise = self._amplitude * random.standard_normal((trials, self.clients, self.d))
        places, values = self._draw_spikes(random, trials)
        noise.reshape(-1)[places] += values
        return self.kernels.asarray(noise)

    def mean_noise(self, random: np.random.Generator, trials: int) -> Array:
        """Draws one normal vector of 1/N of the variance, and the mean of all clients' spikes."""
        noise = self._amplitude * random.standard_normal((trials, self.d)) / np.sqrt(self.clients)
        places, values = self._draw_spikes(random, trials)
        trial, place = np.divmod(places, self.clients * self.d)
        np.add.at(noise, (trial, place % self.d), values / self.clients)
        return self.kernels.asarray(noise)

    def _draw_spikes(self, random: np.random.Generator, trials: int) -> tuple[np.ndarray, Vector]:
        """Draw the spikes: flat indices into (trials, N, d), and values; none if their amplitude is 0."""
        if not self._spikes:
            return np.empty(0, dtype=np.int64), np.empty(0)
        entries = trials * self.clients * self.d
        # Given the number of spikes, all sets of places are equally likely.
        count = random.binomial(entries, self._spike_rate)
        places = random.choice(entries, count, replace=False, shuffle=False)
        return places, self._spikes * random.standard_normal(count)
