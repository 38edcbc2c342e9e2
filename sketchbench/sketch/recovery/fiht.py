"""Fast iterative hard thresholding (Wei 2014; tang2021 Appendix E)."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.iterative import Iterate, Iterative, Signals, SparseSums, minus, take


@dataclass(frozen=True)
class FIHT(Iterative):
    """Fast iterative hard thresholding (Wei 2014; tang2021 Appendix E), for sketches with orthogonal rows.

    An iteration minimises ‖y - Φx‖² over x with k nonzeros by three steps, each of optimal length: a gradient step from
    w, cut to the k entries of largest magnitude; a gradient step on their places, to the iterate g; and a momentum
    step, to the next w = g + τ (g - last g). If Φ has the restricted isometry property, the error is at most
    (C_s + 1)‖x - x^[k]‖₂ + C_s/√k ‖x - x^[k]‖₁ + C_n ‖noise‖₂ (tang2021 Lemma 2). It costs five transforms for each
    iteration and signal. Arguments as in `Iterative`; ‖w‖₂ is the norm at which iterations stop.
    """

    def _next(self, phi: Sketch, signals: Signals, domain: int) -> Iterate:
        inner, y, w = phi.kernels.inner, signals.y, signals.w
        h = phi.desketch(w.residual, check_finite=False)
        on_support = [(at, take(phi, h, at) * (values != 0)) for at, values in w.terms]
        rise = phi.sketch_sparse(*on_support)
        squared: Array = sum(inner(slope, slope) for _, slope in on_support)
        phi.kernels.scale_and_add(h, signals.length(squared, inner(rise, rise)), w.terms)

        at, values, residual = self._keep(phi, y, h, domain)
        slope = take(phi, phi.desketch(residual, check_finite=False), at)
        rise = phi.sketch_sparse((at, slope))
        step = signals.length(inner(slope, slope), inner(rise, rise))
        return Iterate(at, values + step * slope, phi.kernels.add_to_scaled(residual, -step, rise))

    def _point(self, phi: Sketch, signals: Signals, g: Iterate) -> SparseSums:
        """w = g + tau (g - before), where `before` is the last iterate and tau minimises ‖y - Φw‖₂."""
        kernels, before = phi.kernels, signals.g
        fall = minus(phi, g.residual, before.residual)  # Φ(before - g)
        tau = -signals.length(kernels.inner(g.residual, fall), kernels.inner(fall, fall))
        values, others = (1 + tau) * g.values, -tau * before.values
        kernels.move_shared(g.at, values, before.at, others)
        return SparseSums(((g.at, values), (before.at, others)), kernels.add_to_scaled(g.residual, tau, fall))
