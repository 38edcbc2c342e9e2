"""Quadratic losses with a chosen spectrum, whose constants are exact."""

from typing import Annotated

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import Range, checked
from sketchbench.kernels import Kernels
from sketchbench.learning.objective.diagonal import Diagonal
from sketchbench.learning.objective.problem import Moderate, Vector


class Quadratic(Diagonal):
    """f_c(w) = ½ (w - x_c)ᵀ A_c (w - x_c) with diagonal A_c = s_c A. The clients' scales s_c are spaced evenly from 1/2
    to 1, so L = 1, and the smallest curvature of f is 3/4 of A's. Raises ValueError for a parameter out of its range.

    Arguments:
        seed: root of the order of the eigenvalues, and of the x_c.
        condition: eigenvalues of A lie between 1 / condition and 1, spaced evenly on a log scale.
        flat: share of the eigenvalues that are 0 instead, so that f is convex, but not strongly.
        heterogeneity: root mean square distance of the x_c from a common point, which is at root mean square distance 1
            from w⁰ = 0; with 0 all clients have the same minimum.
    """

    @checked
    def __init__(
        self,
        kernels: Kernels,
        d: int,
        clients: int,
        seed: int,
        condition: Annotated[float, Range(1, 1e50)] = 10.0,
        heterogeneity: Moderate = 1.0,
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
        # In coordinates without curvature every point is a minimum: take the start's, the nearest.
        self.minimiser = np.divide(weighted, total, out=np.zeros(d), where=total > 0)
        self.minimum = float(self.loss(kernels.asarray(self.minimiser)))


def _spectrum(d: int, condition: float, zeros: int, random: np.random.Generator) -> Vector:
    """The eigenvalues of A, (d,): first the zeros, then the others in random order."""
    spread = np.geomspace(1 / condition, 1.0, d - zeros)
    return np.concatenate([np.zeros(zeros), random.permutation(spread)])
