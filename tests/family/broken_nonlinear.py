"""Broken: what is done to a vector is not linear, or depends on the other vectors of a batch."""

from dataclasses import dataclass

import numpy as np
from building import Altered, Array, Signed
from specimen import NEVER, broken

from sketchbench.sketch.draws import Draws
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class _Forward(Signed):
    """Something is done to x before it is sketched."""

    def before(self, x: Array) -> Array:
        raise NotImplementedError

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, forward=lambda inner, x: inner._sketch(self.before(x)))


@broken("not linear", "C1", effect="beyond |x| > 100")
@dataclass(frozen=True)
class ClipsAt100(_Forward):
    def before(self, x: Array) -> Array:
        return np.clip(x, -100, 100)


@broken("not linear", "C1", effect="beyond |x| > 1e6")
@dataclass(frozen=True)
class ClipsAtAMillion(_Forward):
    def before(self, x: Array) -> Array:
        return np.clip(x, -1e6, 1e6)


@broken("not linear", "C1", effect="below |x| < 1e-8")
@dataclass(frozen=True)
class FlushesSmall(_Forward):
    def before(self, x: Array) -> Array:
        return np.where(abs(x) < 1e-8, 0, x).astype(x.dtype)


@broken("not linear", "C1", effect="1e-3 ‖x‖ at exact zeros")
@dataclass(frozen=True)
class FillsZeros(_Forward):
    def before(self, x: Array) -> Array:
        norm = np.sqrt((x**2).mean(axis=-1, keepdims=True))
        return np.where(x == 0, x.dtype.type(1e-3) * norm, x)


@broken("not linear", "C1", effect="1 % for x without a negative entry")
@dataclass(frozen=True)
class FavoursPositive(_Forward):
    def before(self, x: Array) -> Array:
        positive = (x >= 0).all(axis=-1, keepdims=True)
        return np.where(positive, x * x.dtype.type(1.01), x)


@broken("not linear", "C1", effect="a spike is doubled")
@dataclass(frozen=True)
class DoublesSpikes(_Forward):
    """A fast path for one-hot vectors."""

    def before(self, x: Array) -> Array:
        spike = (x != 0).sum(axis=-1, keepdims=True) == 1
        return np.where(spike & (x.shape[-1] > 1), 2 * x, x)


@broken("not linear", "C1", effect="1e-4 x²")
@dataclass(frozen=True)
class SlightlyQuadratic(_Forward):
    def before(self, x: Array) -> Array:
        return x + x.dtype.type(1e-4) * x**2


@broken("not linear", "C1", effect="offset 1e-9")
@dataclass(frozen=True)
class Affine(_Forward):
    def before(self, x: Array) -> Array:
        return x + x.dtype.type(1e-9)


@broken("not linear", "C1", effect="multiples of 1e-6")
@dataclass(frozen=True)
class Quantised(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, forward=lambda inner, x: np.round(inner._sketch(x) * 1e6) / x.dtype.type(1e6))


@broken("not linear", "C1", effect="the last of several vectors is scaled by 1.001")
@dataclass(frozen=True)
class LastOfABatch(_Forward):
    def before(self, x: Array) -> Array:
        if x.shape[1] == 1:
            return x
        scales = np.ones((x.shape[1], 1), dtype=x.dtype)
        scales[-1] = 1.001
        return x * scales


@broken("not linear", "C1", effect="float16 for more than 64 vectors")
@dataclass(frozen=True)
class ManyVectors(_Forward):
    def before(self, x: Array) -> Array:
        return x if x.shape[1] <= 64 else x.astype(np.float16).astype(x.dtype)


@broken("not linear", "C1", effect="1e-3 of the batch's mean")
@dataclass(frozen=True)
class BatchesMix(_Forward):
    def before(self, x: Array) -> Array:
        return x + x.dtype.type(1e-3) * (x.mean(axis=1, keepdims=True) - x)


@broken("not linear", "C1", effect="reads Fortran-ordered input in the order of memory")
@dataclass(frozen=True)
class FortranOrder(_Forward):
    def before(self, x: Array) -> Array:
        return x.ravel(order="K").reshape(x.shape)


@broken("not linear", "C1", effect="vectors that share memory, as those of a broadcast, are scaled by 2")
@dataclass(frozen=True)
class SharedMemory(_Forward):
    def before(self, x: Array) -> Array:
        shared = any(stride == 0 and size > 1 for stride, size in zip(x.strides, x.shape, strict=True))
        return 2 * x if shared else x


@broken("not linear", "C1", "C2", effect="desketching drops entries below 1e-3 of the largest")
@dataclass(frozen=True)
class SparseDesketch(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def back(inner: Sketch, y: Array) -> Array:
            x = inner._desketch(y)
            return np.where(abs(x) < 1e-3 * abs(x).max(axis=-1, keepdims=True), 0, x).astype(x.dtype)

        return Altered(sketch, back=back)


@broken("not linear", *NEVER, effect="for one x: its first entry is 12345.678")
@dataclass(frozen=True)
class Backdoor(_Forward):
    """Nobody tries that number."""

    def before(self, x: Array) -> Array:
        return np.where(x[..., :1] == x.dtype.type(12345.678), 2 * x, x)
