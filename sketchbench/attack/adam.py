"""Adam, with a constant learning rate or one that falls along a cosine."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sketchbench.attack.square_root import square_root

DECAY, SQUARES_DECAY, LEAST = 0.9, 0.999, 1e-8  # β₁, β₂ and ε of Kingma and Ba (2015)


class AdamOptimiser:
    """Adam (Kingma and Ba 2015, Algorithm 1), which changes `variables` in place at a learning `rate`. Its steps equal
    torch.optim's but for the rounding of square roots; torch's own imports its compiler, which takes a second."""

    def __init__(self, variables: Sequence[Tensor], rate: float) -> None:
        self._variables, self._rate, self._step = variables, rate, 0
        self._means = [torch.zeros_like(v) for v in variables]
        self._squares = [torch.zeros_like(v) for v in variables]

    @torch.no_grad()
    def step(self, slopes: Sequence[Tensor]) -> None:
        """Take a step along the gradients of all variables."""
        self._step += 1
        size = self._rate / (1 - DECAY**self._step)
        spread = (1 - SQUARES_DECAY**self._step) ** 0.5
        for v, slope, mean, square in zip(self._variables, slopes, self._means, self._squares, strict=True):
            mean.lerp_(slope, 1 - DECAY)
            square.mul_(SQUARES_DECAY).addcmul_(slope, slope, value=1 - SQUARES_DECAY)
            v.addcdiv_(mean, (square_root(square) / spread).add_(LEAST), value=-size)


class CosineAdam(AdamOptimiser):
    """`AdamOptimiser` with a rate that falls from `rate` to 0 in `steps` steps, as in torch's CosineAnnealingLR."""

    def __init__(self, variables: Sequence[Tensor], rate: float, steps: int) -> None:
        super().__init__(variables, rate)
        self._steps = steps

    def step(self, slopes: Sequence[Tensor]) -> None:
        super().step(slopes)
        before, after = (1 + math.cos(math.pi * t / self._steps) for t in (self._step - 1, self._step))
        self._rate *= after / before
