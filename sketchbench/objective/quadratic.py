"""Quadratic losses with a chosen spectrum: everything about them is known exactly."""

from typing import Annotated

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.objective.diagonal import Diagonal
from sketchbench.objective.problem import Vector
from sketchbench.parameters import NonNegative, Range, checked


class Quadratic(Diagonal):
    """f_c(w) = ½ (w - x_c)ᵀ A_c (w - x_c) with diagonal A_c = s_c A.

    The scales s_c of the clients are spread evenly from 1/2 to 1, so L = 1, and f's smallest curvature is 3/4 of A's.

    Arguments:
        kernels: backend of all arrays.
        d: number of weights.
        clients: number of clients.
        seed: root of what is drawn: the order of the eigenvalues, and the x_c.
        condition: the eigenvalues of A lie between 1 / condition and 1, spread evenly on a log scale.
        flat: share of the eigenvalues that are 0 instead, so that f is convex, but not strongly.
        heterogeneity: how far the minima x_c scatter around a common point, which is at distance 1 from w⁰ = 0 on
            average; 0 makes it the minimum of all.

    Raises:
        ValueError: for a parameter out of its range.
    """

    @checked
    def __init__(
        self,
        kernels: Kernels,
        d: int,
        clients: int,
        seed: int,
        condition: Annotated[float, Range(1)] = 10.0,
        heterogeneity: NonNegative = 1.0,
        flat: Annotated[float, Range(0, 1, open_high=True)] = 0.0,
    ) -> None:
        super().__init__(kernels, d, clients)
        random = seeds.generator(seed, data="quadratic", d=d, clients=clients)
        spectrum = _spectrum(d, condition, int(flat * d), random)
        curvatures = np.linspace(0.5, 1.0, clients)[:, None] * spectrum if clients > 1 else spectrum[None]
        common = random.standard_normal(d) / np.sqrt(d)
        centres = common + heterogeneity * random.standard_normal((clients, d)) / np.sqrt(d)
        self._set(curvatures, centres)
        self.convexity = float(curvatures.min())
        total = curvatures.sum(axis=0)
        weighted = (curvatures * centres).sum(axis=0)
        # Where nothing curves, any coordinate is a minimum: that of the start is the nearest.
        self.minimiser = np.divide(weighted, total, out=np.zeros(d), where=total > 0)
        self.minimum = float(self.loss(kernels.asarray(self.minimiser)))


def _spectrum(d: int, condition: float, zeros: int, random: np.random.Generator) -> Vector:
    """The eigenvalues of A, (d,), in random order except for zeros, which come first."""
    spread = np.geomspace(1 / condition, 1.0, d - zeros)
    return np.concatenate([np.zeros(zeros), random.permutation(spread)])
