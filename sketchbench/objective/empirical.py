"""Objectives whose clients hold records, of which a step may see a batch."""

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from sketchbench.kernels import Array
from sketchbench.objective.objective import Objective


class EmpiricalRisk(Objective):
    """f_c is the mean of the losses of client c's records, plus a term that no record is in.

    records: (N, n), the numbers in the data set of every client's records, n of them each.
    record_bound: ℓ >= ‖∇ of the loss of any one record‖₂, at any weights.
    """

    records: NDArray[np.int64]
    record_bound: float

    @abstractmethod
    def batch_gradients(self, w: Array, shares: Array, bound: float = math.inf) -> Array:
        """Weighted sums of records' gradients, each clipped to norm `bound`, plus the term without any.

        w: (..., N, d), each client's own weights; shares: (..., N, n), of each record. Returns (..., N, d).
        """

    def gradients(self, w: Array) -> Array:
        count = self.records.shape[1]
        shape = (*w.shape[:-1], count)
        return self.batch_gradients(w, self.kernels.xp.full(shape, 1 / count))
