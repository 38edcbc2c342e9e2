"""Stochastic gradients: over a sample of each client's records, or of a sample of the clients."""

from dataclasses import dataclass

import numpy as np

from sketchbench.base.parameters import Checked, Share
from sketchbench.kernels import Array
from sketchbench.learning.objective.empirical import EmpiricalRisk


@dataclass(frozen=True)
class SampledEstimates(Checked):
    """Unbiased estimates of the clients' gradients, from samples drawn without replacement for every call and trial.
    Gradients of m participating clients are multiplied by N/m, and all others are 0."""

    objective: EmpiricalRisk  # of N clients with n records each
    random: np.random.Generator  # the generator of the samples
    records: Share  # the share of its records that each client uses, at least one
    clients: Share  # the share of participating clients, at least one

    def __call__(self, w: Array) -> Array:
        """Estimate the gradients (T, N, d) at the clients' weights (T, N, d)."""
        count, records = self.objective.records.shape
        shares = _draw_shares(self.random, (len(w), count, records), self.records)
        taking_part = _draw_shares(self.random, (len(w), count), self.clients) * count
        asarray = self.objective.kernels.asarray
        return self.objective.batch_gradients(w, asarray(shares)) * asarray(taking_part)[..., None]


def _draw_shares(random: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
    """Draw weights of this shape: along the last axis, of length n, m = share * n random entries are 1/m, others 0."""
    count = max(1, round(share * shape[-1]))
    ranks = random.random(shape).argsort(axis=-1).argsort(axis=-1)
    return (ranks < count) / count
