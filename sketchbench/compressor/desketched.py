"""Sketches of updates, which the server maps back by the transpose of the operator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sketchbench.compressor.compressor import At, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.compressor.operators import SketchedUpdate
from sketchbench.kernels import Array


@dataclass(frozen=True)
class Desketched(SketchedUpdate):
    """Rx, from which the server makes RᵀRx, with an operator R of `family` that is drawn anew in every round (song2023
    Algorithm 1). The server sends the mean sketch back. Unbiased for every family with E[RᵀR] = I."""

    unbiased: ClassVar[bool] = True

    def _key(self, at: At) -> int:
        return at.key("desketched")

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return self.operators(at).desketch(message.parts["cells"], check_finite=False)

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        return Reply(self.decode(message.mean(), at, replies)[:, 0], WORD * self.sketch_family.b), memory
