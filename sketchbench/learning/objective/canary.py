"""An objective for privacy audits: one record, the canary, has a gradient; all other records have none."""

import numpy as np

from sketchbench.base.parameters import Count, checked
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.empirical import EmpiricalRisk
from sketchbench.measure.numbers import Sample


class Canary(EmpiricalRisk):
    """f_c is the mean of its records' losses wᵀv; v = 0 for all records but the canary, the first record of client 0,
    with `canary` = v (d,), or (trials, d) for a different one in each trial.

    The gradient of a record's loss is v. An attacker who knows all other records sees the canary as the largest shift
    that the bound on its norm allows, in the same direction in each step: the worst case of privacy accounting. f has
    no minimum.
    """

    convexity = 0.0
    smoothness = 0.0
    minimum = -np.inf

    @checked
    def __init__(self, kernels: Kernels, canary: Sample, clients: Count, records: Count) -> None:
        if np.ndim(canary) not in (1, 2):
            raise ValueError(f"canary of shape {np.shape(canary)} must be (d,) or (trials, d)")
        super().__init__(kernels, canary.shape[-1], clients)
        self.records = np.arange(clients * records).reshape(clients, records)
        self.record_bound = self.gradient_bound = float(np.linalg.norm(canary, axis=-1).max())
        self.start = np.zeros(self.d)
        self.minimiser = np.full(self.d, np.nan)
        self._canary = kernels.asarray(canary)

    def loss(self, w: Array) -> Array:
        return w @ self._canary / self.records.size

    def batch_gradients(self, w: Array, shares: Array, bound: float = np.inf) -> Array:
        self.check_batches(w, shares, bound)
        gradients = self.kernels.xp.zeros(w.shape)
        length = min(1.0, bound / self.record_bound) if self.record_bound else 1.0
        gradients[..., 0, :] = shares[..., 0, :1] * length * self._canary
        return gradients
