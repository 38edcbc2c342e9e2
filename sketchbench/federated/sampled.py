"""Stochastic gradients: over a sample of each client's records, or of a sample of the clients."""

from dataclasses import dataclass

import numpy as np

from sketchbench.base.parameters import Checked, Share
from sketchbench.kernels import Array
from sketchbench.learning.objective.empirical import EmpiricalRisk


@dataclass(frozen=True)
class SampledEstimates(Checked):
    """Unbiased estimates of the clients' gradients, from samples drawn without replacement for every call and trial.

    Arguments:
        objective: of N clients with n records each.
        random: the generator of the samples.
        records: the share of its records that each client uses, at least one record.
        clients: the share of the clients that take part, at least one client; the gradients of m such clients are
            multiplied by N/m, and the gradients of all others are 0.
    """

    objective: EmpiricalRisk
    random: np.random.Generator
    records: Share
    clients: Share

    def __call__(self, w: Array) -> Array:
        """Estimate the gradients (T, N, d) at the clients' weights (T, N, d)."""
        count, records = self.objective.records.shape
        shares = _draw_shares(self.random, (len(w), count, records), self.records)
        taking_part = _draw_shares(self.random, (len(w), count), self.clients) * count
        asarray = self.objective.kernels.asarray
        return self.objective.batch_gradients(w, asarray(shares)) * asarray(taking_part)[..., None]


def _draw_shares(random: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
    """Draw weights of this shape: along the last axis, of length n, a random m = share * n of them are 1/m, the rest
    0."""
    count = max(1, round(share * shape[-1]))
    ranks = random.random(shape).argsort(axis=-1).argsort(axis=-1)
    return (ranks < count) / count
