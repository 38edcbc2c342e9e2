"""The base class of iterative recoveries: many signals at once, each with its own stop."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from sketchbench.base.parameters import Count
from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import Recovered, Recovery

Stopping = Literal["paper", "relative", "residual"]
Support = Literal["padded", "true"]

SMALL = 1e-4  # iterations stop at this ‖w‖₂ or below
SETTLED = 0.01  # iterations stop when the last WINDOW values of ‖w‖₂ have this standard deviation over mean, or less
WINDOW = 4
NEGLIGIBLE = 64  # ‖Φ direction‖/‖y‖ of the smallest step, in units of the rounding error


class Iterate(NamedTuple):
    """N vectors x with k nonzeros each: ascending indices, int32 (N, k), values (N, k) and residuals y - Φx (N, b)."""

    at: Array
    values: Array
    residual: Array


class SparseSums(NamedTuple):
    """N vectors w, each a sum of sparse vectors with disjoint supports.
    `terms`: for each sparse vector, indices, int32 (N, k), and values (N, k); `residual`: y - Φw (N, b)."""

    terms: tuple[tuple[Array, Array], ...]
    residual: Array

    def rows(self, mask: Array) -> "SparseSums":
        """The vectors of a mask, booleans (N,)."""
        terms = tuple((at[mask], values[mask]) for at, values in self.terms)
        return SparseSums(terms, self.residual[mask])


class Signals(NamedTuple):
    """The N signals whose iterations have not stopped yet: numbers among all signals (N,), measurements y (N, b),
    energies ‖y‖₂² (N,), last iterate g, starting point w of the next step, and norms ‖w‖₂ so far, or ‖y - Φw‖₂ (N,
    points)."""

    number: Array
    y: Array
    energy: Array
    g: Iterate
    w: SparseSums
    norms: Array

    def rows(self, mask: Array) -> "Signals":
        """The signals of a mask, booleans (N,)."""
        if mask.all():
            return self  # without a copy
        g = Iterate(*(part[mask] for part in self.g))
        w = self.w.rows(mask)
        return Signals(self.number[mask], self.y[mask], self.energy[mask], g, w, self.norms[mask])

    def length(self, numerator: Array, denominator: Array) -> Array:
        """The length of a step, numerator / denominator, as a column (N, 1). The denominator is ‖Φ direction‖₂². The
        length is 0 if that is within rounding error of ‖y‖₂²."""
        negligible = (NEGLIGIBLE * np.finfo(denominator.dtype).eps) ** 2 * self.energy
        counts = denominator > negligible
        return (numerator * counts / (denominator + ~counts))[:, None]


@dataclass(frozen=True)
class Iterative(Recovery):
    """Base class of recoveries by iterations that keep k entries, for sketches with orthogonal rows.

    A signal's iterations stop after `iterations`; or when the last four norms ‖w‖₂ have a standard deviation of at most
    1 % of their mean; or when the last norm is at most 1e-4. To write such a recovery: a frozen dataclass with one
    method, `_next`.

    Arguments:
        k: number of nonzeros of the estimates, 1 <= k <= d.
        stopping: unit of the threshold 1e-4. `paper`: 1, as in tang2021 Appendix E, so that estimates depend on the
            scale of the signal; `relative`: ‖Φᵀy‖₂; `residual`: 1, with norms ‖y - Φw‖₂ instead of ‖w‖₂, as in the code
            of tang2021's authors (vikr53/cosamp, FIHT.py).
        support: coordinates that may be nonzero. `true`: the d coordinates of the signal. `padded`: all coordinates of
            the padded domain, of which the first d are returned (tang2021 Appendix C).
        iterations: largest number of iterations, >= 1.
    """

    stopping: Stopping = "relative"
    support: Support = "true"
    iterations: Count = 25

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        phi = sketch.padded()
        xp, inner, count = phi.kernels.xp, phi.kernels.inner, len(y)
        domain = phi.d if self.support == "padded" else sketch.d
        x = xp.empty((count, sketch.d), dtype=y.dtype)
        iterations = xp.zeros(count, dtype="int64")
        trace = xp.full((count, self.iterations), xp.nan, dtype=y.dtype)

        estimate = phi.desketch(y, check_finite=False)
        small = SMALL * (inner(estimate, estimate) ** 0.5 if self.stopping == "relative" else xp.ones(count))
        g = self._keep(phi, y, estimate, domain)
        w = SparseSums(((g.at, g.values),), g.residual)
        signals = Signals(xp.arange(count), y, inner(y, y), g, w, self._norms(phi, w))
        for s in range(self.iterations):
            g = self._next(phi, signals, domain)
            trace[signals.number, s] = inner(g.residual, g.residual) ** 0.5
            iterations[signals.number] = s + 1
            if s + 1 < self.iterations:
                w = self._point(phi, signals, g)
                norms = xp.concatenate([signals.norms, self._norms(phi, w)], axis=1)
                signals = signals._replace(g=g, w=w, norms=norms)
                stops = _are_stable(norms) | (norms[:, -1] <= small[signals.number])
            else:  # nothing starts from another point
                signals, stops = signals._replace(g=g), xp.ones(len(signals.number), dtype=bool)
            if stops.any():
                done = signals.rows(stops)
                x[done.number] = _dense(phi.kernels, done.g, sketch.d)
            if stops.all():
                break
            if stops.any():
                signals, phi = signals.rows(~stops), phi.select(~stops)
        return Recovered(x, iterations, trace[:, : s + 1])

    def _with_tiny(self) -> Recovery:
        """One iteration puts the norms of tiny signals below the paper's threshold."""
        return self if self.stopping == "relative" else replace(self, iterations=1)

    def _norms(self, phi: Sketch, w: SparseSums) -> Array:
        """The norms of the stopping rules, as a column (N, 1)."""
        parts = [w.residual] if self.stopping == "residual" else [values for _, values in w.terms]
        squared: Array = sum(phi.kernels.inner(part, part) for part in parts)
        return squared[:, None] ** 0.5

    def _keep(self, phi: Sketch, y: Array, estimate: Array, domain: int) -> Iterate:
        """The iterate of the k entries of largest magnitude among the first `domain` entries of an estimate (N, n)."""
        at = phi.kernels.largest(estimate[:, :domain], self.k)
        return iterate_at(phi, y, at, take(phi, estimate, at))

    @abstractmethod
    def _next(self, phi: Sketch, signals: Signals, domain: int) -> Iterate:
        """The next iterate, with nonzeros among the first `domain` coordinates. `phi` is Φ on its padded domain of n
        coordinates, with a workspace. `signals.w`, the point after the last iterates, may be overwritten."""

    def _point(self, phi: Sketch, signals: Signals, g: Iterate) -> SparseSums:
        """The starting point of the next step, g unless overridden. It may overwrite `signals.g`, the last iterate."""
        return SparseSums(((g.at, g.values),), g.residual)


