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
    where they are not convex. gradient_bound: G >= ‖∇f_c(w)‖₂ for all c and w; inf where there is none.
    minimiser: w*, (d,), and minimum: f(w*), a NumPy array and a number; start: w⁰, (d,).
    """

    smoothness: float
    convexity: float
    gradient_bound: float = float("inf")
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
