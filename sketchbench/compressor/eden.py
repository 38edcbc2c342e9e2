"""Random rotation and quantisation to the levels that are best for normal numbers (DRIVE and EDEN)."""

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count
from sketchbench.compressor import lloyd_max
from sketchbench.compressor.compressor import At, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.compressor.quantised import Quantised, in_units
from sketchbench.kernels import Array
from sketchbench.sketch.draws import SIGNS

PIECE = 2**15  # entries that are quantised at a time
FEW = 2  # bits up to which comparing with all levels is faster than a table
SHORTEST = 32  # entries of a block; in shorter ones, rotated entries are far from normal
LEAST = 1000  # entries of a block; shorter ones have a third transform
SHARE = 64  # the last block, which is padded, has at most about one of so many entries of a long update


class RotatedBlock(NamedTuple):
    """Entries of the update, from place start to stop, that are rotated together by transforms of length n, a power of
    two >= stop - start. Rotated entries share the bits of `nbytes` bytes of codes as evenly as they can."""

    start: int
    stop: int
    n: int
    nbytes: int
    rotations: int

    @property
    def parts(self) -> list[tuple[int, int, int]]:
        """The places (start, stop) of rotated entries with equally many bits, and their bits; the first have 1 more."""
        bits, more = divmod(8 * self.nbytes, self.n)
        return [(0, more, bits + 1), (more, self.n, bits)] if more else [(0, self.n, bits)]

    @property
    def kept(self) -> float:
        """The expected share of the squared norm that the codes keep, of a normal vector."""
        return sum((stop - start) * (1 - lloyd_max.distortion(bits)) for start, stop, bits in self.parts) / self.n


