"""What the iterative recoveries share: their iterates, the bookkeeping of a batch, and when to stop."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from sketchbench.kernels import Array
from sketchbench.recovery.recovery import Recovered, Recovery
from sketchbench.sketch.operator import Sketch

Stopping = Literal["paper", "relative"]
Support = Literal["padded", "true"]

SMALL = 1e-4  # a norm of the iterate
SETTLED = 0.01  # standard deviation over mean of its last WINDOW norms
WINDOW = 4
NEGLIGIBLE = 64  # times the rounding of a number: what is measured of a step that leads nowhere


class Iterate(NamedTuple):
    """N vectors with k nonzeros: their places, int32 (N, k), their values, and Φ of them (N, b)."""

    at: Array
    values: Array
    measured: Array


class Point(NamedTuple):
    """N vectors w as sums of sparse vectors with disjoint supports, (places, values) each, and Φw (N, b)."""

    terms: tuple[tuple[Array, Array], ...]
    measured: Array

    def rows(self, chosen: Array) -> "Point":
        """Some of the vectors (booleans, (N,))."""
        terms = tuple((at[chosen], values[chosen]) for at, values in self.terms)
        return Point(terms, self.measured[chosen])


class State(NamedTuple):
    """The signals that are not done yet: their numbers (N,), y (N, b) and ‖y‖₂² (N,), the last iterate g,
    the point w from which the next step goes, and the norms ‖w‖₂ of all points so far (N, s)."""

    number: Array
    y: Array
    energy: Array
    g: Iterate
    w: Point
    norms: Array

    def rows(self, chosen: Array) -> "State":
        """The state of some of the signals (booleans, (N,))."""
        g = Iterate(*(part[chosen] for part in self.g))
        w = self.w.rows(chosen)
        signals = (self.number[chosen], self.y[chosen], self.energy[chosen])
        return State(*signals, g, w, self.norms[chosen])

    def length(self, above: Array, below: Array) -> Array:
        """The step length above / below as a column (N, 1), where below is the squared norm of what is
        measured of the direction; 0 where that is nothing but rounding beside y."""
        least = (NEGLIGIBLE * np.finfo(below.dtype).eps) ** 2 * self.energy
        counts = below > least
        return (above * counts / (below + ~counts))[:, None]


@dataclass(frozen=True)
class Iterative(Recovery):
    """Iterations that keep the k largest entries, on an operator whose rows are orthogonal.

    They stop after `iterations`; or when the last four norms of the iterate have a standard deviation of
    at most 1 % of their mean; or when the last of them is at most 1e-4.
    stopping: `paper` takes that threshold as it is (tang2021 Appendix E), so the answer depends on the
    unit of the signal; `relative` takes it times ‖Φᵀy‖₂.
    support: the k entries are chosen among all coordinates of the padded domain, whose tail is cut off
    at the end (`padded`, tang2021 Appendix C), or among the d of the signal (`true`).
    """

    stopping: Stopping = "relative"
    support: Support = "true"
    iterations: int = 25

    def check(self) -> None:
        for name, value, known in (
            ("stopping", self.stopping, get_args(Stopping)),
            ("support", self.support, get_args(Support)),
        ):
            if value not in known:
                raise ValueError(f"{name}={value} is unknown; choose one of {', '.join(known)}")
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int):
            raise TypeError(f"iterations={self.iterations!r} must be an integer")
        if self.iterations < 1:
            raise ValueError(f"iterations={self.iterations} must be >= 1")

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        phi = sketch.padded()
        xp, count = phi.kernels.xp, len(y)
        domain = phi.d if self.support == "padded" else sketch.d
        x = xp.empty((count, sketch.d), dtype=y.dtype)
        iterations = xp.zeros(count, dtype="int64")
        trace = xp.full((count, self.iterations), xp.nan, dtype=y.dtype)

        estimate = phi.desketch(y, check_finite=False)
        small = SMALL * (norm(xp, estimate) if self.stopping == "relative" else xp.ones(count))
        g = self._keep(phi, estimate, domain)
        w = Point(((g.at, g.values),), g.measured)
        state = State(xp.arange(count), y, dot(xp, y, y), g, w, _norms(xp, w))
        for s in range(self.iterations):
            g = self._next(phi, state, domain)
            w = self._point(phi, state, g)
            norms = xp.concatenate([state.norms, _norms(xp, w)], axis=1)
            state = state._replace(g=g, w=w, norms=norms)
            trace[state.number, s] = norm(xp, state.y - g.measured)
            iterations[state.number] = s + 1
            over = _settled(norms) | (norms[:, -1] <= small[state.number])
            if s + 1 == self.iterations:
                over |= True
            if over.any():
                done = state.rows(over)
                kept = xp.empty((1, len(done.number), phi.d), dtype=y.dtype)
                phi.kernels.spread(done.g.at[None], done.g.values[None], kept)
                x[done.number] = kept[0, :, : sketch.d]
                state = state.rows(~over)
            if not len(state.number):
                break
        return Recovered(x, iterations, trace[:, : s + 1])

    def _keep(self, phi: Sketch, estimate: Array, domain: int) -> Iterate:
        """The k largest of the first `domain` entries of an estimate, and their measurement."""
        at = phi.kernels.largest(estimate[:, :domain], self.k)
        values = take(phi, estimate, at)
        return Iterate(at, values, phi.sketch_sparse((at, values)))

    @abstractmethod
    def _next(self, phi: Sketch, state: State, domain: int) -> Iterate:
        """The next iterate, with its support among the first `domain` coordinates."""

    def _point(self, phi: Sketch, state: State, g: Iterate) -> Point:
        """Where the next step starts, after the iterate g: here from g itself."""
        return Point(((g.at, g.values),), g.measured)


def take(phi: Sketch, v: Array, at: Array) -> Array:
    """Chosen entries (N, k) of v (N, d)."""
    return phi.kernels.collect(v[None], at[None])[0]


def add(phi: Sketch, v: Array, at: Array, values: Array) -> None:
    """Add values (N, k) to v (N, d) there, in place."""
    phi.kernels.spread(at[None], values[None], v[None], keep=True)


def _norms(xp: Any, w: Point) -> Array:
    """‖w‖₂ as a column (N, 1)."""
    squared: Array = sum(dot(xp, values, values) for _, values in w.terms)
    return squared[:, None] ** 0.5


def _settled(norms: Array) -> Array:
    """Whether the last norms of each signal hardly vary, booleans (N,)."""
    last = norms[:, -WINDOW:]
    enough = last.shape[1] == WINDOW
    return (last.std(axis=1) <= SETTLED * last.mean(axis=1)) & enough


def norm(xp: Any, v: Array) -> Array:
    """‖v‖₂ of every row."""
    return dot(xp, v, v) ** 0.5


def dot(xp: Any, u: Array, v: Array) -> Array:
    """The inner products of rows, (N,)."""
    return xp.einsum("nd,nd->n", u, v)
