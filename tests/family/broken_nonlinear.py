"""Broken: what is done to a vector is not linear, or depends on the other vectors of a batch."""

from dataclasses import replace
from typing import Any

import numpy as np
from building import Altered, Array, Signed, chosen, dense, numbers
from specimen import NORMAL, broken, variants

from sketchbench.sketch.draws import ENTRIES, Draws
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


# Broken: precision, data types and shapes


class _Both(Signed):
    """Something is done to what both directions return."""

    def after(self, x: Array) -> Array:
        raise NotImplementedError

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(
            sketch,
            forward=lambda inner, x: self.after(inner._sketch(x)),
            back=lambda inner, y: self.after(inner._desketch(y)),
        )


imprecise = variants(_Both, "after", "precision")
of_another_type = variants(_Both, "after", "data type")
imprecise(
    "HalfPrecision",
    "C8 C1 C2",
    "float16 in the place of float32",
    lambda self, x: x.astype(np.float16).astype(np.float32) if x.dtype == np.float32 else x,
)


@broken("precision", "C8", "C1", "C2", effect="float32 to 12 bits of 24")
class TwelveBits(_Both):
    def after(self, x: Array) -> Array:
        if x.dtype != np.float32:
            return x
        return (x.view(np.int32) & ~0xFFF).view(np.float32)


imprecise(
    "SingleForDouble", "C1 C2 C8", "float64 computed in float32", lambda self, x: x.astype(np.float32).astype(x.dtype)
)
of_another_type("DoubleForSingle", "C4 C8", "float64 for float32", lambda self, x: x.astype(np.float64))
of_another_type("AlwaysSingle", "C4 C8", "float32 for float64", lambda self, x: x.astype(np.float32))
of_another_type("Complex", "C4 C8", "complex numbers with imaginary part 0", lambda self, x: x + 0j)


