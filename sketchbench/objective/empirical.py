"""Objectives whose clients hold records, of which a step may see a batch."""

import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from sketchbench.kernels import Array
from sketchbench.objective.objective import Objective


class EmpiricalRisk(Objective):
    """f_c is the mean of the losses of client c's records, plus a penalty that depends on the weights only.

    Attributes:
        records: for every client, the numbers of its n records in the data set, (N, n).
        record_bound: ℓ >= ‖∇ of the loss of any one record‖₂, at any weights.
    """

    records: NDArray[np.int64]
    record_bound: float

    @abstractmethod
    def batch_gradients(self, w: Array, shares: Array, bound: float = math.inf) -> Array:
        """Weighted sums of the gradients of records, each clipped to a norm, plus the gradient of the penalty.

        Arguments:
            w: weights of every client (..., N, d).
            shares: weight of each record in the sum (..., N, n).
            bound: norm that a record's gradient is clipped to; the penalty's is not clipped.

        Returns:
            Gradients (..., N, d).
        """

    def gradients(self, w: Array) -> Array:
        count = self.records.shape[1]
        shape = (*w.shape[:-1], count)
        return self.batch_gradients(w, self.kernels.xp.full(shape, 1 / count))
