"""Negative controls of the contract: each family breaks one part of it, which its name says."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sketchbench.kernels import Array
from sketchbench.sketch.ams import AMS
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.scattered import Scattered


class Wrapped(Sketch):
    """The sketch `inner` with other methods: `_sketch=f` makes `_sketch(x)` return f(inner, x)."""

    def __init__(self, inner: Sketch, **replaced: Callable[[Any, Array], Array]) -> None:
        super().__init__(inner.d, inner.b, inner.kernels, inner.operators)
        self._inner = inner
        self._replaced = replaced

    def _apply(self, name: str, vectors: Array) -> Array:
        if name in self._replaced:
            return self._replaced[name](self._inner, vectors)
        return getattr(self._inner, name)(vectors)

    def _sketch(self, x: Array) -> Array:
        return self._apply("_sketch", x)

    def _desketch(self, y: Array) -> Array:
        return self._apply("_desketch", y)

    def _project(self, x: Array) -> Array:
        return self._apply("_project", x)


@dataclass(frozen=True)
class NotLinear(Family):
    """AMS that cuts entries of x at 100."""

    def _draw(self, draws: Draws) -> Sketch:
        inner = AMS(self.d, self.b)._draw(draws)
        return Wrapped(inner, _sketch=lambda inner, x: inner._sketch(draws.kernels.xp.minimum(x, 100)))


@dataclass(frozen=True)
class NotTransposed(Family):
    """AMS whose `desketch` is (1 + 1e-6) Rᵀ."""

    def _draw(self, draws: Draws) -> Sketch:
        inner = AMS(self.d, self.b)._draw(draws)
        return Wrapped(inner, _desketch=lambda inner, y: inner._desketch(y) * (1 + 1e-6))


@dataclass(frozen=True)
class NotProjected(Family):
    """CountSketch whose `project` returns x + 0 RᵀRx."""

    def _draw(self, draws: Draws) -> Sketch:
        def project(inner: Sketch, x: Array) -> Array:
            return x + 0 * inner._project(x)

        return Wrapped(CountSketch(self.d, self.b)._draw(draws), _project=project)


@dataclass(frozen=True)
class OfItsStack(CountSketch):
    """CountSketch whose operators depend on the size of their stack."""

    def _draw(self, draws: Draws) -> Any:
        return super()._draw(dataclasses.replace(draws, key=draws.key ^ draws.operators))


@dataclass(frozen=True)
class HalfTheKey(CountSketch):
    """CountSketch that uses the lower 32 bits of the key only."""

    def _draw(self, draws: Draws) -> Any:
        return super()._draw(dataclasses.replace(draws, key=draws.key & 2**32 - 1))


@dataclass(frozen=True)
class Antithetic(Family):
    """AMS whose operators 2i and 2i + 1 are R and -R."""

    def _draw(self, draws: Draws) -> Sketch:
        xp = draws.kernels.xp
        numbers = xp.arange(draws.first, draws.first + draws.operators)
        base = draws.first // 2
        halves = dataclasses.replace(draws, first=base, operators=int(numbers[-1]) // 2 - base + 1)
        matrices = AMS(self.d, self.b)._draw(halves).materialize()[numbers // 2 - base]
        matrices = matrices * (1 - 2 * (numbers % 2))[:, None, None]
        return Matrices(draws, matrices)


class Matrices(Sketch):
    """A stack of dense matrices (T, b, d)."""

    def __init__(self, draws: Draws, matrices: Array) -> None:
        super().__init__(matrices.shape[-1], matrices.shape[-2], draws.kernels, draws.operators)
        self._matrices = matrices

    def _sketch(self, x: Array) -> Array:
        return x @ self._matrices.swapaxes(-1, -2).astype(x.dtype)

    def _desketch(self, y: Array) -> Array:
        return y @ self._matrices.astype(y.dtype)


@dataclass(frozen=True)
class NextKey(CountSketch):
    """CountSketch with the same operators for neighbouring keys: number t + 1 of a key is number t of the next key."""

    def _draw(self, draws: Draws) -> Any:
        below = draws.key % 2**31
        return super()._draw(dataclasses.replace(draws, key=draws.key - below, first=(below + draws.first) % 2**31))


@dataclass(frozen=True)
class Sloppy(Family):
    """CountSketch that rounds float32 results to float16."""

    def _draw(self, draws: Draws) -> Sketch:
        def sketch(inner: Sketch, x: Array) -> Array:
            y = inner._sketch(x)
            return y if y.dtype == "float64" else (y / 2**20).astype("float16").astype("float32") * 2**20

        return Wrapped(CountSketch(self.d, self.b)._draw(draws), _sketch=sketch)


@dataclass(frozen=True)
class OddColumn(Family):
    """CountSketch with a last column of zeros if d is odd."""

    def _draw(self, draws: Draws) -> Sketch:
        matrices = CountSketch(self.d, self.b)._draw(draws).materialize()
        if self.d % 2:
            matrices[..., -1] = 0
        return Matrices(draws, matrices)


@dataclass(frozen=True)
class SixteenBits(Family):
    """CountSketch that numbers its columns by 16 bits: column j is column j mod 2^16."""

    def _draw(self, draws: Draws) -> Sketch:
        xp, places = draws.kernels.xp, draws.kernels.xp.arange(self.d) % 2**16
        inner = CountSketch(min(self.d, 2**16), self.b)._draw(draws)._matrix
        buckets, signs = (xp.ascontiguousarray(part[..., places]) for part in (inner.buckets, inner.signs))
        return Scattered(draws.kernels, self.b, buckets, signs)


@dataclass(frozen=True)
class HidesNaN(Family):
    """AMS that takes 0 for an entry that is NaN."""

    def _draw(self, draws: Draws) -> Sketch:
        def sketch(inner: Sketch, x: Array) -> Array:
            return inner._sketch(draws.kernels.xp.where(x == x, x, 0).astype(x.dtype))  # noqa: PLR0124 (NaN)

        return Wrapped(AMS(self.d, self.b)._draw(draws), _sketch=sketch)
