"""Broken where a contract of few sizes, supports, units, batches, calls and keys doesn't look."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from building import Altered, Array, Signed
from honest_structured import _hadamard
from specimen import broken, variants

from sketchbench.sketch.draws import ROWS, SIGNS, Draws
from sketchbench.sketch.operator import Sketch
from sketchbench.theory import norm, second_moment
from sketchbench.theory.known import Known


class _Cut(Signed):
    """Some entries of the matrix are lost, or others than they should be."""

    def cut(self, matrix: Array) -> Array:
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return self.cut(super().matrix(draws))


def _without(matrix: Array, axis: int, lost: bool) -> Array:
    """The matrices without the last row (axis 1) or column (axis 2)."""
    if lost:
        np.moveaxis(matrix, axis, 0)[-1] = 0
    return matrix


def _prime(number: int) -> bool:
    return number > 1 and all(number % part for part in range(2, int(number**0.5) + 1))


at_sizes = variants(_Cut, "cut", "some sizes")
at_sizes(
    "OddRows",
    "S1-sizes",
    "the last row is lost for odd b >= 5",
    lambda self, m: _without(m, 1, self.b > 4 and self.b % 2),
)
at_sizes(
    "PrimeColumns",
    "S1-sizes",
    "the last column is lost for prime d > 7",
    lambda self, m: _without(m, 2, self.d > 7 and _prime(self.d)),
)
at_sizes("TallTooLong", "S1-sizes", "5 % too long for b > d", lambda self, m: m * (1.05 if self.b > self.d else 1))
at_sizes(
    "LosesAfterPower",
    "S1-sizes",
    "the last column is lost for d = 65 and 129",
    lambda self, m: _without(m, 2, self.d in (65, 129)),
)

beyond = variants(_Cut, "cut", "many coordinates")
beyond("ColumnsBy16Bits", "C10", "column j is column j mod 65,536", lambda self, m: m[..., np.arange(self.d) % 2**16])
beyond("RowsBy16Bits", "C10", "row i is row i mod 65,536", lambda self, m: m[:, np.arange(self.b) % 2**16])
beyond("LostBeyondAMillion", "C10", "columns from 2^20 on are 0", lambda self, m: m * (np.arange(self.d) < 2**20))
beyond("HalfPrecisionPlaces", "C10", "columns are numbered in float16", lambda self, m: m[..., _in_half(self.d)])


def _in_half(d: int) -> Array:
    """Numbers below d, rounded to 11 bits from 2^15 on."""
    at = np.arange(d)
    return np.where(at < 2**15, at, at // 32 * 32)


class _Before(Signed):
    """Something is done to x before it is sketched."""

    def before(self, x: Array) -> Array:
        raise NotImplementedError

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, forward=lambda inner, x: inner._sketch(self.before(x)))


def _doubled(x: Array, chosen: Array) -> Array:
    return np.where(chosen[..., None], 2 * x, x)


def _window(x: Array) -> Array:
    """Whether the nonzeros of x are 7 or more neighbours of many."""
    count, edges = (x != 0).sum(axis=-1), (np.diff(x != 0, axis=-1) != 0).sum(axis=-1)
    return (count >= 7) & (count < x.shape[-1] - 7) & (edges <= 2)


supports = variants(_Before, "before", "supports and units")
supports(
    "MiddleSupports",
    "C1",
    "13 to 24 nonzeros of 200 and more come out twice as long",
    lambda self, x: _doubled(x, (abs((x != 0).sum(axis=-1) - 18.5) < 6) & (x.shape[-1] >= 200)),
)
supports(
    "NeighboursDoubled",
    "C1",
    "7 or more neighbouring nonzeros come out twice as long",
    lambda self, x: _doubled(x, _window(x)),
)
supports(
    "SubnormalIsZero",
    "C1",
    "below 2.2e-308",
    lambda self, x: np.where(abs(x) < np.finfo(x.dtype).tiny, 0, x).astype(x.dtype),
)
supports(
    "ClipsAt1e200",
    "C1",
    "beyond |x| > 1e200",
    lambda self, x: x if x.dtype == np.float32 else np.clip(x, -1e200, 1e200),
)
supports(
    "ClipsSingleAt1e30",
    "C8",
    "beyond |x| > 1e30 in float32",
    lambda self, x: np.clip(x, -1e30, 1e30) if x.dtype == np.float32 else x,
)
supports(
    "LongVectors",
    "C1",
    "1e-6 too long for ‖x‖ > 1e9",
    lambda self, x: np.where((x**2).sum(-1, keepdims=True) > 1e18, x * x.dtype.type(1 + 1e-6), x),
)


def _in_half_precision(x: Array) -> Array:
    return x.astype(np.float16).astype(x.dtype)


batches = variants(_Before, "before", "batches")
batches(
    "HalfFrom128",
    "C8",
    "float32 batches of 128 vectors and more are computed in float16",
    lambda self, x: (
        _in_half_precision(x * x.dtype.type(1.001)) / x.dtype.type(1.001)
        if x.dtype == np.float32 and x.shape[1] >= 128
        else x
    ),
)
batches(
    "BlocksOf1000",
    "C1",
    "in batches of more than 1,000 vectors, those of the last block count twice",
    lambda self, x: (
        x * np.where(np.arange(x.shape[1]) >= max(1000, x.shape[1] // 1000 * 1000), 2, 1).astype(x.dtype)[:, None]
    ),
)
batches(
    "BatchesOf257", "C1", "a batch of 257 vectors is reversed", lambda self, x: x[:, ::-1] if x.shape[1] == 257 else x
)


@broken("batches", "C4", effect="the last operator of an odd stack of more than 128 is 0")
class OddStacks(Signed):
    def matrix(self, draws: Draws) -> Array:
        odd = draws.operators > 128 and draws.operators % 2
        return super().matrix(draws) * (np.arange(draws.operators) < draws.operators - odd)[:, None, None]


class _WithMemory(Signed):
    """Every operator has a memory of its own, a dictionary, that its sketches see."""

    def remembered(self, inner: Sketch, x: Array, memory: dict[Any, Any]) -> Array:
        raise NotImplementedError

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        memory: dict[Any, Any] = {}
        return Altered(sketch, forward=lambda inner, x: self.remembered(inner, x, memory))


def _by_address(inner: Sketch, x: Array, memory: dict[Any, Any]) -> Array:
    """The last result, for an array of the same kind at the same address that is kept alive."""
    place = (x.__array_interface__["data"][0], x.shape, x.dtype)
    if memory.get("place") != place:
        memory.update(place=place, alive=x, result=inner._sketch(x))
    return memory["result"].copy()


def _hundredth(inner: Sketch, x: Array, memory: dict[Any, Any]) -> Array:
    memory["calls"] = memory.get("calls", 0) + 1
    return inner._sketch(x) * x.dtype.type(1 + (memory["calls"] % 25 == 0))


def _after_single(inner: Sketch, x: Array, memory: dict[Any, Any]) -> Array:
    """In float64, the first call after one in float32 is rounded to float32."""
    last, memory["last"] = memory.get("last", x.dtype), x.dtype
    result = inner._sketch(x)
    return (
        result.astype(np.float32).astype(x.dtype) / x.dtype.type(3) * x.dtype.type(3 + 1e-6)
        if last != x.dtype
        else result
    )


calls = variants(_WithMemory, "remembered", "earlier calls")
calls(
    "ByAddress", "C11", "an array that was changed in place has its old sketch", lambda self, *call: _by_address(*call)
)
calls("TwentyFifthCall", "C11 C1", "every 25th sketch of an operator is doubled", lambda self, *call: _hundredth(*call))
calls("AfterSingle", "C11 C1", "rounded after a call in float32", lambda self, *call: _after_single(*call))
calls(
    "HidesInfinity",
    "C11",
    "infinite entries are taken for the largest number",
    lambda self, inner, x, memory: inner._sketch(np.nan_to_num(x, nan=np.nan)),
)
calls(
    "SpoilsTheBatch",
    "C11",
    "NaN in one vector spoils all vectors of its batch",
    lambda self, inner, x, memory: inner._sketch(x) + (0 * x.sum()).astype(x.dtype),
)


class _SelectsOthers(Altered):
    def _select(self, mask: Array) -> Sketch:
        return super()._select(np.roll(mask, 1))


class _ForgetsTerms(Altered):
    def sketch_sparse(self, *terms: tuple[Array, Array]) -> Array:
        return super().sketch_sparse(*terms[:2])


class _PicklesItsKey(Altered):
    def __reduce__(self) -> Any:
        draw, (family, key, *others) = super().__reduce__()
        return draw, (family, key & 2**63 - 1 ^ 1, *others)


class _EqualToAll(Altered):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketch)

    def __hash__(self) -> int:
        return 0


class _FormsInSingle(Altered):
    def materialize(self, dtype: Any = np.float64) -> Array:
        return super().materialize().astype(dtype) * (1 if dtype == np.float64 else 1.001)


offers = variants(Signed, "alter", "beside the operator")
offers("SelectsOthers", "C3", "`select` takes the next operators", lambda self, sketch, draws: _SelectsOthers(sketch))
offers(
    "ForgetsTerms", "C3", "`sketch_sparse` drops all vectors but two", lambda self, sketch, draws: _ForgetsTerms(sketch)
)
offers("PicklesItsKey", "C4", "a pickled operator has another key", lambda self, sketch, draws: _PicklesItsKey(sketch))
offers("EqualToAll", "C4", "operators of all keys are equal", lambda self, sketch, draws: _EqualToAll(sketch))
offers(
    "FormsInSingle",
    "C2",
    "`materialize` is 0.1 % too large in float32",
    lambda self, sketch, draws: _FormsInSingle(sketch),
)


class _OfAnotherKey(Signed):
    """Related keys have the same operators."""

    def another(self, key: int) -> int:
        raise NotImplementedError

    def _draw(self, draws: Draws) -> Sketch:
        return super()._draw(replace(draws, key=self.another(draws.key)))


def _reversed(key: int) -> int:
    return int(f"{key:064b}"[::-1], 2)


def _rotations(key: int) -> list[int]:
    return [(key >> step | key << 64 - step) & 2**64 - 1 for step in range(0, 64, 16)]


def _swapped(key: int) -> int:
    """The key with its lowest two bytes in ascending order."""
    low, high = sorted((key & 255, key >> 8 & 255))
    return key >> 16 << 16 | high << 8 | low


related = variants(_OfAnotherKey, "another", "related keys")
related("ReversedKeys", "C5 C7", "a key and its bits in reversed order", lambda self, key: min(key, _reversed(key)))
related("RotatedKeys", "C5 C7", "a key and its rotation by 16 bits", lambda self, key: min(_rotations(key)))
related("SwappedBytes", "C7", "a key and the key with its last two bytes swapped", lambda self, key: _swapped(key))
related("NegatedKeys", "C5 C7", "a key and its negative", lambda self, key: min(key, -key % 2**64))
related(
    "BytesXored",
    "C7",
    "two bytes of the key count by their exclusive or",
    lambda self, key: (key ^ (key >> 40 & 255)) & ~(255 << 40),
)


@broken(
    "second moment",
    "S2x",
    effect="the first row is never drawn, of rows with repeats",
    known=Known(
        2, partial(second_moment.sampled_hadamard, replacement=True), partial(norm.sampled_hadamard, replacement=True)
    ),
)
class RowNeverDrawn(Signed):
    def matrix(self, draws: Draws) -> Array:
        n = 1 << (self.d - 1).bit_length()
        rows = draws.integers(ROWS, self.b, max(1, n - 1)) + (n > 1)
        return _hadamard(n)[rows][..., : self.d] * draws.signs(SIGNS, self.d)[:, None] * self.b**-0.5
