"""Objectives with records, so that a step can use a batch of them."""

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from sketchbench.kernels import Array
from sketchbench.learning.objective.objective import Objective


class EmpiricalRisk(Objective):
    """An objective in which f_c is the mean loss over client c's n records, plus a penalty of the weights.
    `records`: numbers of every client's records in the data set, (N, n); `record_bound`: ℓ, largest ℓ2 norm of the
    gradient of a single record's loss, at any weights."""

    records: NDArray[np.int64]
    record_bound: float

    def check_batches(self, w: Array, shares: Array, bound: float) -> None:
        """Raise ValueError unless there is a share for each record of the clients of w, and a bound > 0 or inf."""
        if shares.shape[-2:] != self.records.shape or shares.ndim > w.ndim:
            raise ValueError(f"shares of shape {shares.shape} must end in (clients, records)={self.records.shape}")
        if not bound > 0:
            raise ValueError(f"bound={bound} must be > 0; inf for none")

    @abstractmethod
    def batch_gradients(self, w: Array, shares: Array, bound: float = math.inf) -> Array:
        """The weighted sum of the clipped gradients of every client's records, plus the penalty's gradient, at each
        client's weights w (..., N, d): of the same shape. `shares` (..., N, n) are the records' weights in the sum. A
        record's gradient is clipped to the ℓ2 norm `bound`, the penalty's is not clipped."""

    def gradients(self, w: Array) -> Array:
        count = self.records.shape[1]
        shape = (*w.shape[:-1], count)
        return self.batch_gradients(w, self.kernels.xp.full(shape, 1 / count))
