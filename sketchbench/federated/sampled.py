"""Gradients of samples: each client's of some of its records, or of some clients only."""

from dataclasses import dataclass

import numpy as np

from sketchbench.kernels import Array
from sketchbench.objective.empirical import EmpiricalRisk
from sketchbench.parameters import Checked, Share


@dataclass(frozen=True)
class Sampled(Checked):
    """Unbiased estimates of the clients' gradients, drawn without replacement for every call and trial.

    Arguments:
        objective: of N clients with n records each.
        random: what the samples are drawn from.
        records: a client takes this share of its records, at least one.
        clients: this share of the clients takes part, at least one; their gradients count N over their number times,
            those of the others are 0.
    """

    objective: EmpiricalRisk
    random: np.random.Generator
    records: Share
    clients: Share

    def __call__(self, w: Array) -> Array:
        """Gradients at the clients' weights (T, N, d): (T, N, d)."""
        count, records = self.objective.records.shape
        shares = _draw_shares(self.random, (len(w), count, records), self.records)
        taking_part = _draw_shares(self.random, (len(w), count), self.clients) * count
        asarray = self.objective.kernels.asarray
        return self.objective.batch_gradients(w, asarray(shares)) * asarray(taking_part)[..., None]


def _draw_shares(random: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
    """Along the last axis, m random entries are 1/m and the others 0, with m the rounded share of them."""
    chosen = max(1, round(share * shape[-1]))
    ranks = random.random(shape).argsort(axis=-1).argsort(axis=-1)
    return (ranks < chosen) / chosen
