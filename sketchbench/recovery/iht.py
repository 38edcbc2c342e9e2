"""Iterative hard thresholding with the optimal step (Blumensath and Davies 2010)."""

from dataclasses import dataclass

from sketchbench.recovery.iterative import Iterate, Iterative, Signals, add, dot, take
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class IHT(Iterative):
    """Each iteration takes a gradient step, of the length that is optimal on the support of the last iterate, and
    keeps the k largest entries. Three transforms per iteration.
    """

    def _next(self, phi: Sketch, signals: Signals, domain: int) -> Iterate:
        xp, g = phi.kernels.xp, signals.g
        h = phi.desketch(signals.y - g.measured, check_finite=False)
        slope = take(phi, h, g.at)
        rise = phi.sketch_sparse((g.at, slope))
        h *= signals.length(dot(xp, slope, slope), dot(xp, rise, rise))
        add(phi, h, g.at, g.values)
        return self._keep(phi, h, domain)
