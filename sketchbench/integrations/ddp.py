"""Compressed gradients in PyTorch's DistributedDataParallel: every compressor as a communication hook.

    state = CompressedGradients("power_sgd", compression=16)
    model = DistributedDataParallel(model)
    model.register_comm_hook(state, exchange_gradients)

A process is a client, and all processes are the server: each gets all messages, and computes the same step.
"""

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.futures import Future
from torch.utils import dlpack

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.compressor import door, traits
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor, Memory
from sketchbench.compressor.message import Layout, Message
from sketchbench.integrations.method import for_layouts
from sketchbench.kernels import Array, Kernels

if TYPE_CHECKING:  # for mypy, which doesn't find it in torch.distributed
    from torch._C._distributed_c10d import GradBucket
else:
    GradBucket = dist.GradBucket

DENSE_STEPS = 1  # DDP observes the order of gradients in these, and then makes its final buckets


class Bucket:
    """The compressor of a bucket of gradients, with its memory.

    Attributes:
        compressor: of the bucket's layout.
        memory: of this process as a client, and of the server.
        round: the number of the next round.
    """

    def __init__(self, compressor: Compressor, loaded: Kernels) -> None:
        self.compressor = compressor
        self.memory = compressor.begin(1, 1, loaded)
        self.round = 0


