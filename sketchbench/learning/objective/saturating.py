"""A smooth, non-convex loss with known constants: squared residuals that saturate."""

from typing import Annotated

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import Range, checked
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.objective import Objective
from sketchbench.learning.objective.problem import Moderate, Vector

STEEPEST = 3 * np.sqrt(3) / 8  # the largest slope of r² / (1 + r²)


class Saturating(Objective):
    """f_c(w) = Σ_j a_j r²/(1 + r²) with r = w_j - x_cj (Geman and McClure's loss of robust statistics). Raises
    ValueError for a parameter out of its range.

    Its second derivative lies between -a_j/2 and 2 a_j. The scales a_j fall from 1/2 to 1/20, so L = 1. The minimum is
    computed for each coordinate separately, on a grid that Newton's method refines. In each coordinate the clients'
    centres x_c have the standard deviation `heterogeneity` around a common point, which is `distance` from w⁰ = 0. f_c
    is steepest at |r| = 1/√3, and concave beyond.
    """

    GRID = 4001

    @checked
    def __init__(
        self,
        kernels: Kernels,
        d: int,
        clients: int,
        seed: int,
        heterogeneity: Moderate = 1.0,
        distance: Annotated[float, Range(0, 1e50, open_low=True)] = 2.0,
    ) -> None:
        super().__init__(kernels, d, clients)
        random = seeds.generator(seed, data="saturating", d=d, clients=clients)
        scales = np.geomspace(0.5, 0.05, d)
        common = distance * random.choice([-1.0, 1.0], d)
        centres = common + heterogeneity * random.standard_normal((clients, d))
        self.smoothness = float(2 * scales.max())
        self.convexity = -np.inf
        self.gradient_bound = float(STEEPEST * np.sqrt((scales**2).sum()))
        self.start = np.zeros(d)
        self._scales, self._centres = kernels.asarray(scales), kernels.asarray(centres)
        self.minimiser = self._minimise(centres)
        self.minimum = float(self.loss(kernels.asarray(self.minimiser)))

    def loss(self, w: Array) -> Array:
        squared = (w[..., None, :] - self._centres) ** 2
        return (self._scales * squared / (1 + squared)).sum(axis=-1).mean(axis=-1)

    def gradients(self, w: Array) -> Array:
        residual = w - self._centres
        return self._scales * 2 * residual / (1 + residual**2) ** 2

    def _minimise(self, centres: Vector) -> Vector:
        """The minimiser (d,) for centres (N, d), between the smallest and the largest centre in each coordinate."""
        low, high = centres.min(axis=0), centres.max(axis=0)
        share = np.linspace(0, 1, self.GRID)[:, None]
        grid = low + share * (high - low)
        squared = (grid[:, None, :] - centres) ** 2
        w = np.take_along_axis(grid, (squared / (1 + squared)).mean(axis=1).argmin(axis=0)[None], axis=0)[0]
        for _ in range(50):
            r = w - centres
            slope = (2 * r / (1 + r**2) ** 2).mean(axis=0)
            curvature = ((2 - 6 * r**2) / (1 + r**2) ** 3).mean(axis=0)
            w = w - slope / np.where(curvature > 0, curvature, 1.0)
        return np.asarray(w)
