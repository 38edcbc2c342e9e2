"""What the iterative recoveries share: iterates, the bookkeeping of many signals at once, and when to stop."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from sketchbench.kernels import Array, Kernels
from sketchbench.parameters import Count
from sketchbench.recovery.recovery import Recovered, Recovery
from sketchbench.sketch.operator import Sketch

Stopping = Literal["paper", "relative"]
Support = Literal["padded", "true"]

SMALL = 1e-4  # norm of w below which iterations stop
SETTLED = 0.01  # standard deviation over mean of the last WINDOW norms of w below which iterations stop
WINDOW = 4
NEGLIGIBLE = 64  # ‖Φ direction‖ over ‖y‖, in units of the rounding error, below which no step is taken


class Iterate(NamedTuple):
    """N vectors with k nonzeros each.

    Attributes:
        at: places of the nonzeros in ascending order, int32 (N, k).
        values: the entries there (N, k).
        residual: y - Φ of the vectors (N, b).
    """

    at: Array
    values: Array
    residual: Array


class Point(NamedTuple):
    """N vectors w, each a sum of sparse vectors with disjoint supports.

    Attributes:
        terms: the places, int32 (N, k), and values (N, k) of the sparse vectors.
        residual: y - Φw (N, b).
    """

    terms: tuple[tuple[Array, Array], ...]
    residual: Array

    def rows(self, chosen: Array) -> "Point":
        """Some of the vectors (booleans, (N,))."""
        terms = tuple((at[chosen], values[chosen]) for at, values in self.terms)
        return Point(terms, self.residual[chosen])


class Signals(NamedTuple):
    """The N signals whose iterations have not stopped yet.

    Attributes:
        number: their places among all signals (N,).
        y: measurements (N, b).
        energy: ‖y‖₂² (N,).
        g: the last iterate.
        w: the point from which the next step starts.
        norms: ‖w‖₂ of all points so far (N, s).
    """

    number: Array
    y: Array
    energy: Array
    g: Iterate
    w: Point
    norms: Array

    def rows(self, chosen: Array) -> "Signals":
        """Some of the signals (booleans, (N,))."""
        if chosen.all():
            return self  # without a copy
        g = Iterate(*(part[chosen] for part in self.g))
        w = self.w.rows(chosen)
        return Signals(self.number[chosen], self.y[chosen], self.energy[chosen], g, w, self.norms[chosen])

    def length(self, numerator: Array, denominator: Array) -> Array:
        """The length of a step, numerator / denominator, as a column (N, 1).

        The denominator is ‖Φ direction‖₂². Where it is nothing but rounding error beside y, the length is 0.
        """
        negligible = (NEGLIGIBLE * np.finfo(denominator.dtype).eps) ** 2 * self.energy
        counts = denominator > negligible
        return (numerator * counts / (denominator + ~counts))[:, None]


@dataclass(frozen=True)
class Iterative(Recovery):
    """Iterations that keep the k largest entries, on an operator whose rows are orthogonal.

    They stop after `iterations`; or when the last four norms ‖w‖₂ have a standard deviation of at most 1 % of their
    mean; or when the last of them is at most 1e-4. A new one is a frozen dataclass with one method, `_next`.

    Arguments:
        k: number of nonzeros.
        stopping: `paper` takes that last threshold as it is (tang2021 Appendix E), so the answer depends on the unit
            of the signal; `relative` takes it times ‖Φᵀy‖₂.
        support: where the k entries are chosen: among all coordinates of the padded domain, whose tail is cut off at
            the end (`padded`, tang2021 Appendix C), or among the d coordinates of the signal (`true`).
        iterations: largest number of iterations.
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
        w = Point(((g.at, g.values),), g.residual)
        signals = Signals(xp.arange(count), y, inner(y, y), g, w, _norms(phi, w))
        for s in range(self.iterations):
            g = self._next(phi, signals, domain)
            left = inner(g.residual, g.residual) ** 0.5
            w = self._point(phi, signals, g)
            norms = xp.concatenate([signals.norms, _norms(phi, w)], axis=1)
            signals = signals._replace(g=g, w=w, norms=norms)
            trace[signals.number, s] = left
            iterations[signals.number] = s + 1
            stops = _settled(norms) | (norms[:, -1] <= small[signals.number])
            if s + 1 == self.iterations:
                stops |= True
            if stops.any():
                done = signals.rows(stops)
                x[done.number] = _dense(phi.kernels, done.g, sketch.d)
                signals = signals.rows(~stops)
            if not len(signals.number):
                break
        return Recovered(x, iterations, trace[:, : s + 1])

    def _keep(self, phi: Sketch, y: Array, estimate: Array, domain: int) -> Iterate:
        """The k largest of the first `domain` entries of an estimate."""
        at = phi.kernels.largest(estimate[:, :domain], self.k)
        return measured(phi, y, at, take(phi, estimate, at))

    @abstractmethod
    def _next(self, phi: Sketch, signals: Signals, domain: int) -> Iterate:
        """The next iterate, with its support among the first `domain` coordinates."""

    def _point(self, phi: Sketch, signals: Signals, g: Iterate) -> Point:
        """Where the next step starts, after the iterate g: by default at g. The last iterate may be overwritten."""
        return Point(((g.at, g.values),), g.residual)


def measured(phi: Sketch, y: Array, at: Array, values: Array) -> Iterate:
    """Sparse vectors, places and values (N, k), as iterates for measurements y (N, b)."""
    return Iterate(at, values, minus(phi, y, phi.sketch_sparse((at, values))))


def minus(phi: Sketch, u: Array, v: Array) -> Array:
    """u - v of rows (N, d); it overwrites v."""
    return phi.kernels.add_to_scaled(u, -phi.kernels.xp.ones((len(u), 1), dtype=u.dtype), v)


def take(phi: Sketch, v: Array, at: Array) -> Array:
    """Chosen entries (N, k) of v (N, d)."""
    return phi.kernels.collect(v[None], at[None])[0]


def _dense(kernels: Kernels, g: Iterate, d: int) -> Array:
    """The first d entries of iterates, (N, d)."""
    inside = g.at < d
    at, values = kernels.xp.minimum(g.at, d - 1), g.values * inside
    return kernels.spread(at[None], values[None], kernels.xp.empty((1, len(at), d), dtype=values.dtype))[0]


def _norms(phi: Sketch, w: Point) -> Array:
    """‖w‖₂ as a column (N, 1)."""
    squared: Array = sum(phi.kernels.inner(values, values) for _, values in w.terms)
    return squared[:, None] ** 0.5


def _settled(norms: Array) -> Array:
    """Whether the last norms of each signal hardly vary, booleans (N,)."""
    last = norms[:, -WINDOW:]
    full = last.shape[1] == WINDOW
    return (last.std(axis=1) <= SETTLED * last.mean(axis=1)) & full
