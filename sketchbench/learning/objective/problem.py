"""Problems of federated optimisation: means of clients' losses of flat weight vectors."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count, Range, checked
from sketchbench.kernels import Array, Kernels

Vector = NDArray[np.float64]
Moderate = Annotated[float, Range(0, 1e50)]  # sizes whose powers are floats
AXES = {  # the last axes of weights, which each method of a problem checks
    "loss": ("d",),
    "gradients": ("clients", "d"),
    "gradient": ("d",),
    "batch_gradients": ("clients", "d"),
    "stochastic_gradients": ("trials", "clients", "d"),
    "stochastic_gradient": ("trials", "d"),
    "accuracy": ("d",),
}


def _at_weights(method: Callable[..., Array], name: str = "") -> Callable[..., Array]:
    """The method, after an O(1) check of the weights' kind, type and size: NumPy might broadcast wrong ones."""
    axes = AXES[name or method.__name__]

    @functools.wraps(method)
    def checking(self: "Problem", w: Array, *arguments: Any, **named: Any) -> Array:
        if not isinstance(w, self.kernels.xp.ndarray) or isinstance(w, np.ma.MaskedArray) or w.dtype.kind != "f":
            kind = getattr(w, "dtype", type(w).__name__)
            raise TypeError(f"weights of type {kind} must be a floating-point array of the kernels, without a mask")
        found = w.shape[-len(axes) :]
        fits = len(found) == len(axes)
        for axis, size in zip(axes, found, strict=False):  # a generator takes as long as a small gradient
            fits = fits and getattr(self, axis, None) in (None, size)
        if not fits:
            sizes = {axis: getattr(self, axis, None) for axis in axes}
            shape = ", ".join(axis if size is None else f"{axis}={size}" for axis, size in sizes.items())
            raise ValueError(f"weights of shape {w.shape} must end in ({shape})")
        return method(self, w, *arguments, **named)

    return checking


class Problem(ABC):
    """f(w) = (1/N) Σ_c f_c(w) for flat vectors of d weights and N clients.

    Arrays are float64, of the kernels' kind. Leading axes are kept, so that many trials are computed at once. A problem
    with constants, such as smoothness or a minimum, is an `Objective`. Every method checks its weights: TypeError for
    another kind of array, ValueError for other axes than AXES; they may be infinite or NaN after a divergence.

    Attributes:
        kernels: backend of all arrays.
        d: number of weights.
        clients: number of clients, N.
        start: initial weights w⁰, a NumPy vector (d,).
    """

    start: Vector

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in AXES.keys() & vars(cls):
            setattr(cls, name, _at_weights(vars(cls)[name], name))

    @checked
    def __init__(self, kernels: Kernels, d: Count, clients: Count) -> None:
        self.kernels = kernels
        self.d = d
        self.clients = clients

    @abstractmethod
    def loss(self, w: Array) -> Array:
        """The losses f(w) (...) at weights (..., d)."""

    @abstractmethod
    def gradients(self, w: Array) -> Array:
        """The gradients ∇f_c(w_c) (..., N, d) of every client c at its own weights w_c, (..., N, d)."""

    @_at_weights
    def gradient(self, w: Array) -> Array:
        """∇f(w), for weights (..., d): (..., d)."""
        shared = self.kernels.xp.broadcast_to(w[..., None, :], (*w.shape[:-1], self.clients, self.d))
        return self.gradients(shared).mean(axis=-2)

    @abstractmethod
    def stochastic_gradients(self, w: Array, random: np.random.Generator) -> Array:
        """Draw a stochastic gradient of every participating client at its own weights, (trials, N, d): (trials, M, d)
        for M participating clients; M = N unless participants are sampled."""

    @_at_weights
    def stochastic_gradient(self, w: Array, random: np.random.Generator) -> Array:
        """Draw from the distribution of the participants' mean stochastic gradient (trials, d) at common weights
        (trials, d); `random` as in `stochastic_gradients`."""
        shape = (len(w), self.clients, self.d)
        shared = self.kernels.xp.broadcast_to(w[:, None], shape)
        return self.stochastic_gradients(shared, random).mean(axis=1)
