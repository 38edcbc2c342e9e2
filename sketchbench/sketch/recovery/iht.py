"""Iterative hard thresholding with the optimal step (Blumensath and Davies 2010)."""

from dataclasses import dataclass

from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.iterative import Iterate, Iterative, Signals, take


@dataclass(frozen=True)
class IHT(Iterative):
    """Iterative hard thresholding (Blumensath and Davies 2010), for sketches with orthogonal rows.
    An iteration takes a gradient step of ‖y - Φx‖², of optimal length on the support of the last iterate, and keeps the
    k entries of largest magnitude. It costs three transforms for each iteration and signal, and takes more iterations
    than FIHT. Arguments as in `Iterative`; ‖x‖₂ is the norm at which iterations stop."""

    def _next(self, phi: Sketch, signals: Signals, domain: int) -> Iterate:
        inner, g = phi.kernels.inner, signals.g
        h = phi.desketch(g.residual, check_finite=False)
        slope = take(phi, h, g.at)
        rise = phi.sketch_sparse((g.at, slope))
        phi.kernels.scale_and_add(h, signals.length(inner(slope, slope), inner(rise, rise)), signals.w.terms)
        return self._keep(phi, signals.y, h, domain)
