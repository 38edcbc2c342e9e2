"""A recovery finds a sparse x from measurements y = Φx + noise."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sketchbench.kernels import Array, Kernels
from sketchbench.parameters import Checked, Count
from sketchbench.sketch.operator import Sketch

WORKSPACE = 2**20  # entries of the signals that are recovered together
HEADROOM = 1e3  # by which the largest measurement is below what can be squared and summed: estimates may be larger


class Recovered(NamedTuple):
    """Estimates of signals, for measurements of shape (..., b).

    Attributes:
        x: the estimates (..., d).
        iterations: number of iterations, int (...), 0 where nothing is iterated.
        trace: the residual norm ‖y - Φx‖₂ after each iteration, NaN after the last one; as long as the largest number
            of iterations.
    """

    x: Array
    iterations: Array
    trace: Array


MakeRecovery = Callable[..., "Recovery"]  # what a config of conf/recovery gives; it wants k


@dataclass(frozen=True)
class Recovery(Checked, ABC):
    """A way to recover vectors with at most k nonzeros (K in tang2021) from their sketches.

    A new one is a frozen dataclass with one method, `_recover`; the types of its fields say what values they may have.

    Arguments:
        k: number of nonzeros.
    """

    k: Count

    def recover(self, sketch: Sketch, y: Array) -> Recovered:
        """Estimate signals x from measurements y = Φx + noise.

        Signals are recovered in blocks, so that memory stays bounded.

        Arguments:
            sketch: Φ, one operator, which all signals share.
            y: measurements (..., b).

        Returns:
            The estimates, with leading axes as those of y.

        Raises:
            ValueError: for k > d, a stack of operators, a wrong length, a non-finite measurement, or one whose
                square leaves the range of its dtype.
            TypeError: for another kind of array, or a sketch that this recovery can't decode.
        """
        if sketch.operators is not None:
            raise ValueError(
                f"recovery takes one operator, not a stack of {sketch.operators}; draw it without `operators`"
            )
        if self.k > sketch.d:
            raise ValueError(f"k={self.k} must be <= d={sketch.d}")
        signals = sketch.lift(y, sketch.b, "b", True)[0]
        xp = sketch.kernels.xp
        _check_range(xp, signals)
        step = max(1, WORKSPACE // sketch.padded().d)
        working = sketch.with_workspace()
        if len(signals) <= step:
            x, iterations, trace = self._recover(working, signals)
        else:
            x = xp.empty((len(signals), sketch.d), dtype=signals.dtype)
            blocks = []
            for first in range(0, len(signals), step):
                block = self._recover(working, signals[first : first + step])
                x[first : first + step] = block.x
                blocks.append((block.iterations, block.trace))
            iterations, trace = xp.concatenate([one for one, _ in blocks]), _joined(xp, [one for _, one in blocks])
        return Recovered(
            x.reshape(*y.shape[:-1], sketch.d),
            iterations.reshape(y.shape[:-1]),
            trace.reshape(*y.shape[:-1], trace.shape[1]),
        )

    @abstractmethod
    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        """As `recover`, for y of shape (N, b), already checked, with an operator that has a workspace."""


def _check_range(xp: Any, signals: Array) -> None:
    """ValueError for measurements (N, b) whose squares can't be summed in their dtype."""
    if signals.size == 0:
        return
    largest, limits = xp.abs(signals).max(axis=1), np.finfo(signals.dtype)
    high = (float(limits.max) / signals.shape[1]) ** 0.5 / HEADROOM
    if bool((largest > high).any()):
        raise ValueError(
            f"measurements up to {float(largest.max()):.2g} must be <= {high:.2g}, so that their squares can be summed "
            f"in {signals.dtype}; scale them down"
        )


def _joined(xp: Any, traces: list[Array]) -> Array:
    """The traces of all blocks, one below the other, each filled up with NaN to the longest."""
    if len(traces) == 1:
        return traces[0]
    longest = max(trace.shape[1] for trace in traces)
    return xp.concatenate(
        [xp.pad(trace, ((0, 0), (0, longest - trace.shape[1])), constant_values=xp.nan) for trace in traces]
    )


def best(kernels: Kernels, x: Array, k: int) -> Array:
    """The best approximations of x (N, d) with k nonzeros, x^[k]: the entries of largest magnitude, else 0."""
    at = kernels.largest(x, k)
    values = kernels.collect(x[None], at[None])
    return kernels.spread(at[None], values, kernels.xp.empty_like(x)[None])[0]


def thresholded(kernels: Kernels, estimate: Array, k: int) -> Recovered:
    """The k largest entries of estimates (N, d), as the result of a recovery without iterations."""
    xp, count = kernels.xp, len(estimate)
    x = best(kernels, estimate, k)
    return Recovered(x, xp.zeros(count, dtype="int64"), xp.empty((count, 0), dtype=x.dtype))
