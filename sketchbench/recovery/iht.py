"""Iterative hard thresholding with the optimal step (Blumensath and Davies 2010)."""

from dataclasses import dataclass

from sketchbench.recovery.iterative import Iterate, Iterative, State, add, dot, take
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class IHT(Iterative):
    """Each iteration takes a gradient step, as long as is best on the present support, and keeps the k
    largest entries. Three transforms per iteration."""

    def _next(self, phi: Sketch, state: State, domain: int) -> Iterate:
        xp, g = phi.kernels.xp, state.g
        h = phi.desketch(state.y - g.measured, check_finite=False)
        slope = take(phi, h, g.at)
        rise = phi.sketch_sparse((g.at, slope))
        h *= state.length(dot(xp, slope, slope), dot(xp, rise, rise))
        add(phi, h, g.at, g.values)
        return self._keep(phi, h, domain)
