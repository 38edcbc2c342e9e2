"""The base class of recoveries, which estimate sparse x from measurements y = Φx + noise."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sketchbench.kernels import Array, Kernels
from sketchbench.parameters import Checked, Count
from sketchbench.sketch.operator import Sketch

WORKSPACE = 2**20  # entries of signals that are recovered at a time
HEADROOM = 1e3  # how much larger than measurements estimates may be without overflow of their squares
SCALED = 20  # the exponent to which other measurements are scaled: far from either end, for squares and for rounding


class Recovered(NamedTuple):
    """Estimates of signals, for measurements of shape (..., b).

    Attributes:
        x: the estimates (..., d).
        iterations: number of iterations, int (...); 0 for recoveries without iterations.
        trace: residual norms ‖y - Φx‖₂ after each iteration (..., most iterations), NaN after a signal's last one.
    """

    x: Array
    iterations: Array
    trace: Array


MakeRecovery = Callable[..., "Recovery"]  # the function that a config of conf/recovery makes; its argument is k


@dataclass(frozen=True)
class Recovery(Checked, ABC):
    """Base class of recoveries: algorithms that estimate vectors with k nonzeros (K in tang2021) from their sketches.

    To write one: a frozen dataclass with one method, `_recover`. Fields are checked against their types (`Checked`).

    Arguments:
        k: number of nonzeros of the estimates, 1 <= k <= d.
    """

    k: Count

    def recover(self, sketch: Sketch, y: Array) -> Recovered:
        """Estimate signals x from measurements y = Φx + noise.

        Signals are recovered in blocks of WORKSPACE entries, so that memory stays bounded. Where squares of a signal's
        measurements would leave the range of the dtype, it is recovered in another unit, a power of two, which is
        exact: estimates scale with measurements from the smallest to the largest number.

        Arguments:
            sketch: Φ, a single operator, which all signals share.
            y: measurements (..., b), float32 or float64.

        Returns:
            Estimates with the leading axes of y, and their iterations.

        Raises:
            ValueError: for k > d, a stack of operators, a wrong length, or a non-finite measurement.
            TypeError: for another kind of array, or a sketch that this recovery cannot decode.
            OverflowError: where an estimate, or the norm of a residual, exceeds the range of the dtype.
        """
        if not hasattr(sketch, "lift"):
            made = f"{type(sketch).__module__}.{type(sketch).__name__}"
            raise TypeError(f"recovery takes an operator, not {made}; draw one from a family by `draw`")
        if sketch.operators is not None:
            raise ValueError(
                f"recovery takes one operator, not a stack of {sketch.operators}; draw it without `operators`"
            )
        if self.k > sketch.d:
            raise ValueError(f"k={self.k} must be <= d={sketch.d}")
        signals = sketch.lift(y, sketch.b, "b", True)[0]
        xp = sketch.kernels.xp
        step = max(1, WORKSPACE // sketch.padded().d)
        working = sketch.with_workspace()
        x = xp.empty((len(signals), sketch.d), dtype=signals.dtype)
        iterations, traces = [], []
        for first in range(0, max(len(signals), 1), step):
            block = self._recover_in_range(working, signals[first : first + step])
            x[first : first + step] = block.x
            iterations.append(block.iterations)
            traces.append(block.trace)
        trace = _join(xp, traces)
        return Recovered(
            x.reshape(*y.shape[:-1], sketch.d),
            xp.concatenate(iterations).reshape(y.shape[:-1]),
            trace.reshape(*y.shape[:-1], trace.shape[1]),
        )

    @abstractmethod
    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        """Estimate N signals from measurements y (N, b), which are checked, and whose squares can be summed in their
        dtype; the operator has a workspace."""

    def _with_tiny(self) -> "Recovery":
        """The recovery of measurements that are scaled up: itself, where estimates don't depend on the unit."""
        return self

    def _recover_in_range(self, sketch: Sketch, y: Array) -> Recovered:
        """`_recover`, in another unit for signals whose measurements' squares would leave the range of their dtype."""
        xp, limits = sketch.kernels.xp, np.finfo(y.dtype)
        largest = xp.abs(y).max(axis=1)
        tiny = (largest > 0) & (largest < float(limits.tiny) ** 0.5 / float(limits.eps))
        huge = largest > (float(limits.max) / y.shape[1]) ** 0.5 / HEADROOM
        exponents = xp.where(tiny | huge, xp.frexp(largest)[1] - SCALED, 0)
        if not bool(exponents.any()):
            return self._recover(sketch, y)
        units = xp.ldexp(xp.ones(len(y), dtype=y.dtype), xp.maximum(exponents, limits.minexp))[:, None]
        up, others = xp.flatnonzero(exponents < 0), xp.flatnonzero(exponents >= 0)
        parts = [
            recovery._recover(sketch, y[at] / units[at]) for recovery, at in ((self._with_tiny(), up), (self, others))
        ]
        order = xp.argsort(xp.concatenate([up, others]))
        with np.errstate(over="ignore"):  # refused below
            x = xp.concatenate([part.x for part in parts])[order] * units
            trace = _join(xp, [part.trace for part in parts])[order] * units
        if not bool(xp.isfinite(x).all()) or bool(xp.isinf(trace).any()):
            raise OverflowError(
                f"estimates from measurements up to {float(largest.max()):.2g}, or their residuals, exceed {y.dtype}, "
                f"which ends at {float(limits.max):.2g}; scale the measurements down"
            )
        return Recovered(x, xp.concatenate([part.iterations for part in parts])[order], trace)


def _join(xp: Any, traces: list[Array]) -> Array:
    """The traces of all blocks, one below the other, each padded with NaN to the longest."""
    if len(traces) == 1:
        return traces[0]
    longest = max(trace.shape[1] for trace in traces)
    return xp.concatenate(
        [xp.pad(trace, ((0, 0), (0, longest - trace.shape[1])), constant_values=xp.nan) for trace in traces]
    )


def best(kernels: Kernels, x: Array, k: int) -> Array:
    """x^[k], the best approximations of x (N, d) with k nonzeros: entries of largest magnitude, and else 0."""
    at = kernels.largest(x, k)
    values = kernels.collect(x[None], at[None])
    return kernels.spread(at[None], values, kernels.xp.empty_like(x)[None])[0]


def keep_largest(kernels: Kernels, estimate: Array, k: int) -> Recovered:
    """The result of a recovery without iterations: the k entries of largest magnitude of estimates (N, d)."""
    xp, count = kernels.xp, len(estimate)
    x = best(kernels, estimate, k)
    return Recovered(x, xp.zeros(count, dtype="int64"), xp.empty((count, 0), dtype=x.dtype))
