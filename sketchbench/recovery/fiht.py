"""Fast iterative hard thresholding (Wei 2014; tang2021 Appendix E)."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.recovery.iterative import (
    Iterate,
    Iterative,
    Point,
    State,
    add,
    dot,
    take,
)
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class FIHT(Iterative):
    """Each iteration takes a gradient step from w, keeps the k largest entries, and takes another
    gradient step on those, to g; the next w lies beyond g, along the last change. All step lengths are
    optimal ones.

    Five transforms per iteration: what Φ makes of g and w follows by linearity.
    """

    def _next(self, phi: Sketch, state: State, domain: int) -> Iterate:
        xp, y, w = phi.kernels.xp, state.y, state.w
        h = phi.desketch(y - w.measured, check_finite=False)
        inside = [(at, take(phi, h, at) * (values != 0)) for at, values in w.terms]
        measured = phi.sketch_sparse(*inside)
        squared: Array = sum(dot(xp, slope, slope) for _, slope in inside)
        h *= state.length(squared, dot(xp, measured, measured))
        for at, values in w.terms:
            add(phi, h, at, values)

        at, values, measured = self._keep(phi, h, domain)
        slope = take(phi, phi.desketch(y - measured, check_finite=False), at)
        rise = phi.sketch_sparse((at, slope))
        step = state.length(dot(xp, slope, slope), dot(xp, rise, rise))
        return Iterate(at, values + step * slope, measured + step * rise)

    def _point(self, phi: Sketch, state: State, g: Iterate) -> Point:
        """w = g + tau (g - before), where tau minimises ‖y - Φw‖₂."""
        xp, before = phi.kernels.xp, state.g
        change = g.measured - before.measured
        tau = state.length(dot(xp, state.y - g.measured, change), dot(xp, change, change))
        # Places are in ascending order, row after row. What both have counts to the first term.
        first = phi.d * xp.arange(len(g.at))[:, None]
        places, earlier = ((it.at + first).reshape(-1) for it in (g, before))
        match = xp.minimum(xp.searchsorted(earlier, places), len(earlier) - 1)
        shared = earlier[match] == places
        left = (-tau * before.values).reshape(-1)
        both = (1 + tau) * g.values + (left[match] * shared).reshape(g.values.shape)
        left[match[shared]] = 0
        terms = ((g.at, both), (before.at, left.reshape(both.shape)))
        return Point(terms, g.measured + tau * change)
