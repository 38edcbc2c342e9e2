"""Adam with a cosine rate, the local optimiser of the code that the authors of zhang2021 published."""

import math

import torch

from sketchbench.federated.double_blind import Weights

DECAYS = 0.9, 0.999  # of the means of gradients and of their squares
SMALL = 1e-8  # added to the root of the mean square
HALF_PERIOD, LOWEST = 10, 0.01  # steps in which the rate falls to this share, and in which it rises again


class LocalAdam:
    """Adam (Kingma and Ba 2015) with a rate that falls along a cosine to a hundredth in ten steps, and rises again in
    ten. With `rate` 1e-3 it is the optimiser of MengjiaoZhang/DBCL, Client.py. It works entry by entry and keeps signs.
    So its steps for Γ, times Sᵀ, equal its steps for Γ Sᵀ if every row of S has one entry, 1 or -1."""

    def __init__(self, rate: float) -> None:
        self._rate, self._taken = rate, 0
        self._means: Weights = {}
        self._squares: Weights = {}

    def steps(self, gradients: Weights) -> Weights:
        """Return the amount to subtract from each parameter, given its gradient; count one step."""
        share = LOWEST + (1 - LOWEST) * (1 + math.cos(math.pi * self._taken / HALF_PERIOD)) / 2
        self._taken += 1
        mean_left, square_left = (1 - decay**self._taken for decay in DECAYS)
        found = {}
        for name, gradient in gradients.items():
            mean = self._means.setdefault(name, torch.zeros_like(gradient))
            square = self._squares.setdefault(name, torch.zeros_like(gradient))
            mean.mul_(DECAYS[0]).add_(gradient, alpha=1 - DECAYS[0])
            square.mul_(DECAYS[1]).addcmul_(gradient, gradient, value=1 - DECAYS[1])
            scale = square.div(square_left).sqrt_().add_(SMALL)
            found[name] = mean.div(scale).mul_(self._rate * share / mean_left)
        return found
