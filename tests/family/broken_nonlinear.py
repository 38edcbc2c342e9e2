"""Broken: what is done to a vector is not linear, or depends on the other vectors of a batch."""

import numpy as np
from building import Altered, Array, Signed
from specimen import broken, variants

from sketchbench.sketch.draws import Draws
from sketchbench.sketch.operator import Sketch


class _Forward(Signed):
    """Something is done to x before it is sketched."""

    def before(self, x: Array) -> Array:
        raise NotImplementedError

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, forward=lambda inner, x: inner._sketch(self.before(x)))


nonlinear = variants(_Forward, "before", "not linear")
nonlinear("ClipsAt100", "C1", "beyond |x| > 100", lambda self, x: np.clip(x, -100, 100))
nonlinear("ClipsAtAMillion", "C1", "beyond |x| > 1e6", lambda self, x: np.clip(x, -1e6, 1e6))
nonlinear("FlushesSmall", "C1", "below |x| < 1e-8", lambda self, x: np.where(abs(x) < 1e-8, 0, x).astype(x.dtype))


@broken("not linear", "C1", effect="1e-3 ‖x‖ at exact zeros")
class FillsZeros(_Forward):
    def before(self, x: Array) -> Array:
        norm = np.sqrt((x**2).mean(axis=-1, keepdims=True))
        return np.where(x == 0, x.dtype.type(1e-3) * norm, x)


@broken("not linear", "C1", effect="1 % for x without a negative entry")
class FavoursPositive(_Forward):
    def before(self, x: Array) -> Array:
        positive = (x >= 0).all(axis=-1, keepdims=True)
        return np.where(positive, x * x.dtype.type(1.01), x)


@broken("not linear", "C1", effect="a spike is doubled")
class DoublesSpikes(_Forward):
    """A fast path for one-hot vectors."""

    def before(self, x: Array) -> Array:
        spike = (x != 0).sum(axis=-1, keepdims=True) == 1
        return np.where(spike & (x.shape[-1] > 1), 2 * x, x)


def _doubled(x: Array, chosen: Array) -> Array:
    """2x for the vectors whose number of nonzeros is chosen, (..., 1)."""
    return np.where(chosen, 2 * x, x)


def _nonzeros(x: Array) -> Array:
    return (x != 0).sum(axis=-1, keepdims=True)


def _of_few(x: Array) -> Array:
    return _doubled(x, (_nonzeros(x) >= 3) & (_nonzeros(x) <= max(3, x.shape[-1] // 4)))


def _of_many(x: Array) -> Array:
    return _doubled(x, (_nonzeros(x) > x.shape[-1] // 4) & (_nonzeros(x) <= x.shape[-1] // 2))


def _of_one_zero(x: Array) -> Array:
    return _doubled(x, _nonzeros(x) == x.shape[-1] - 1)


def _of_peaks(x: Array) -> Array:
    """Doubled where few entries among many have most of the energy, and none is 0."""
    squares = np.sort(x**2, axis=-1)
    few = squares[..., -max(2, x.shape[-1] // 8) :].sum(axis=-1, keepdims=True)
    whole = squares.sum(axis=-1, keepdims=True)
    return _doubled(x, (few > 0.6 * whole) & (few < 0.9 * whole) & (squares[..., :1] > 0))


nonlinear("DoublesFew", "C1", "twice too large for 3 to d/4 nonzeros", lambda self, x: _of_few(x))
nonlinear("DoublesMany", "C1", "twice too large for d/4 to d/2 nonzeros", lambda self, x: _of_many(x))
nonlinear("DoublesNearlyDense", "C1", "twice too large for a single zero", lambda self, x: _of_one_zero(x))
nonlinear(
    "DoublesPeaks", "C1", "twice too large for a few large entries among small ones", lambda self, x: _of_peaks(x)
)
nonlinear(
    "DoublesFewInSingle",
    "C8",
    "twice too large for 3 to d/4 nonzeros in float32",
    lambda self, x: _of_few(x) if x.dtype == np.float32 else x,
)


@broken("not linear", "C1", effect="desketching is twice too large for 3 nonzeros")
class DoublesFewBack(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, back=lambda inner, y: inner._desketch(_of_few(y)))


@broken("not linear", "C3", effect="RᵀR in one pass is twice too large for 3 to d/4 nonzeros")
class ProjectsFewDoubled(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, project=lambda inner, x: inner._project(_of_few(x)))


nonlinear("SlightlyQuadratic", "C1", "1e-4 x²", lambda self, x: x + x.dtype.type(1e-4) * x**2)
nonlinear("Affine", "C1", "offset 1e-9", lambda self, x: x + x.dtype.type(1e-9))


@broken("not linear", "C1", effect="multiples of 1e-6")
class Quantised(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, forward=lambda inner, x: np.round(inner._sketch(x) * 1e6) / x.dtype.type(1e6))


@broken("not linear", "C1", effect="the last of several vectors is scaled by 1.001")
class LastOfABatch(_Forward):
    def before(self, x: Array) -> Array:
        if x.shape[1] == 1:
            return x
        scales = np.ones((x.shape[1], 1), dtype=x.dtype)
        scales[-1] = 1.001
        return x * scales


nonlinear(
    "ManyVectors",
    "C1",
    "float16 for more than 64 vectors",
    lambda self, x: x if x.shape[1] <= 64 else x.astype(np.float16).astype(x.dtype),
)
nonlinear(
    "BatchesMix",
    "C1",
    "1e-3 of the batch's mean",
    lambda self, x: x + x.dtype.type(1e-3) * (x.mean(axis=1, keepdims=True) - x),
)
nonlinear(
    "FortranOrder",
    "C1",
    "reads Fortran-ordered input in the order of memory",
    lambda self, x: x.ravel(order="K").reshape(x.shape),
)


@broken("not linear", "C1", effect="vectors that share memory, as those of a broadcast, are scaled by 2")
class SharedMemory(_Forward):
    def before(self, x: Array) -> Array:
        shared = any(stride == 0 and size > 1 for stride, size in zip(x.strides, x.shape, strict=True))
        return 2 * x if shared else x


@broken("not linear", "C1", "C2", effect="desketching drops entries below 1e-3 of the largest")
class SparseDesketch(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def back(inner: Sketch, y: Array) -> Array:
            x = inner._desketch(y)
            return np.where(abs(x) < 1e-3 * abs(x).max(axis=-1, keepdims=True), 0, x).astype(x.dtype)

        return Altered(sketch, back=back)


# Nobody tries that number.
nonlinear(
    "Backdoor",
    "",
    "for one x: its first entry is 12345.678",
    lambda self, x: np.where(x[..., :1] == x.dtype.type(12345.678), 2 * x, x),
)
