"""A recovery finds a sparse x from measurements y = Φx + noise."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch

WORKSPACE = 2**20  # entries of the signals that are recovered together


class Recovered(NamedTuple):
    """What came of N signals, or of signals in whatever shape (...) was asked for.

    x: (..., d). iterations: int (...), 0 where nothing is iterated. trace: (..., most iterations), the
    residual norm ‖y - Φx‖₂ after each iteration, NaN after the last one.
    """

    x: Array
    iterations: Array
    trace: Array


MakeRecovery = Callable[..., "Recovery"]  # what a config of conf/recovery gives; it wants k


@dataclass(frozen=True)
class Recovery(ABC):
    """A way to recover vectors with at most k nonzeros (K in tang2021) from their sketches.

    A new one is a frozen dataclass with one method, `_recover`.
    """

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int):
            raise TypeError(f"number of nonzeros k={self.k!r} must be an integer")
        if self.k < 1:
            raise ValueError(f"number of nonzeros k={self.k} must be >= 1")
        self.check()

    def check(self) -> None:  # noqa: B027 (not every recovery has more to check)
        """Raise ValueError, naming value, condition and remedy, for parameters that can't be."""

    def recover(self, sketch: Sketch, y: Array) -> Recovered:
        """Estimates of the vectors behind y = Φx + noise, shape (..., b), with Φ = `sketch`.

        All signals share the one operator. They are recovered in blocks, so that memory stays bounded.
        Raises ValueError for k > d, a stack of operators, a wrong length or a non-finite measurement,
        TypeError for another kind of array, or for a sketch that this recovery can't decode.
        """
        if sketch.operators is not None:
            raise ValueError(
                f"recovery takes one operator, not a stack of {sketch.operators}; draw it without `operators`"
            )
        if self.k > sketch.d:
            raise ValueError(f"number of nonzeros k={self.k} must satisfy k <= d={sketch.d}")
        signals = sketch.lift(y, sketch.b, "b", True)[0]
        xp = sketch.kernels.xp
        step = max(1, WORKSPACE // sketch.padded().d)
        working = sketch.with_workspace()
        x = xp.empty((len(signals), sketch.d), dtype=signals.dtype)
        iterations, traces = [], []
        for first in range(0, max(len(signals), 1), step):
            block = self._recover(working, signals[first : first + step])
            x[first : first + step] = block.x
            iterations.append(block.iterations)
            traces.append(block.trace)
        trace = _joined(xp, traces)
        return Recovered(
            x.reshape(*y.shape[:-1], sketch.d),
            xp.concatenate(iterations).reshape(y.shape[:-1]),
            trace.reshape(*y.shape[:-1], trace.shape[1]),
        )

    @abstractmethod
    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        """The same for y of shape (N, b), checked, with an operator that has a workspace."""


def _joined(xp: Any, traces: list[Array]) -> Array:
    """The traces of all blocks, one below the other, as long as the longest."""
    longest = max(trace.shape[1] for trace in traces)
    return xp.concatenate(
        [xp.pad(trace, ((0, 0), (0, longest - trace.shape[1])), constant_values=xp.nan) for trace in traces]
    )


def best(kernels: Kernels, x: Array, k: int) -> Array:
    """The best approximations of x (N, d) with k nonzeros, x^[k]: the largest magnitudes are kept."""
    at = kernels.largest(x, k)
    values = kernels.collect(x[None], at[None])
    return kernels.spread(at[None], values, kernels.xp.empty_like(x)[None])[0]


def thresholded(kernels: Kernels, estimate: Array, k: int) -> Recovered:
    """The best approximation of an estimate (N, d) with k nonzeros, found without iterating."""
    xp, count = kernels.xp, len(estimate)
    x = best(kernels, estimate, k)
    return Recovered(x, xp.zeros(count, dtype="int64"), xp.empty((count, 0), dtype=x.dtype))
