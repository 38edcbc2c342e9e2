"""Sketches of updates, from which the server recovers a sparse step, and remembers the rest."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, NamedTuple

from sketchbench.base.parameters import Range, Share
from sketchbench.compressor import door
from sketchbench.compressor.compressor import At, Feedback, Memory
from sketchbench.compressor.message import Message, Reply, sparse_nbytes
from sketchbench.compressor.operators import SketchedUpdate
from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.recovery.recovery import MakeRecovery, best
from sketchbench.sketch.scattered import Scattered

Momentum = Annotated[float, Range(0, 1, open_high=True)]


@dataclass(frozen=True)
class SketchedMemory(SketchedUpdate):
    """A compressor with a memory of sketches at the server, which sends sparse steps, each entry with its place. All
    rounds of a trial share one operator, of `family`. A step has `share` as many entries as the operator has rows."""

    fresh: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "server"

    share: Share = 0.25

    @property
    def k(self) -> int:
        """The number of entries of a step."""
        return max(1, int(self.share * self.sketch_family.b))

    def _key(self, at: At) -> int:
        return at.key("sketched memory", every_round=False)

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        cells = message.parts["cells"]
        xp = at.kernels.xp
        steps = [self.recover_step(cells[:, client], at) for client in range(cells.shape[1])]
        return xp.stack(steps, axis=1)

    def recover_step(self, cells: Array, at: At) -> Array:
        """Recover the steps (T, d) from sketches (T, b); OverflowError where these are not finite."""
        door.check_sums(type(self).__name__, "the sketch", cells, at.kernels.xp)
        return self._recover_step(cells, at)

    @abstractmethod
    def _recover_step(self, cells: Array, at: At) -> Array:
        """Recover the steps (T, d) from finite sketches (T, b)."""


@dataclass(frozen=True)
class CompressedSensing(SketchedMemory):
    """SGD with compressed sensing (tang2021 Algorithm 1): the server recovers the step Δ from z, the mean sketch plus
    its memory ε, by `recovery`, called with k, and keeps ε = z - ΦΔ."""

    recovery: MakeRecovery = field(kw_only=True)

    @property
    def scales(self) -> bool:
        """False for FIHT as printed, which stops at a norm of 1e-4 in the units of the update."""
        return getattr(self.recovery(k=self.k), "stopping", "relative") == "relative"

    def begin(self, trials: int, clients: int, kernels: Kernels) -> Memory:
        nothing = kernels.xp.zeros((trials, self.sketch_family.b), dtype="float32")
        return super().begin(trials, clients, kernels)._replace(server=nothing)

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        z = memory.server + message.mean().parts["cells"][:, 0]
        step = self.recover_step(z, at)
        kept = z - self.operators(at).sketch(step, check_finite=False)
        return Reply(step, sparse_nbytes(step)), memory._replace(server=kept)

    def _recover_step(self, cells: Array, at: At) -> Array:
        return self.recovery(k=self.k).recover(self.operators(at), cells).x


class Sketches(NamedTuple):
    """The server's memory in FetchSGD, each (T, b): the momentum u, and the error e, which no step has applied."""

    momentum: Array
    error: Array


@dataclass(frozen=True)
class FetchSGD(SketchedMemory):
    """FetchSGD (Rothchild et al. 2020, Algorithm 1, and their code). The server keeps two CountSketches, the momentum
    u = ρu + mean message and the error e = e + u. The step has the k largest median estimates of e. The cells of the
    step's entries are then set to 0 in u and e ("momentum factor masking"), which also forgets all other entries that
    share these cells.

    Arguments:
        family: a family with a few signed cells per entry, such as BlockSparseEmbedding.
        momentum: ρ.
    """

    conserves: ClassVar[bool] = False

    momentum: Momentum = 0.9

    def begin(self, trials: int, clients: int, kernels: Kernels) -> Memory:
        nothing = kernels.xp.zeros((trials, self.sketch_family.b), dtype="float32")
        return super().begin(trials, clients, kernels)._replace(server=Sketches(nothing, nothing))

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
