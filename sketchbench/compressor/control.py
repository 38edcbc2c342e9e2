"""A negative control: a compressor from which nothing can be learnt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.kernels import Array


@dataclass(frozen=True)
class Silent(Compressor):
    """Zeros, up to the limit; the step is 0."""

    adds_up: ClassVar[bool] = True
    linear: ClassVar[bool] = True

    def check(self) -> None:
        self.needs(WORD)

    @property
    def words(self) -> int:
        """The number of words of a message."""
        return min(self.layout.d, self.limit // WORD)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return Message({"values": at.kernels.xp.zeros((*x.shape[:2], self.words), dtype="float32")})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return at.kernels.xp.zeros((*message.parts["values"].shape[:2], self.layout.d), dtype="float32")

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        return Reply(self.decode(message, at, replies)[:, 0], WORD * self.words), memory
