"""What federated optimisation minimises: a mean of clients' losses on flat vectors."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from sketchbench.kernels import Array, Kernels

Vector = NDArray[np.float64]


class Problem(ABC):
    """f(w) = (1/N) Σ_c f_c(w) on flat vectors of d weights, for N = `clients`.

    Arrays are of the kernels' own kind, in float64; leading axes are kept, so that many trials go through
    at once. start: w⁰, (d,). No constant is known here, such as smoothness or a minimum: see `Objective`.
    """

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
        shared = self.kernels.xp.broadcast_to(w[..., None, :], (*w.shape[:-1], self.clients, self.d))
        return self.gradients(shared).mean(axis=-2)

    @abstractmethod
    def stochastic_gradients(self, w: Array, random: np.random.Generator) -> Array:
        """A draw of the stochastic gradients at the clients' own weights: (trials, N, d) to (trials, M, d).

        Of the M clients that take part, N unless they are drawn, too.
        """

    def stochastic_gradient(self, w: Array, random: np.random.Generator) -> Array:
        """A draw from the distribution of their mean, where all have the same weights: (trials, d) to
        (trials, d)."""
        shape = (len(w), self.clients, self.d)
        shared = self.kernels.xp.broadcast_to(w[:, None], shape)
        return self.stochastic_gradients(shared, random).mean(axis=1)