class CompressedGradients:
    """The state of a process for `exchange_gradients`, of all buckets. Register it with one model only.

    It compresses the gradient, not a step of the optimiser. So with error feedback, the memory has the size of
    gradients, and is sent with the learning rate of its round. The first step of a process is sent whole, also after a
    checkpoint, because DDP lays out its buckets anew after it; the memory waits for the next step. Raises ValueError
    for a compression or a seed out of range, or an unknown name.

    Arguments:
        make: the name of a file in `conf/compressor`, such as "top_k", or a class or partial with arguments `layout`
            and `limit`.
        compression: bytes of a whole gradient over the bytes of a process in a step, in each bucket; > 0.
        seed: of the shared randomness and of each process's own; the same in all processes, >= 0.
        group: of processes; None for all.

    Attributes:
        bytes_up: bytes of the messages that this process has handed to `torch.distributed`, and of whole gradients.
    """

    def __init__(
        self,
        make: MakeCompressor | str,
        *,
        compression: float,
        seed: int = 0,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        self.make = for_layouts(make, compression, seed)
        self.compression, self.seed, self.group = compression, seed, group
        self.bytes_up = 0
        self._buckets: dict[int, Bucket] = {}
        self._steps = 0  # of this process, since its start
        self._restored: dict[int, Any] = {}

    def at(self, bucket: int, number: int, loaded: Kernels) -> At:
        """A round of a bucket, in which this process makes its own messages. Buckets share no randomness."""
        client = dist.get_rank(self.group)
        return At(loaded, seeds.key(self.seed, bucket=bucket), number, 1, client)

    def state_dict(self) -> dict[str, Any]:
        """Return a checkpoint of this process, of tensors and numbers; each process has its own. `torch.save` takes it,
        and `torch.load` with `weights_only=True` returns it."""
        kept = {number: _saved(bucket) for number, bucket in self._buckets.items()}
        return {"seed": self.seed, "compression": self.compression, "buckets": {**self._restored, **kept}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from `state_dict`, in the same process of as many. Raises ValueError for other settings."""
        for name in ("seed", "compression"):
            if state[name] != getattr(self, name):
                raise ValueError(f"a checkpoint of {name}={state[name]} can't go on with {name}={getattr(self, name)}")
        self._buckets, self._steps, self._restored = {}, 0, dict(state["buckets"])

    def exchange(self, gradient: Tensor, layout: Layout, number: int, *, last: bool) -> Tensor:
        """The mean of all processes' gradients of a bucket, decoded from their messages.

        Arguments:
            gradient: (d,), float32, of this process.
            layout: of the bucket's parameters.
            number: of the bucket.
            last: whether it is the last bucket of the step.

        Raises:
            TypeError: for gradients that are not float32.
            ValueError: for a bucket with other parameters than before, or a compressor that DDP can't serve.
        """
        if gradient.dtype != torch.float32:
            raise TypeError(f"gradients of {gradient.dtype} must be float32; keep the parameters in float32")
        dense = self._steps < DENSE_STEPS
        self._steps += last
        if dense:
            mean = gradient.clone()
            dist.all_reduce(mean, group=self.group)
            self.bytes_up += mean.numel() * mean.element_size()
            return mean.div_(dist.get_world_size(self.group))
        loaded = kernels.load("cupy" if gradient.is_cuda else "numba")
        bucket = self._bucket(number, layout, loaded)
        compressor = bucket.compressor
        at = self.at(number, bucket.round, loaded)
        update = loaded.xp.from_dlpack(gradient.detach())[None, None]
        averages = compressor.adds_up and not isinstance(compressor, traits.Modular)
        receive = functools.partial(self._sum if averages else self._gather, loaded.xp)
        done = compressor.exchange(update, bucket.memory, at, receive)
        bucket.memory, bucket.round = done.memory, bucket.round + 1
        return _tensor(done.step[0])

    def _bucket(self, number: int, layout: Layout, loaded: Kernels) -> Bucket:
        """The compressor of a bucket and its memory: of the last step, of a checkpoint, or a new memory."""
        bucket = self._buckets.get(number)
        if bucket is None:
            bucket = self._buckets[number] = Bucket(self.make(layout), loaded)
            if number in self._restored:
                _restore(bucket, self._restored.pop(number), loaded, number)
        if bucket.compressor.layout != layout:
            raise ValueError(
                f"bucket {number} has parameters of shapes {layout.shapes}, and had {bucket.compressor.layout.shapes}; "
                "make a new CompressedGradients for a new model, or DistributedDataParallel"
            )
        return bucket

    def _sum(self, xp: Any, message: Message) -> Message:
        """The mean of all processes' messages, by one all-reduce."""
        sent = torch.cat([_tensor(part).reshape(-1) for part in message.parts.values()])
        self.bytes_up += sent.numel() * sent.element_size()
        dist.all_reduce(sent, group=self.group)
        sent.div_(dist.get_world_size(self.group))
        return _divided(message, sent[None], xp)

    def _gather(self, xp: Any, message: Message) -> Message:
        """All processes' messages, by one all-gather of bytes."""
        parts = [_tensor(part.reshape(-1).view("uint8")) for part in message.parts.values()]
        sent = torch.cat(parts)
        self.bytes_up += sent.numel()
        every = [torch.empty_like(sent) for _ in range(dist.get_world_size(self.group))]
        dist.all_gather(every, sent, group=self.group)
        return _divided(message, torch.stack(every), xp)


def exchange_gradients(state: CompressedGradients, bucket: GradBucket) -> Future[Tensor]:
    """The hook for `DistributedDataParallel.register_comm_hook`, with its state."""
    layout = Layout(tuple(tuple(parameter.shape) for parameter in bucket.parameters()))
    gradient = bucket.buffer()
    done: Future[Tensor] = Future(devices=[gradient.device] if gradient.is_cuda else [])  # its streams are waited for
    done.set_result(state.exchange(gradient, layout, bucket.index(), last=bucket.is_last()))
    return done


def _saved(bucket: Bucket) -> dict[str, Any]:
    """The memory of a bucket as tensors, in the order of `door.arrays`."""
    return {"round": bucket.round, "memory": [_tensor(array).cpu() for array in door.arrays(tuple(bucket.memory))]}


def _restore(bucket: Bucket, saved: dict[str, Any], loaded: Kernels, number: int) -> None:
    """Restore the memory of a new bucket from `_saved`."""
    begun = [tuple(array.shape) for array in door.arrays(tuple(bucket.memory))]
    if begun != (shapes := [tuple(one.shape) for one in saved["memory"]]):
        raise ValueError(
            f"a checkpoint has a memory of shapes {shapes} for bucket {number}, which needs {begun}; "
            "load it for the same model, and DistributedDataParallel with the same buckets"
        )
    kept = iter(saved["memory"])
    memory = door.replace(tuple(bucket.memory), lambda _: loaded.asarray(next(kept).numpy()))
    bucket.memory, bucket.round = Memory(*memory), saved["round"]


def _tensor(array: Array) -> Tensor:
    """Wrap an array in a tensor, on its device and with its memory."""
    tensor: Tensor = torch.from_numpy(array) if isinstance(array, np.ndarray) else dlpack.from_dlpack(array)
    return tensor


def _divided(message: Message, received: Tensor, xp: Any) -> Message:
    """Split messages (C, ...) into the parts of one message, with its types and shapes."""
    parts, start = {}, 0
    for name, part in message.parts.items():
        size = part.nbytes // received.element_size()
        flat = xp.from_dlpack(received[:, start : start + size].clone())
        parts[name] = flat.view(part.dtype).reshape(1, len(received), *part.shape[2:])
        start += size
    return Message(parts)
