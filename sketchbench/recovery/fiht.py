"""Fast iterative hard thresholding (Wei 2014; tang2021 Appendix E)."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.recovery.iterative import Iterate, Iterative, Point, Signals, add, dot, take
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class FIHT(Iterative):
    """Each iteration takes a gradient step from w, keeps the k largest entries, and takes another gradient step on
    those, to g. The next w lies beyond g, along the last change of g. All steps have the optimal length.

    Five transforms per iteration; Φg and Φw follow from others by linearity.
    """

    def _next(self, phi: Sketch, signals: Signals, domain: int) -> Iterate:
        xp, y, w = phi.kernels.xp, signals.y, signals.w
        h = phi.desketch(y - w.measured, check_finite=False)
        on_support = [(at, take(phi, h, at) * (values != 0)) for at, values in w.terms]
        measured = phi.sketch_sparse(*on_support)
        squared: Array = sum(dot(xp, slope, slope) for _, slope in on_support)
        h *= signals.length(squared, dot(xp, measured, measured))
        for at, values in w.terms:
            add(phi, h, at, values)

        at, values, measured = self._keep(phi, h, domain)
        slope = take(phi, phi.desketch(y - measured, check_finite=False), at)
        rise = phi.sketch_sparse((at, slope))
        step = signals.length(dot(xp, slope, slope), dot(xp, rise, rise))
        rise *= step
        rise += measured  # in its place: a vector of b entries less to write
        return Iterate(at, values + step * slope, rise)

    def _point(self, phi: Sketch, signals: Signals, g: Iterate) -> Point:
        """w = g + tau (g - before), where `before` is the last iterate and tau minimises ‖y - Φw‖₂."""
        xp, before = phi.kernels.xp, signals.g
        change = g.measured - before.measured
        tau = signals.length(dot(xp, signals.y - g.measured, change), dot(xp, change, change))
        # Places are in ascending order, row after row. Entries at places that both have belong to the first term.
        row_start = phi.d * xp.arange(len(g.at))[:, None]
        places, earlier = ((iterate.at + row_start).reshape(-1) for iterate in (g, before))
        match = xp.minimum(xp.searchsorted(earlier, places), len(earlier) - 1)
        shared = earlier[match] == places
        second = (-tau * before.values).reshape(-1)
        first_term = (1 + tau) * g.values + (second[match] * shared).reshape(g.values.shape)
        second[match[shared]] = 0
        terms = ((g.at, first_term), (before.at, second.reshape(first_term.shape)))
        change *= tau
        change += g.measured
        return Point(terms, change)
