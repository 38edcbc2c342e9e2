"""Problems of federated optimisation: means of clients' losses of flat weight vectors."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from sketchbench.kernels import Array, Kernels
from sketchbench.parameters import Count, checked

Vector = NDArray[np.float64]


class Problem(ABC):
    """f(w) = (1/N) Σ_c f_c(w) for flat vectors of d weights and N clients.

    Arrays are float64, of the kernels' kind. Leading axes are kept, so that many trials are computed at once. A problem
    with constants, such as smoothness or a minimum, is an `Objective`.

    Attributes:
        kernels: backend of all arrays.
        d: number of weights.
        clients: number of clients, N.
        start: initial weights w⁰, a NumPy vector (d,).
    """

    start: Vector

    @checked
    def __init__(self, kernels: Kernels, d: Count, clients: Count) -> None:
        self.kernels = kernels
        self.d = d
        self.clients = clients

    @abstractmethod
    def loss(self, w: Array) -> Array:
        """f(w).

        Arguments:
            w: weights (..., d).

        Returns:
            Losses (...).
        """

    @abstractmethod
    def gradients(self, w: Array) -> Array:
        """∇f_c(w_c) of every client c at its own weights w_c.

        Arguments:
            w: weights of the clients (..., N, d).

        Returns:
            Gradients (..., N, d).
        """

    def gradient(self, w: Array) -> Array:
        """∇f(w), for weights (..., d): (..., d)."""
        shared = self.kernels.xp.broadcast_to(w[..., None, :], (*w.shape[:-1], self.clients, self.d))
        return self.gradients(shared).mean(axis=-2)

    @abstractmethod
    def stochastic_gradients(self, w: Array, random: np.random.Generator) -> Array:
        """Draw a stochastic gradient of every participating client at its own weights.

        Arguments:
            w: weights of all clients (trials, N, d).
            random: generator of batches, noise and participants.

        Returns:
            Gradients (trials, M, d) of the M participating clients; M = N unless participants are sampled.
        """

    def stochastic_gradient(self, w: Array, random: np.random.Generator) -> Array:
        """Draw from the distribution of the participants' mean stochastic gradient, where all have the same weights.

        Arguments:
            w: weights (trials, d).
            random: as for `stochastic_gradients`.

        Returns:
            Gradients (trials, d).
        """
        shape = (len(w), self.clients, self.d)
        shared = self.kernels.xp.broadcast_to(w[:, None], shape)
        return self.stochastic_gradients(shared, random).mean(axis=1)