def iterate_at(phi: Sketch, y: Array, at: Array, values: Array) -> Iterate:
    """The iterate of sparse vectors, indices and values (N, k), with residuals for measurements y (N, b)."""
    return Iterate(at, values, minus(phi, y, phi.sketch_sparse((at, values))))


def minus(phi: Sketch, u: Array, v: Array) -> Array:
    """u - v for rows (N, d); overwrites v with it."""
    return phi.kernels.add_to_scaled(u, -phi.kernels.xp.ones((len(u), 1), dtype=u.dtype), v)


def take(phi: Sketch, v: Array, at: Array) -> Array:
    """The entries of v (N, d) at indices `at` (N, k): (N, k)."""
    return phi.kernels.collect(v[None], at[None])[0]


def _dense(kernels: Kernels, g: Iterate, d: int) -> Array:
    inside = g.at < d
    at, values = kernels.xp.minimum(g.at, d - 1), g.values * inside
    return kernels.spread(at[None], values[None], kernels.xp.empty((1, len(at), d), dtype=values.dtype))[0]


def _are_stable(norms: Array) -> Array:
    """Return whether the last WINDOW norms of each signal vary by at most 1 %, booleans (N,)."""
    last = norms[:, -WINDOW:]
    full = last.shape[1] == WINDOW
    return (last.std(axis=1) <= SETTLED * last.mean(axis=1)) & full