@broken("precision", "C8", effect="float32: another operator", known=NORMAL)
class OtherOperatorInSingle(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def forward(inner: Sketch, x: Array) -> Array:
            return inner._sketch(-x) if x.dtype == np.float32 else inner._sketch(x)

        def back(inner: Sketch, y: Array) -> Array:
            return inner._desketch(-y) if y.dtype == np.float32 else inner._desketch(y)

        return Altered(sketch, forward=forward, back=back)

    def matrix(self, draws: Draws) -> Array:
        return draws.gaussian_rows(ENTRIES, 0, self.b, self.d) * self.b**-0.5


imprecise(
    "ScaledInSingle",
    "C8",
    "float32 by 1.001 in both directions",
    lambda self, x: x * np.float32(1.001) if x.dtype == np.float32 else x,
)
imprecise(
    "SmallRangeInSingle",
    "C8 C1",
    "float32 ends at 65,504, as float16 does",
    lambda self, x: np.clip(x, -65504, 65504) if x.dtype == np.float32 else x,
)
imprecise("Cancellation", "C1 C2", "cancellation: (Rx + 1e6) - 1e6", lambda self, x: (x + 1e6) - 1e6)


@broken("shape", "C4", "C1", effect="vectors and operators exchanged in a batch")
class AxesExchanged(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def forward(inner: Sketch, x: Array) -> Array:
            y = inner._sketch(x)
            return y.swapaxes(0, 1).reshape(y.shape)

        return Altered(sketch, forward=forward)


@broken("shape", "C4", "C1", effect="vectors in reverse order")
class ReverseBatch(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, forward=lambda inner, x: inner._sketch(x)[:, ::-1])


@broken("shape", "error", effect="a row too many, zero")
class RowTooMany(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def forward(inner: Sketch, x: Array) -> Array:
            y = inner._sketch(x)
            return np.concatenate([y, np.zeros_like(y[..., :1])], axis=-1)

        return Altered(sketch, forward=forward)


# Broken: desketching is not the transpose of sketching, or a shortcut is another map


class _Back(Signed):
    """Something is done to what desketching returns."""

    def after(self, x: Array, draws: Draws) -> Array:
        raise NotImplementedError

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, back=lambda inner, y: self.after(inner._desketch(y), draws))


untransposed = variants(_Back, "after", "no transpose")
untransposed("BackScaledMuch", "C2", "scale 1.001", lambda self, x, draws: x * x.dtype.type(1.001))
untransposed("BackScaled", "C2", "scale 1 + 1e-6", lambda self, x, draws: x * x.dtype.type(1 + 1e-6))
untransposed("BackScaledLittle", "C2", "scale 1 + 1e-11", lambda self, x, draws: x * x.dtype.type(1 + 1e-11))


@broken("no transpose", "C2", effect="two rows exchanged")
class RowsExchanged(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        order = np.roll(np.arange(self.b), self.b // 2)
        return Altered(sketch, back=lambda inner, y: inner._desketch(np.ascontiguousarray(y[..., order])))


@broken("no transpose", "C2", effect="the sign of the last column")
class LastColumnFlipped(_Back):
    def after(self, x: Array, draws: Draws) -> Array:
        x = x.copy()
        x[..., -1] *= -1
        return x


@broken("no transpose", "C2", effect="the pseudo-inverse")
class PseudoInverse(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        inverse = np.linalg.pinv(self.matrix(draws)).swapaxes(-1, -2)
        return Altered(sketch, back=lambda inner, y: y @ inverse.astype(y.dtype))


untransposed(
    "BackRarelyScaled",
    "C2",
    "one operator in 100, scaled by 1.1",
    lambda self, x, draws: x * np.where(chosen(draws, 100), 1.1, 1)[:, None, None].astype(x.dtype),
)
untransposed(
    "BackRarelyZero",
    "C2",
    "one operator in 2,000, zero",
    lambda self, x, draws: x * (numbers(draws) % 2000 != 1234)[:, None, None].astype(x.dtype),
)


@broken("no transpose", "C2", effect="1e-8 relative, where R is rounded to float32")
class BackInSinglePrecision(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        rounded = dense(draws, self.matrix(draws).astype(np.float32).astype(float))
        return Altered(sketch, back=lambda inner, y: rounded._desketch(y))


untransposed(
    "BackWrongInSinglePrecision",
    "C2 C8",
    "1.01 in float32 only",
    lambda self, x, draws: x * x.dtype.type(1.01) if x.dtype == np.float32 else x,
)
untransposed(
    "BackWrongForBatches",
    "C1 C2",
    "1.01 for several vectors, none for one",
    lambda self, x, draws: x if x.shape[1] == 1 else x * x.dtype.type(1.01),
)
untransposed(
    "BackWrongForLarge", "C2", "1.01 for d > 500", lambda self, x, draws: x if self.d <= 500 else x * x.dtype.type(1.01)
)


@broken("no transpose", "C2", effect="another independent operator's transpose")
class OtherOperator(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        other = dense(draws, self.matrix(replace(draws, key=draws.key ^ 1)))
        return Altered(sketch, back=lambda inner, y: other._desketch(y))


class _Materialised(Altered):
    def materialize(self, dtype: Any = np.float64) -> Array:
        return super().materialize(dtype) * 1.01


shortcut = variants(Signed, "alter", "wrong shortcut")
shortcut("MaterializeWrong", "C2", "materialize, by 1 %", lambda self, sketch, draws: _Materialised(sketch))


class _Linear(Altered):
    def as_linear_operator(self, dtype: Any = np.float64) -> Any:
        return super().as_linear_operator(dtype) * 1.01


shortcut("LinearOperatorWrong", "C2", "as_linear_operator, by 1 %", lambda self, sketch, draws: _Linear(sketch))


@broken("wrong shortcut", "C3", effect="project of another operator")
class ProjectsAnother(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        other = dense(draws, self.matrix(replace(draws, key=draws.key ^ 1)))
        return Altered(sketch, project=lambda inner, x: other._project(x))


shortcut(
    "ProjectsToItself",
    "C3",
    "project returns x",
    lambda self, sketch, draws: Altered(
        sketch, project=lambda inner, x: np.repeat(x, draws.operators // len(x), axis=0)
    ),
)
shortcut(
    "ProjectsNearly",
    "C3",
    "project, by 1e-7",
    lambda self, sketch, draws: Altered(sketch, project=lambda inner, x: inner._project(x) * x.dtype.type(1 + 1e-7)),
)


@broken("wrong shortcut", "C3", effect="project, for more than 8 vectors")
class ProjectsFew(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def project(inner: Sketch, x: Array) -> Array:
            result = inner._project(x)
            result[:, 8:] = 0
            return result

        return Altered(sketch, project=project)


class _SparseWrong(Altered):
    def sketch_sparse(self, *terms: tuple[Array, Array]) -> Array:
        return super().sketch_sparse(terms[0])


shortcut(
    "SketchesFirstTerm",
    "C3",
    "sketch_sparse takes the first term only",
    lambda self, sketch, draws: _SparseWrong(sketch),
)


class _WorkspaceWrong(Altered):
    def with_workspace(self) -> Sketch:
        return self.altered(forward=lambda inner, x: inner._sketch(x) * x.dtype.type(1.01))


shortcut("WorkspaceWrong", "C3", "with_workspace, by 1 %", lambda self, sketch, draws: _WorkspaceWrong(sketch))


class _PaddedWrong(Altered):
    def padded(self) -> Sketch:
        return self.altered(forward=lambda inner, x: inner._sketch(-x))


shortcut("PaddedWrong", "C3", "padded, of another sign", lambda self, sketch, draws: _PaddedWrong(sketch))
