"""Quadratic losses with a chosen spectrum: everything about them is known exactly."""

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Array, Kernels
from sketchbench.objective.objective import Objective


class Quadratic(Objective):
    """f_c(w) = ½ (w - x_c)ᵀ A_c (w - x_c) with diagonal A_c.

    A_c = s_c A: the eigenvalues of A lie between 1 / condition and 1, spread evenly on a log scale;
    condition = inf makes the smallest quarter of them 0, so that f is convex but not strongly. The scales
    s_c spread from 1/2 to 1, so L = 1, and f's own smallest curvature is 3/4 of it. The minima x_c scatter by
    `heterogeneity` around a common point at distance 1 from w⁰ = 0 (on average); 0 makes it the
    minimum of all.
    """

    def __init__(
        self,
        kernels: Kernels,
        d: int,
        clients: int,
        seed: int,
        condition: float = 10.0,
        heterogeneity: float = 1.0,
    ) -> None:
        super().__init__(kernels, d, clients)
        if not condition >= 1:
            raise ValueError(f"condition={condition} must be >= 1")
        if not heterogeneity >= 0:
            raise ValueError(f"heterogeneity={heterogeneity} must be >= 0")
        random = seeds.generator(seed, data="quadratic", d=d, clients=clients)
        spectrum = np.zeros(d)
        spectrum[d // 4 if np.isinf(condition) else 0 :] = 1.0
        spread = np.geomspace(1 / (10.0 if np.isinf(condition) else condition), 1.0, int(spectrum.sum()))
        spectrum[spectrum > 0] = random.permutation(spread)
        curvature = np.linspace(0.5, 1.0, clients)[:, None] * spectrum if clients > 1 else spectrum[None]
        common = random.standard_normal(d) / np.sqrt(d)
        own = heterogeneity * random.standard_normal((clients, d)) / np.sqrt(d)
        self.smoothness = float(curvature.max())
        self.convexity = float(curvature.min())
        self.start = np.zeros(d)
        centres = common + own
        total = curvature.sum(axis=0)
        weighted = (curvature * centres).sum(axis=0)
        # Where nothing curves, any coordinate is a minimum: that of the start is the nearest.
        self.minimiser = np.divide(weighted, total, out=np.zeros(d), where=total > 0)
        self._curvature, self._centres = kernels.asarray(curvature), kernels.asarray(centres)
        self.minimum = float(self.loss(kernels.asarray(self.minimiser)))

    def loss(self, w: Array) -> Array:
        away = w[..., None, :] - self._centres
        return 0.5 * (self._curvature * away**2).sum(axis=-1).mean(axis=-1)

    def gradients(self, w: Array) -> Array:
        return self._curvature * (w - self._centres)