@dataclass(frozen=True)
class EDEN(Quantised):
    """EDEN (Vargaftik et al. 2022), which with 1 bit is DRIVE (Vargaftik et al. 2021): a rotation R makes the entries
    of any x nearly normal; each is sent as the number of the nearest Lloyd-Max level c, and the server decodes
    ‖x‖²/⟨Rx, c⟩ Rᵀc, whose component along x is x itself.

    An entry has from 8 bits to a fraction of 1: some rotated entries have a bit more than others. Below 1 bit the other
    entries are not sent and count as 0, which is subsampling. Each client draws its own rotation, and sends its seed,
    so that the errors of different clients average out.

    Unbiased for a uniformly random R (Vargaftik et al. 2022, Theorem 2.1). Here R is Walsh-Hadamard transforms, each
    after random signs. With one, as in the authors' code, sparse updates have a bias: (2, 1, 0, ..., 0) in 1 bit
    becomes (2.5, 0, ..., 0) in all draws. With more, a bias is left if one entry is nearly all of a block: it makes
    some rotated entries exactly 0, and the small entries alone decide which level is nearest to these. Of two
    transforms in 1 bit it is at most the share √(2/πn) of the block's norm, by our measurement. A third divides it by
    about √n/2: 7 % are left of n = 32. Blocks of power-of-two lengths, each with its own scale, avoid padding the
    update. O(d log d).

    Arguments:
        rotations: the number of transforms; None for 2, or 3 of blocks that are shorter than LEAST.
    """

    unbiased: ClassVar[bool] = True

    rotations: Count | None = None

    def check(self) -> None:
        self.needs(WORD + (WORD + 1) * len(self._lengths))

    @functools.cached_property
    def _lengths(self) -> list[int]:
        """Powers of two whose sum is at least d, and hardly more."""
        left, found = self.layout.d, []
        while left > 0:
            last = left < max(SHORTEST, self.layout.d / SHARE)
            found.append(max(SHORTEST, 1 << ((left - 1).bit_length() if last else left.bit_length() - 1)))
            left -= found[-1]
        return found

    @functools.cached_property
    def blocks(self) -> list[RotatedBlock]:
        """The blocks, largest first. Each has at least a byte, and at most 8 bits for an entry."""
        spare = self.limit - WORD - (WORD + 1) * len(self._lengths)
        found, start, n = [], 0, sum(self._lengths)
        for length in self._lengths:
            stop = min(start + length, self.layout.d)
            rotations = self.rotations or 1 + math.ceil(math.log(LEAST, length) - 1e-9)
            found.append(RotatedBlock(start, stop, length, min(length, 1 + spare * length // n), rotations))
            start = stop
        return found

    @property
    def variance(self) -> float:
        """The largest E‖C(x) - x‖² / ‖x‖² over x, as n grows: 1/(1 - D) - 1, with the mean distortion D of a block's
        levels (Vargaftik et al. 2022, Theorem 2.3). All x have it if all blocks have the same bits an entry."""
        return max(1 / block.kept - 1 for block in self.blocks)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        xp = at.kernels.xp
        shape = x.shape[:2]
        seeds = at.private("eden").integers(2**32, size=(*shape, 1), dtype="uint32")
        signs = self._signs(seeds.ravel(), at)
        units, scaled = in_units(x, at)
        flat, scales, codes = scaled.reshape(-1, self.layout.d), [], []
        for block in self.blocks:
            rotated = self._rotate(flat, block, signs, at)
            norm = at.kernels.inner(rotated, rotated)[:, None] ** rotated.dtype.type(0.5)
            along, packed = _quantise(rotated, norm, block, at)
            scales.append(norm * (norm / xp.where(along > 0, along, np.inf)))
            codes.append(packed)
        joined = xp.concatenate(scales, axis=1).reshape(*shape, -1)
        sent = xp.concatenate(codes, axis=1).reshape(*shape, -1)
        return Message({"seed": at.kernels.asarray(seeds), "scales": joined * units, "codes": sent})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        codes, scales, xp = message.parts["codes"], message.parts["scales"], at.kernels.xp
        signs = self._signs(at.kernels.to_numpy(message.parts["seed"]).ravel(), at)
        flat, first = codes.reshape(-1, codes.shape[2]), 0
        x = xp.empty((len(flat), self.layout.d), dtype="float32")
        for number, block in enumerate(self.blocks):
            quantised = _restore_levels(flat[:, first : first + block.nbytes], block, at)
            restored = self._restore(quantised, block, signs, at)[:, : block.stop - block.start]
            scale = scales.reshape(len(flat), -1)[:, number, None]
            xp.multiply(restored, scale, out=x[:, block.start : block.stop])
            first += block.nbytes
        return x.reshape(*codes.shape[:2], -1)

    def _signs(self, seeds: Array, at: At) -> Array:
        """The random signs of each message's rotation, int8 (M, rotations, entries of all blocks)."""
        xp, words = at.kernels.xp, sum(self._lengths) // 32
        most = max(block.rotations for block in self.blocks)
        drawn = [at.kernels.random_words(int(seed), SIGNS, 0, 1, most * words) for seed in seeds]
        bits = xp.unpackbits(xp.concatenate(drawn).view("uint8").ravel()).view("int8")
        return (2 * bits - xp.int8(1)).reshape(len(seeds), most, -1)

    def _rotate(self, x: Array, block: RotatedBlock, signs: Array, at: At) -> Array:
        """The rotated entries of a block, (M, n), of updates (M, d)."""
        entries, first = block.stop - block.start, block.start
        rotated = at.kernels.empty((len(x), block.n), "float32")
        rotated[:, entries:] = 0
        at.kernels.xp.multiply(x[:, first : block.stop], signs[:, 0, first : block.stop], out=rotated[:, :entries])
        for number in range(1, block.rotations):
            rotated = at.kernels.walsh_hadamard(rotated)
            rotated *= signs[:, number, first : first + block.n]
        return at.kernels.walsh_hadamard(rotated)

    def _restore(self, rotated: Array, block: RotatedBlock, signs: Array, at: At) -> Array:
        """The inverse of `_rotate`, of (M, n), which it overwrites."""
        for number in reversed(range(block.rotations)):
            rotated = at.kernels.walsh_hadamard(rotated)
            rotated *= signs[:, number, block.start : block.start + block.n]
        return rotated


def _quantise(rotated: Array, norm: Array, block: RotatedBlock, at: At) -> tuple[Array, Array]:
    """The inner products (M, 1) of rotated entries (M, n) and the levels nearest to them, once normalised, and the
    numbers of these levels, packed into bytes (M, nbytes)."""
    xp = at.kernels.xp
    along, codes = xp.zeros_like(norm), xp.empty((len(rotated), block.nbytes), dtype="uint8")
    scale = (block.n**0.5 / xp.where(norm > 0, norm, np.inf)).astype("float32")
    for rows, entries, planes in _pieces(len(rotated), block):
        if not planes:
            continue
        normal = rotated[rows, entries] * scale[rows]
        numbers = _nearest(normal, len(planes), at)
        if len(planes) == 1:  # the level has the sign of the entry
            products = xp.multiply(xp.abs(rotated[rows, entries], out=normal), _levels(1)[1], out=normal)
        else:
            nearest = at.kernels.asarray(_levels(len(planes))).take(numbers)
            products = xp.multiply(nearest, rotated[rows, entries], out=normal)
        along[rows] += products.sum(axis=1, keepdims=True)
        for bit, plane in enumerate(planes):
            digits = numbers >> xp.uint8(bit) & xp.uint8(1)
            codes[rows, plane] = xp.packbits(digits, bitorder="little").reshape(len(digits), -1)
    return along, codes


def _restore_levels(codes: Array, block: RotatedBlock, at: At) -> Array:
    """The levels (M, n) whose numbers `_quantise` packed."""
    xp, quantised = at.kernels.xp, at.kernels.empty((len(codes), block.n), "float32")
    for rows, entries, planes in _pieces(len(codes), block):
        if len(planes) == 1:
            eights = at.kernels.asarray(_eights()).take(codes[rows, planes[0]], axis=0)
            quantised[rows, entries] = eights.reshape(len(eights), -1)
        elif planes:
            numbers = xp.zeros(quantised[rows, entries].shape, dtype="uint8")
            for bit, plane in enumerate(planes):
                digits = xp.unpackbits(codes[rows, plane], bitorder="little").reshape(numbers.shape)
                numbers |= digits << xp.uint8(bit)
            quantised[rows, entries] = at.kernels.asarray(_levels(len(planes))).take(numbers)
        else:
            quantised[rows, entries] = 0
    return quantised


def _pieces(count: int, block: RotatedBlock) -> Iterator[tuple[slice, slice, list[slice]]]:
    """Yield pieces of M messages that fit into a cache: messages, rotated entries with equally many bits, and the bytes
    of their numbers: one bit of each, from the lowest on."""
    first = 0
    for start, stop, bits in block.parts:
        length = stop - start
        for i in range(0, length, PIECE):
            width = min(PIECE, length - i)
            starts = [first + (bit * length + i) // 8 for bit in range(bits)]
            planes = [slice(at, at + width // 8) for at in starts]
            several = PIECE // width
            for row in range(0, count, several):
                yield slice(row, min(row + several, count)), slice(start + i, start + i + width), planes
        first += bits * length // 8


def _nearest(normal: Array, bits: int, at: At) -> Array:
    """The numbers of the levels nearest to entries, which it overwrites, uint8."""
    xp = at.kernels.xp
    if bits > FEW:
        unit, table = lloyd_max.table(bits)
        normal *= xp.float32(unit)
        normal += xp.float32(len(table) // 2)
        return xp.asarray(table).take(xp.clip(normal, 0, len(table) - 1, out=normal).astype("uint16"))
    levels, numbers = _levels(bits), xp.zeros(normal.shape, dtype="uint8")
    for edge in (levels[1:] + levels[:-1]) / 2:
        numbers += (normal >= edge).view("uint8")
    return numbers


@functools.cache
def _levels(bits: int) -> NDArray[np.float32]:
    return lloyd_max.levels(bits).astype(np.float32)


@functools.cache
def _eights() -> NDArray[np.float32]:
    """The eight levels of 1 bit that a byte stands for, (256, 8)."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return _levels(1)[bits]
