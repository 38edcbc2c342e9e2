"""Adam with a cosine rate, the local optimiser of the code that the authors of zhang2021 published."""

import math

import torch

from sketchbench.federated.double_blind import Weights

DECAYS = 0.9, 0.999  # of the means of gradients and of their squares
SMALL = 1e-8  # added to the root of the mean square
HALF_PERIOD, LOWEST = 10, 0.01  # steps in which the rate falls to so small a share, and in which it rises again


class LocalAdam:
    """Adam (Kingma and Ba 2015) whose learning rate falls from `rate` to a hundredth of it along a cosine in ten steps,
    and rises again in the next ten: with the rate 1e-3 as in MengjiaoZhang/DBCL, Client.py.

    It works entry by entry and keeps signs, so that its steps for Γ, times Sᵀ, are those that it takes for Γ Sᵀ where
    every row of S has one entry, 1 or -1.

    Arguments:
        rate: the largest learning rate, that of the first step.
    """

    def __init__(self, rate: float) -> None:
        self._rate, self._taken = rate, 0
        self._means: Weights = {}
        self._squares: Weights = {}

    def steps(self, gradients: Weights) -> Weights:
        """What to subtract from each parameter, given its gradient; moves on by one step."""
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
