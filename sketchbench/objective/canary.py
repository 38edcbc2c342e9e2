"""The data set that is hardest to keep private: all records but one say nothing."""

import numpy as np

from sketchbench.kernels import Array, Kernels
from sketchbench.objective.empirical import EmpiricalRisk
from sketchbench.objective.problem import Vector


class Canary(EmpiricalRisk):
    """A record's loss is the inner product of its vector with w, so that its gradient is that vector.

    The first record of the first client, the canary, has the vector `canary`, (d,); all others have 0.
    Whoever knows all but the canary sees it in a batch, shifted by all that its norm allows, and in the
    same direction in each step: what accountants assume of the worst. It has no minimum.
    """

    convexity = 0.0
    smoothness = 0.0
    minimum = -np.inf

    def __init__(self, kernels: Kernels, canary: Vector, clients: int, records: int) -> None:
        super().__init__(kernels, canary.size, clients)
        self.records = np.arange(clients * records).reshape(clients, records)
        self.record_bound = self.gradient_bound = float(np.linalg.norm(canary))
        self.start = np.zeros(self.d)
        self.minimiser = np.full(self.d, np.nan)
        self._canary = kernels.asarray(canary)

    def loss(self, w: Array) -> Array:
        return w @ self._canary / self.records.size

    def batch_gradients(self, w: Array, shares: Array, bound: float = np.inf) -> Array:
        gradients = self.kernels.xp.zeros(w.shape)
        length = min(1.0, bound / self.record_bound) if self.record_bound else 1.0
        gradients[..., 0, :] = shares[..., 0, :1] * length * self._canary
        return gradients
