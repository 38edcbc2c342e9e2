"""The base class of quadratic losses with diagonal curvature."""

import numpy as np

from sketchbench.kernels import Array
from sketchbench.learning.objective.objective import Objective
from sketchbench.learning.objective.problem import Vector


class Diagonal(Objective):
    """f_c(w) = ½ (w - x_c)ᵀ A_c (w - x_c) with diagonal A_c, from w⁰ = 0."""

    def _set(self, curvatures: Vector, centres: Vector) -> None:
        """Set the diagonals of all A_c (N, d), and the x_c: (N, d), or (d,) for a centre that all clients share."""
        self.start = np.zeros(self.d)
        self.smoothness = float(abs(curvatures).max())
        self._curvatures, self._centres = self.kernels.asarray(curvatures), self.kernels.asarray(centres)

    def loss(self, w: Array) -> Array:
        distance = w[..., None, :] - self._centres
        return 0.5 * (self._curvatures * distance**2).sum(axis=-1).mean(axis=-1)

    def gradients(self, w: Array) -> Array:
        return self._curvatures * (w - self._centres)
