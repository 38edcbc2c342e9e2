"""Broken: arguments are changed, results are kept, and vectors of zeros are no vectors."""

from typing import Any

import numpy as np
from building import Altered, Array, Signed
from specimen import NEVER, broken

from sketchbench.sketch.draws import Draws
from sketchbench.sketch.operator import Sketch


@broken("changes its argument", "C1", effect="x is scaled in place")
class ScalesInPlace(Signed):
    def matrix(self, draws: Draws) -> Array:
        return np.sign(super().matrix(draws))

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        scale = self.b**-0.5

        def forward(inner: Sketch, x: Array) -> Array:
            if x.flags.writeable:
                x *= x.dtype.type(scale)
                return inner._sketch(x)
            return inner._sketch(x * x.dtype.type(scale))

        return Altered(sketch, forward=forward, back=lambda inner, y: inner._desketch(y * y.dtype.type(scale)))


@broken("changes its argument", "C1", effect="y is zeroed after desketching")
class ZeroesSketch(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def back(inner: Sketch, y: Array) -> Array:
            x = inner._desketch(y)
            if y.flags.writeable:
                y[:] = 0
            return x

        return Altered(sketch, back=back)


@broken("keeps state", "C1", "C4", effect="every second call is scaled by 1.01")
class EverySecondCall(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        calls = [0]

        def forward(inner: Sketch, x: Array) -> Array:
            calls[0] += 1
            return inner._sketch(x) * x.dtype.type(1.01 if calls[0] % 2 == 0 else 1)

        return Altered(sketch, forward=forward)


@broken("keeps state", "C1", "C4", effect="the result of the last call is overwritten")
class OneBuffer(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        buffers: dict[Any, Array] = {}

        def back(inner: Sketch, y: Array) -> Array:
            x = inner._desketch(y)
            kept = buffers.setdefault((x.shape, x.dtype), np.empty_like(x))
            kept[:] = x
            return kept

        return Altered(sketch, back=back)


@broken("keeps state", "C1", effect="remembered by the first entry and the shape")
class RemembersByFirstEntry(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        memory: dict[Any, Array] = {}

        def forward(inner: Sketch, x: Array) -> Array:
            place = (x.shape, x.dtype, float(x.flat[0]))
            if place not in memory:
                memory[place] = inner._sketch(x)
            return memory[place].copy()

        return Altered(sketch, forward=forward)


@broken("keeps state", "C1", effect="remembered by id(x)")
class RemembersById(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        memory: dict[Any, Array] = {}

        def forward(inner: Sketch, x: Array) -> Array:
            base = x if x.base is None else x.base
            place = (id(base), x.shape, x.dtype)
            if place not in memory:
                memory[place] = inner._sketch(x)
            return memory[place].copy()

        return Altered(sketch, forward=forward)


@broken("keeps state", *NEVER, effect="wrong from the thousandth call of one operator")
class WearsOut(Signed):
    """Nothing calls one operator so often in a check."""

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        calls = [0]

        def forward(inner: Sketch, x: Array) -> Array:
            calls[0] += 1
            return inner._sketch(x) * x.dtype.type(1 if calls[0] < 1000 else 2)

        return Altered(sketch, forward=forward)


@broken("not finite", "C1", "C4", effect="0/0 for a vector of zeros")
class DividesByNorm(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def forward(inner: Sketch, x: Array) -> Array:
            norm = np.sqrt((x**2).sum(axis=-1, keepdims=True))
            with np.errstate(invalid="ignore"):
                return inner._sketch(x / norm) * norm

        return Altered(sketch, forward=forward)
