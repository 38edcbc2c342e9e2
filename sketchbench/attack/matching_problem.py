"""Losses with private inputs to recover: bilinear losses with known constants of song2023 §7, and a small network."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.base.parameters import Count, Positive, checked

CONDITION = 2.0  # θ₂/θ₁ of the bilinear loss
FEATURES = 3  # of a sample of the network

Loss = Callable[..., Tensor]  # F(w, x, data) of one trial, a scalar


class MatchingProblem(NamedTuple):
    """T independent instances of a loss F(w, x, data), one for each trial of an attack by gradient matching."""

    loss: Loss  # F of a single trial, differentiable twice
    w: Tensor  # the weights, (T, d), which the attacker knows
    data: Tensor  # further arguments of F, which the attacker knows, (T, ...)
    private: Tensor  # the private inputs x*, (T, m)
    start: Tensor  # the attacker's first inputs x₀, (T, m)
    lipschitz: NDArray[np.float64] | None  # β, the Lipschitz constant of ∇_wF in x, (T,); None if unknown
    least: NDArray[np.float64] | None = None  # the smallest θ₁ over all x, (T,); None if unknown
    variation: float = 0.0  # ω = sup ‖Φ(x) - Φ(y)‖ over all x and y; 0 if ∇_wF is affine in x

    def to(self, device: str) -> "MatchingProblem":
        """Move the tensors to a device."""
        tensors = {name: getattr(self, name).to(device) for name in ("w", "data", "private", "start")}
        return self._replace(**tensors)


@checked
def bilinear(random: torch.Generator, trials: Count, d: Count, *, lipschitz: Positive) -> MatchingProblem:
    """The bilinear loss F = wᵀA x with d weights and d inputs, which meets all assumptions of song2023 §7. The singular
    values of A fall geometrically from β = `lipschitz` to β/2; its singular vectors, w, x* and x₀ are random."""
    left, right = (torch.linalg.qr(normal(random, trials, d, d))[0] for _ in range(2))
    values = torch.logspace(0, -1, d, base=CONDITION, dtype=torch.float64)
    matrix = lipschitz * left * values @ right
    w, private, start = (normal(random, trials, d) for _ in range(3))
    constant = np.full(trials, lipschitz)
    return MatchingProblem(lambda w, x, A: w @ A @ x, w, matrix, private, start, constant)


@checked
def residual(random: torch.Generator, trials: Count, d: Count, *, variation: Positive) -> MatchingProblem:
    """A read-out of a residual layer, F = wᵀ(x + ω V tanh(U x)), with d weights w, d inputs, and ω = `variation` < 1. U
    and V are random orthogonal matrices, which the attacker knows; w, x* and x₀ are random, too. Φ is the identity up
    to ω V D U, with a diagonal D between 0 and 1: θ₁ >= 1 - ω, θ₂ <= β = 1 + ω, and ‖Φ(x) - Φ(y)‖ <= ω."""
    left, right = (torch.linalg.qr(normal(random, trials, d, d))[0] for _ in range(2))
    w, private, start = (normal(random, trials, d) for _ in range(3))

    def loss(w: Tensor, x: Tensor, layer: Tensor) -> Tensor:
        return w @ (x + variation * layer[0] @ torch.tanh(layer[1] @ x))

    lipschitz, least = np.full(trials, 1 + variation), np.full(trials, 1 - variation)
    return MatchingProblem(loss, w, torch.stack([left, right], 1), private, start, lipschitz, least, variation)


@checked
def perceptron(random: torch.Generator, trials: Count, d: Count, *, samples: Count) -> MatchingProblem:
    """The logistic loss of a perceptron with d/4 tanh units, on a batch of `samples` samples of 3 features. The private
    inputs are the features of the whole batch, m = 3 * `samples` numbers; the attacker knows the labels. Raises
    ValueError unless d is a multiple of 4."""
    units, rest = divmod(d, FEATURES + 1)
    if rest:
        raise ValueError(f"d={d} must be a multiple of {FEATURES + 1}, the weights of a unit")

    def loss(w: Tensor, x: Tensor, labels: Tensor) -> Tensor:
        hidden = torch.tanh(x.view(-1, FEATURES) @ w[units:].view(FEATURES, units))
        return torch.nn.functional.softplus(-labels * (hidden @ w[:units])).mean()

    w = normal(random, trials, d)
    private, start = (normal(random, trials, samples * FEATURES) for _ in range(2))
    labels = normal(random, trials, samples).sign()
    return MatchingProblem(loss, w, labels, private, start, None)


def normal(random: torch.Generator, *shape: int) -> Tensor:
    """Independent standard normal entries, float64, on the CPU."""
    return torch.randn(shape, generator=random, dtype=torch.float64)
