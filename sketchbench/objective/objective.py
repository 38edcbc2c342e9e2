"""What federated optimisation minimises: a mean of clients' losses, with the constants that theorems need."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.kernels import Array, Kernels

Vector = NDArray[np.float64]


MakeObjective = Callable[
    ..., "Objective"
]  # what a config of conf/objective gives; it wants kernels and seed


class Objective(ABC):
    """f(w) = (1/N) Σ_c f_c(w) on flat vectors of d weights, for N = `clients`.

    Arrays are of the kernels' own kind, in float64; leading axes are kept, so that many trials go through
    at once. The constants are those of the problem, not of a run:
    smoothness: L, every ∇f_c is L-Lipschitz. convexity: μ >= 0, every f_c is μ-strongly convex; -inf
    where they are not convex. mean_smoothness, mean_convexity: those of f, where they are better.
    noise_energy: E‖noise‖² of the mean of all clients' stochastic gradients. gradient_bound: G >=
    ‖∇f_c(w)‖₂ for all c and w; inf where there is none.
    minimiser: w*, (d,), and minimum: f(w*), a NumPy array and a number; start: w⁰, (d,).
    """

    smoothness: float
    convexity: float
    gradient_bound: float = float("inf")
    noise_energy: float = 0.0
    minimiser: Vector
    minimum: float
    start: Vector

    def __init__(self, kernels: Kernels, d: int, clients: int) -> None:
        for name, value in (("dimension d", d), ("clients", clients)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} must be an integer >= 1")
        self.kernels = kernels
        self.d = d
        self.clients = clients

    @abstractmethod
    def loss(self, w: Array) -> Array:
        """f(w) for w of shape (..., d): (...)."""

    @abstractmethod
    def gradients(self, w: Array) -> Array:
        """∇f_c(w_c) of every client at its own weights: (..., N, d) to (..., N, d)."""

    def gradient(self, w: Array) -> Array:
        """∇f(w) for w of shape (..., d): (..., d)."""
        shared = self.kernels.xp.broadcast_to(
            w[..., None, :], (*w.shape[:-1], self.clients, self.d)
        )
        return self.gradients(shared).mean(axis=-2)

    def noise(self, random: np.random.Generator, trials: int) -> Array:
        """What stochastic gradients add to those of the clients: (trials, N, d), mean 0.

        Here nothing: a scalar 0.
        """
        return self.kernels.xp.zeros(())

    def mean_noise(self, random: np.random.Generator, trials: int) -> Array:
        """A draw from the distribution of the mean of `noise` over the clients: (trials, d)."""
        return self.kernels.xp.zeros(())

    @cached_property
    def mean_smoothness(self) -> float:
        """L of f itself."""
        return self.smoothness

    @cached_property
    def mean_convexity(self) -> float:
        """μ of f itself."""
        return self.convexity

    @cached_property
    def gap(self) -> float:
        """f(w⁰) - f(w*)."""
        return float(self.loss(self.kernels.asarray(self.start))) - self.minimum

    @cached_property
    def squared_distance(self) -> float:
        """‖w⁰ - w*‖₂²."""
        return float(((self.start - self.minimiser) ** 2).sum())

    @cached_property
    def heterogeneity(self) -> float:
        """σ² = (1/N) Σ_c ‖∇f_c(w*)‖₂² (song2023 Definition F.1)."""
        best = np.broadcast_to(self.minimiser, (self.clients, self.d))
        gradients: Any = self.kernels.to_numpy(self.gradients(self.kernels.asarray(best.copy())))
        return float((gradients**2).sum(axis=-1).mean())
