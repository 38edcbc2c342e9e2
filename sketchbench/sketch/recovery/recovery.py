"""The base class of recoveries, which estimate sparse x from measurements y = Φx + noise."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sketchbench.base.parameters import Checked, Count
from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch

WORKSPACE = 2**20  # entries of signals that are recovered at a time
HEADROOM = 1e3  # room for estimates larger than measurements without overflow of their squares
SCALED = 20  # exponent to which other measurements are scaled: far from either end, for squares and for rounding


class Recovered(NamedTuple):
    """Estimates x (..., d) of signals, for measurements (..., b); numbers of iterations, int (...), 0 without; and
    `trace`, residual norms ‖y - Φx‖₂ after each iteration (..., most iterations), NaN after a signal's last."""

    x: Array
    iterations: Array
    trace: Array


MakeRecovery = Callable[..., "Recovery"]  # a config of conf/recovery makes this function of k


@dataclass(frozen=True)
class Recovery(Checked, ABC):
    """Base class of recoveries: algorithms that estimate vectors with k nonzeros (K in tang2021) from their sketches.
    To write one: a frozen dataclass with one method, `_recover`. Fields are checked against their types (`Checked`).
    `k`: number of nonzeros of the estimates, 1 <= k <= d."""

    k: Count

    def recover(self, sketch: Sketch, y: Array) -> Recovered:
        """Estimate signals x from measurements y = Φx + noise.

        Signals are recovered in blocks of WORKSPACE entries, so that memory stays bounded. If squares of a signal's
        measurements would leave the dtype's range, a power of two becomes the unit, which is exact: estimates scale
        with measurements from the smallest to the largest number.

        Arguments:
            sketch: Φ, a single operator, which all signals share, or a stack of T.
            y: measurements (..., b), float32 or float64; (T, ..., b) for a stack, which recovers T signals at a time,
                with the same results as T single operators.
        Returns:
            Estimates with the leading axes of y, and their iterations.

        Raises ValueError for k > d, a wrong length, other than T first entries, or a non-finite measurement; TypeError
        for another kind of array, or a sketch that this recovery cannot decode; OverflowError if an estimate, or the
        norm of a residual, exceeds the dtype's range.
        """
        if not hasattr(sketch, "lift"):
            made = f"{type(sketch).__module__}.{type(sketch).__name__}"
            raise TypeError(f"recovery takes an operator, not {made}; draw one from a family by `draw`")
        if self.k > sketch.d:
            raise ValueError(f"k={self.k} must be <= d={sketch.d}")
        signals = sketch.lift(y, sketch.b, "b", True)
        if sketch.operators is not None and len(signals) != sketch.operators:
            raise ValueError(f"an array of shape {y.shape} must start with {sketch.operators}, one for each operator")
        xp, shape = sketch.kernels.xp, signals.shape[:2]
        x = xp.empty((*shape, sketch.d), dtype=signals.dtype)
        iterations = xp.empty(shape, dtype="int64")
        traces = []
        for at, phi in _blocks(sketch.with_workspace(), *shape):
            block = self._recover_in_range(phi, xp.ascontiguousarray(signals[at]))
            x[at], iterations[at] = block.x, block.iterations
            traces.append((at, block.trace))
        longest = max((one.shape[1] for _, one in traces), default=0)
        trace = xp.full((*shape, longest), xp.nan, dtype=signals.dtype)
        for at, one in traces:
            trace[at][..., : one.shape[1]] = one
        return Recovered(*(part.reshape((*y.shape[:-1], *part.shape[2:])) for part in (x, iterations, trace)))

    @abstractmethod
    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        """Estimate N signals from measurements y (N, b), which are checked, and whose squares can be summed in their
        dtype. The operator, shared by all, or the stack of N operators has a workspace."""

    def _with_tiny(self) -> "Recovery":
        """The recovery of scaled-up measurements: itself, if estimates don't depend on the unit."""
        return self

    def _recover_in_range(self, sketch: Sketch, y: Array) -> Recovered:
        """`_recover`, in another unit for signals with measurements whose squares leave the dtype's range."""
        xp, limits = sketch.kernels.xp, np.finfo(y.dtype)
        largest = xp.abs(y).max(axis=1)
        tiny = (largest > 0) & (largest < float(limits.tiny) ** 0.5 / float(limits.eps))
        huge = largest > (float(limits.max) / y.shape[1]) ** 0.5 / HEADROOM
        exponents = xp.where(tiny | huge, xp.frexp(largest)[1] - SCALED, 0)
        if not bool(exponents.any()):
            return self._recover(sketch, y)
        units = xp.ldexp(xp.ones(len(y), dtype=y.dtype), xp.maximum(exponents, limits.minexp))[:, None]
        up = exponents < 0
        parts = [
            recovery._recover(sketch.select(at), y[at] / units[at])
            for recovery, at in ((self._with_tiny(), up), (self, ~up))
            if at.any()
        ]
        order = xp.argsort(xp.concatenate([xp.flatnonzero(up), xp.flatnonzero(~up)]))
        with np.errstate(over="ignore"):  # raised below
            x = xp.concatenate([part.x for part in parts])[order] * units
            trace = _join(xp, [part.trace for part in parts])[order] * units
        if not bool(xp.isfinite(x).all()) or bool(xp.isinf(trace).any()):
            raise OverflowError(
                f"estimates from measurements up to {float(largest.max()):.2g}, or their residuals, exceed {y.dtype}, "
                f"which ends at {float(limits.max):.2g}; scale the measurements down"
            )
        return Recovered(x, xp.concatenate([part.iterations for part in parts])[order], trace)


def _join(xp: Any, traces: list[Array]) -> Array:
    """The traces of all parts, one below the other, each padded with NaN to the longest."""
    longest = max(trace.shape[1] for trace in traces)
    return xp.concatenate(
        [xp.pad(trace, ((0, 0), (0, longest - trace.shape[1])), constant_values=xp.nan) for trace in traces]
    )


def _blocks(sketch: Sketch, operators: int, signals: int) -> Iterator[tuple[tuple[Any, Any], Sketch]]:
    """Blocks of at most WORKSPACE entries among signals (operators, signals, b): the places of each block in the first
    two axes, and its operator or stack. A stack recovers a signal of each operator at a time."""
    size = max(1, WORKSPACE // sketch.padded().d)
    if sketch.operators is None:
        yield from (((0, slice(first, first + size)), sketch) for first in range(0, max(signals, 1), size))
        return
    numbers = sketch.kernels.xp.arange(operators)
    for first in range(0, operators, size):
        phi = sketch if operators <= size else sketch.select((numbers >= first) & (numbers < first + size))
        yield from (((slice(first, first + size), n), phi) for n in range(signals))


def best(kernels: Kernels, x: Array, k: int) -> Array:
    """x^[k], the best approximations of x (N, d) with k nonzeros: the entries of largest magnitude, and 0 elsewhere."""
    at = kernels.largest(x, k)
    values = kernels.collect(x[None], at[None])
    return kernels.spread(at[None], values, kernels.xp.empty_like(x)[None])[0]


def keep_largest(kernels: Kernels, estimate: Array, k: int) -> Recovered:
    """The result of a recovery without iterations: the k entries of largest magnitude of estimates (N, d)."""
    xp, count = kernels.xp, len(estimate)
    x = best(kernels, estimate, k)
    return Recovered(x, xp.zeros(count, dtype="int64"), xp.empty((count, 0), dtype=x.dtype))
