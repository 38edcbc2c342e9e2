"""Sketches of updates, which the server maps back by the transpose."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.compressor.operators import MakeFamily, fit_family, on_cpu, stack
from sketchbench.kernels import Array
from sketchbench.model import autograd
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class Desketched(Compressor):
    """Rx, of which the server makes RᵀRx, by an operator R that is drawn anew in every round (song2023 Algorithm 1).
    The server sends the mean sketch back. Unbiased for every family with E[RᵀR] = I.

    Arguments:
        family: of R; it has as many rows as words may be sent, or the next smaller number that the family takes.
    """

    adds_up: ClassVar[bool] = True
    keyed: ClassVar[bool] = True
    unbiased: ClassVar[bool] = True

    family: MakeFamily

    def check(self) -> None:
        self.needs(WORD)
        self.needs(WORD * self.sketch_family.b)

    @functools.cached_property
    def sketch_family(self) -> Family:
        """The family at its size."""
        return fit_family(self.family, self.layout.d, self.limit // WORD)

    def operators(self, at: At) -> Sketch:
        """Those of a round."""
        return stack(self.sketch_family, at.key("desketched"), at)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return Message({"cells": self.operators(at).sketch(x, check_finite=False)})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return self.operators(at).desketch(message.parts["cells"], check_finite=False)

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        return Reply(self.decode(message.mean(), at, replies)[:, 0], WORD * self.sketch_family.b), memory

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        operators = self.operators(on_cpu(at))
        cells = torch.as_tensor(at.kernels.to_numpy(message.parts["cells"][:, 0]))
        return cells, lambda x: autograd.sketch(operators, x)
