"""Uncompressed updates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import Message, Reply
from sketchbench.kernels import Array


@dataclass(frozen=True)
class Plain(Compressor):
    """No compression: a message is the update itself, in float32."""

    adds_up: ClassVar[bool] = True
    linear: ClassVar[bool] = True
    unbiased: ClassVar[bool] = True
    adjustable: ClassVar[bool] = False

    def check(self) -> None:
        self.needs(self.layout.nbytes)

    @property
    def contraction(self) -> float:
        return 1.0

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return Message({"values": x})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return message.parts["values"]
