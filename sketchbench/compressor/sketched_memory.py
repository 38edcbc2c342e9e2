"""Sketches of updates, of which the server finds a sparse step and remembers the rest."""

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, NamedTuple

import torch
from torch import Tensor

from sketchbench.compressor.compressor import At, Compressor, Feedback, Memory
from sketchbench.compressor.message import WORD, Message, Reply, sparse_nbytes
from sketchbench.compressor.operators import MakeFamily, fit_family, on_cpu, singles, stack
from sketchbench.kernels import Array, Kernels
from sketchbench.model import autograd
from sketchbench.parameters import Range, Share
from sketchbench.recovery.recovery import MakeRecovery, best
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.scattered import Scattered

LARGEST = 1e12  # a trial with measurements beyond it has diverged: their squares would leave float32 soon
Momentum = Annotated[float, Range(0, 1, open_high=True)]


@dataclass(frozen=True)
class SketchedMemory(Compressor):
    """What both have in common: one operator for each trial in all rounds, and steps of few entries, which the server
    sends with their places. A trial that has diverged gets a step that is not finite.

    Arguments:
        family: of the operator; it has as many rows as words may be sent, or the next smaller number that it takes.
        share: of the step's entries among those rows.
    """

    adds_up: ClassVar[bool] = True
    keyed: ClassVar[bool] = True
    fresh: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "server"

    family: MakeFamily
    share: Share = 0.25

    def check(self) -> None:
        self.needs(WORD)
        self.needs(WORD * self.sketch_family.b)

    @functools.cached_property
    def sketch_family(self) -> Family:
        """The family at its size."""
        return fit_family(self.family, self.layout.d, self.limit // WORD)

    @property
    def k(self) -> int:
        """Entries of a step."""
        return max(1, int(self.share * self.sketch_family.b))

    def _key(self, at: At) -> int:
        return at.key("sketched memory", every_round=False)

    def operators(self, at: At) -> Sketch:
        """Those of all rounds."""
        return stack(self.sketch_family, self._key(at), at)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return Message({"cells": self.operators(at).sketch(x, check_finite=False)})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        cells = message.parts["cells"]
        xp = at.kernels.xp
        steps = [self.recover_step(cells[:, client], at) for client in range(cells.shape[1])]
        return xp.stack(steps, axis=1)

    def recover_step(self, cells: Array, at: At) -> Array:
        """Steps (T, d) of sketches (T, b); NaN of those that have diverged."""
        xp = at.kernels.xp
        sound = (abs(cells) <= LARGEST).all(axis=1)  # NaN is not
        steps = self._recover_step(xp.where(sound[:, None], cells, 0), at)
        return xp.where(sound[:, None], steps, xp.float32(xp.nan))

    @abstractmethod
    def _recover_step(self, cells: Array, at: At) -> Array:
        """The same of finite sketches."""

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        operators = self.operators(on_cpu(at))
        cells = torch.as_tensor(at.kernels.to_numpy(message.parts["cells"][:, 0]))
        return cells, lambda x: autograd.sketch(operators, x)


@dataclass(frozen=True)
class CompressedSensing(SketchedMemory):
    """SGD with compressed sensing (tang2021 Algorithm 1): the server recovers the step Δ from z, the mean sketch and
    its memory ε, and keeps ε = z - ΦΔ.

    Arguments:
        recovery: of the step; it wants k.
    """

    recovery: MakeRecovery = field(kw_only=True)

    def begin(self, trials: int, clients: int, kernels: Kernels) -> Memory:
        return Memory(server=kernels.xp.zeros((trials, self.sketch_family.b), dtype="float32"))

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        z = memory.server + message.mean().parts["cells"][:, 0]
        step = self.recover_step(z, at)
        kept = z - self.operators(at).sketch(step, check_finite=False)
        return Reply(step, sparse_nbytes(step)), memory._replace(server=kept)

    def _recover_step(self, cells: Array, at: At) -> Array:
        recovery = self.recovery(k=self.k)
        operators = singles(self.sketch_family, self._key(at), at)
        return at.kernels.xp.stack([recovery.recover(one, y).x for one, y in zip(operators, cells, strict=True)])


class Sketches(NamedTuple):
    """What the server of FetchSGD keeps, both (T, b): the momentum, and what was not applied yet."""

    momentum: Array
    error: Array


@dataclass(frozen=True)
class FetchSGD(SketchedMemory):
    """FetchSGD (Rothchild et al. 2020, Algorithm 1, and their code): momentum u and error e are CountSketches at the
    server, u = ρu + mean and e = e + u; the step has the k largest of the medians of e. The cells that its entries lie
    in are emptied in both ("momentum factor masking"), so that what else was in them is forgotten.

    Arguments:
        family: with a few signed cells per entry, such as BlockSparseEmbedding.
        momentum: ρ.
    """

    conserves: ClassVar[bool] = False

    momentum: Momentum = 0.9

    def begin(self, trials: int, clients: int, kernels: Kernels) -> Memory:
        nothing = kernels.xp.zeros((trials, self.sketch_family.b), dtype="float32")
        return Memory(server=Sketches(nothing, nothing))

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        u = self.momentum * memory.server.momentum + message.mean().parts["cells"][:, 0]
        e = memory.server.error + u
        step = self.recover_step(e, at)
        untouched = self.operators(at).sketch(step, check_finite=False) == 0
        return Reply(step, sparse_nbytes(step)), memory._replace(server=Sketches(u * untouched, e * untouched))

    def _recover_step(self, cells: Array, at: At) -> Array:
        operators = self.operators(at)
        if not isinstance(operators, Scattered):
            raise TypeError(
                f"FetchSGD decodes sketches with a few signed cells per entry, not {type(operators).__name__}; choose "
                "family BlockSparseEmbedding or CountSketch"
            )
        return best(at.kernels, operators.median(cells), self.k)
