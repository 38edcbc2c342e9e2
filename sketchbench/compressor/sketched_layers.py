"""Updates of layers that compute with sketches of their inputs (zhang2021)."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.compressor.operators import MakeFamily, fit_family, stack
from sketchbench.kernels import Array
from sketchbench.sketch.family import Family


class LayerPart(NamedTuple):
    """A parameter of `outputs` rows at places start to stop of the update, the name of its part of the message, and the
    family of Sᵀ (s, inputs), which sketches its columns; None for a parameter that is sent uncompressed."""

    name: str
    start: int
    stop: int
    outputs: int
    family: Family | None

    @property
    def words(self) -> int:
        """The number of words of its part of the message."""
        return self.outputs * self.family.b if self.family else self.stop - self.start


@dataclass(frozen=True)
class SketchedLayers(Compressor):
    """Double-blind collaborative learning (zhang2021 §4.2): every layer but the last computes x S Sᵀ Wᵀ with a matrix S
    that is drawn anew in every round, so that its gradient is Γ Sᵀ. Clients send Γ, and the other parameters
    uncompressed; the server sends W S.

    The message is lossless for gradients of such layers (see `projections`), and keeps the part of any other update in
    the row space of Sᵀ. Options I and II of zhang2021 §6.3, two estimates of the weights, change no message or step.

    Arguments:
        family: of Sᵀ. All layers have the same ratio of sketch size s to inputs: the largest that fits the limit.
    """

    adds_up: ClassVar[bool] = True
    linear: ClassVar[bool] = True
    keyed: ClassVar[bool] = True

    family: MakeFamily

    def check(self) -> None:
        smallest = self._divide(0, 1)
        self.needs(WORD * sum(part.words for part in smallest))

    def _divide(self, numerator: int, denominator: int) -> list[LayerPart]:
        """Divide the update into parameters, with sketches of numerator/denominator of the inputs, at least 1."""
        matrices = [number for number, shape in enumerate(self.layout.shapes) if len(shape) > 1]
        parts = []
        for number, table in enumerate(self.layout.tables):
            family = None
            if number in matrices[:-1] and table.n * table.m:
                family = fit_family(self.family, table.m, max(1, table.m * numerator // denominator))
            parts.append(LayerPart(f"parameter{number}", table.start, table.stop, table.n, family))
        return parts

    @functools.cached_property
    def parts(self) -> list[LayerPart]:
        """The parameters, with the largest sketches that fit the limit."""
        most = max(1, *(table.m for table in self.layout.tables))
        for numerator in range(most, -1, -1):
            parts = self._divide(numerator, most)
            if WORD * sum(part.words for part in parts) <= self.limit:
                break
        return parts

    def operators(self, at: At) -> Iterator[tuple[LayerPart, Array | None]]:
        """Each parameter, and its Sᵀ (T, s, inputs), float32, or None if it is sent uncompressed."""
        for part in self.parts:
            if part.family is None:
                yield part, None
                continue
            drawn = stack(part.family, at.key(f"sketched layers {part.name}"), at)
            yield part, drawn.materialize("float32")

    def inverse(self, operator: Array, at: At) -> Array:
        """S (Sᵀ S)⁺ (T, inputs, s), which maps Γ Sᵀ to Γ; computed in float64 on the CPU, as it is small."""
        inverse: NDArray[Any] = np.linalg.pinv(at.kernels.to_numpy(operator).astype(np.float64))
        return at.kernels.asarray(inverse.astype(np.float32))

    def projections(self, at: At) -> list[Array | None]:
        return [None if one is None else one.swapaxes(1, 2) @ one for _, one in self.operators(at)]

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        parts = {}
        for part, operator in self.operators(at):
            entries = x[..., part.start : part.stop]
            if operator is not None:
                rows = entries.reshape(*x.shape[:2], part.outputs, -1)
                entries = (rows @ self.inverse(operator, at)[:, None]).reshape(*x.shape[:2], -1)
            parts[part.name] = entries
        return Message(parts)

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        pieces = []
        for part, operator in self.operators(at):
            sent = message.parts[part.name]
            if operator is not None:
                rows = sent.reshape(*sent.shape[:2], part.outputs, -1) @ operator[:, None]
                sent = rows.reshape(*sent.shape[:2], -1)
            pieces.append(sent)
        return at.kernels.xp.concatenate(pieces, axis=2)

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        step = self.decode(message.mean(), at, replies)[:, 0]
        return Reply(step, WORD * sum(part.words for part in self.parts)), memory
