"""A bucket of gradients in a process: its compressor's rounds, and what they keep."""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils import dlpack

from sketchbench import kernels
from sketchbench.compressor import door, traits
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import Message, Reply
from sketchbench.integrations.method import described
from sketchbench.integrations.processes import Processes
from sketchbench.kernels import Array

Round = Generator[Message, Message | None, tuple[Array, Memory]]


class BucketMemory(NamedTuple):
    """What a process keeps of a bucket between steps.

    Arguments:
        memory: of this process as a client, and of the server.
        round: the number of the next round.
        late: (d,), float32: the part of earlier steps that the gradients of the parameters did not get; None for none.
    """

    memory: Memory
    round: int = 0
    late: Tensor | None = None


class Bucket:
    """A bucket of gradients.

    Attributes:
        places: the numbers of its parameters in the model, in their order in the bucket.
        compressor: of the bucket's layout.
        kept: since the last step that counts; a new memory at first.
        started: whether its round of this step has begun.
        step: (d,), of the last round, and what was late before it.
        sound: whether all numbers of the last round are finite, in this process.
    """

    def __init__(self, places: Sequence[int], compressor: Compressor, kept: BucketMemory | None = None) -> None:
        self.places, self.compressor = tuple(places), compressor
        self.kept = kept or BucketMemory(compressor.begin(1, 1, kernels.load("numba")))
        self.after = self.kept
        self.started = False
        self.sound = True
        self._receive: Callable[[], Message]

    def start(self, gradient: Tensor, key: int, processes: Processes) -> None:
        """Send the first message of a round. A process whose sums are not finite sends that of a gradient of zeros."""
        loaded = kernels.load("cupy" if gradient.is_cuda else "numba")
        self.xp, self._processes, self.started = loaded.xp, processes, True
        memory = Memory(*door.replace(tuple(self.kept.memory), loaded.asarray))
        at = At(loaded, key, self.kept.round, 1, processes.rank)
        carried = self.xp.from_dlpack(gradient)[None, None]
        with np.errstate(over="ignore", invalid="ignore"):  # seen next
            carried = carried if memory.clients is None else carried + memory.clients
        self.sound = self._finite(carried)
        self._round = self._phases(carried if self.sound else self.xp.zeros_like(carried), memory, at)
        self._send(self._next(None))

    def advance(self) -> bool:
        """Receive the messages of a phase, and send that of the next. After the last phase, set `step` and `after`, and
        return False."""
        try:
            self._send(self._next(self._receive()))
        except StopIteration as end:
            self._finish(*end.value)
            return False
        return True

    def _finish(self, step: Array, memory: Memory) -> None:
        self.step = tensor(step[0])
        if self.kept.late is not None:
            self.step = self.step + self.kept.late.to(self.step.device)
        self.sound &= bool(torch.isfinite(self.step).all()) and all(map(self._finite, door.arrays(tuple(memory))))
        self.after = BucketMemory(memory, self.kept.round + 1)

    def _finite(self, array: Array) -> bool:
        return bool(self.xp.isfinite(array).all())

    def _phases(self, carried: Array, memory: Memory, at: At) -> Round:
        """`Compressor.exchange`, which yields the message of each phase, and gets what all processes sent: meanwhile,
        the backward pass goes on."""
        compressor, server = self.compressor, memory
        replies: list[Reply] = []
        for _ in range(traits.phases(compressor)):
            message = compressor.encode(carried, memory, at, replies)
            received = yield message
            assert received is not None
            reply, server = compressor.answer(received, server, at, replies)
            replies.append(reply)
        if memory.clients is not None:
            delivered = compressor.delivery(message, at, replies)
            server = server._replace(clients=compressor.remember(carried, memory, delivered))
        return replies[-1].content, server

    def _next(self, received: Message | None) -> Message:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # seen at the end
            return self._round.send(received)

    def _send(self, message: Message) -> None:
        """Begin to send a message: to be summed, if messages add up, and else to be gathered as bytes."""
        if self.compressor.adds_up and not isinstance(self.compressor, traits.Modular):
            wait = self._processes.sum(torch.cat([tensor(part).reshape(-1) for part in message.parts.values()]))
            self._receive = lambda: self._parts(message, wait().div_(self._processes.size)[None])
        else:
            sent = [tensor(part.reshape(-1).view("uint8")) for part in message.parts.values()]
            gathered = self._processes.gather(torch.cat(sent))
            self._receive = lambda: self._parts(message, gathered())

    def _parts(self, message: Message, received: Tensor) -> Message:
        """Split messages (C, ...) into the parts of one message, with its types and shapes."""
        parts, start = {}, 0
        for name, part in message.parts.items():
            size = part.nbytes // received.element_size()
            flat = self.xp.from_dlpack(received[:, start : start + size].clone())
            parts[name] = flat.view(part.dtype).reshape(1, len(received), *part.shape[2:])
            start += size
        return Message(parts)

    def pieces(self) -> Iterator[tuple[int, Tensor]]:
        """The place of each parameter, and its part (n,) of the step."""
        return zip(self.places, torch.split(self.step, self.compressor.layout.sizes), strict=True)

    def state_dict(self) -> dict[str, Any]:
        """Tensors, numbers and texts; the memory in the order of `door.arrays`."""
        memory, number, late = self.kept
        return {
            "places": list(self.places),
            "shapes": [list(shape) for shape in self.compressor.layout.shapes],
            "compressor": described(self.compressor),
            "round": number,
            "memory": [tensor(array).cpu() for array in door.arrays(tuple(memory))],
            "late": None if late is None else late.cpu(),
        }


def restored(saved: dict[str, Any], compressor: Compressor, number: int) -> Bucket:
    """Bucket `number` of a checkpoint; ValueError for one of another compressor."""
    if saved["compressor"] != (own := described(compressor)):
        raise ValueError(f"a checkpoint of {saved['compressor']} in bucket {number} can't go on with {own}")
    begun = tuple(compressor.begin(1, 1, kernels.load("numba")))
    wanted, found = [array.shape for array in door.arrays(begun)], [tuple(one.shape) for one in saved["memory"]]
    if wanted != found:
        raise ValueError(f"a checkpoint has a memory of shapes {found} in bucket {number}, which needs {wanted}")
    kept = iter(saved["memory"])
    memory = Memory(*door.replace(begun, lambda _: next(kept).numpy()))
    return Bucket(saved["places"], compressor, BucketMemory(memory, saved["round"], saved["late"]))


def tensor(array: Array) -> Tensor:
    """Wrap an array in a tensor, on its device and with its memory."""
    wrapped: Tensor = torch.from_numpy(array) if isinstance(array, np.ndarray) else dlpack.from_dlpack(array)
    return wrapped
