"""Broken: precision, data types and shapes."""

import numpy as np
from building import Altered, Array, Signed
from specimen import NORMAL, broken, variants

from sketchbench.sketch.draws import ENTRIES, Draws
from sketchbench.sketch.operator import Sketch


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
