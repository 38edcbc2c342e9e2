"""Compressed gradients in PyTorch's DistributedDataParallel: every compressor as a communication hook.

    state = CompressedGradients("power_sgd", compression=16)
    model = DistributedDataParallel(model)
    model.register_comm_hook(state, exchange_gradients)

A process is a client, and all processes are the server: each gets all messages, and computes the same step.
"""

from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.futures import Future

from sketchbench.compressor.compressor import MakeCompressor
from sketchbench.compressor.message import Layout
from sketchbench.integrations.gradient_bucket import restored
from sketchbench.integrations.gradient_exchange import GradientExchange
from sketchbench.integrations.method import described, for_layouts, maker, versions
from sketchbench.integrations.placement import layout_of
from sketchbench.integrations.processes import Processes

if TYPE_CHECKING:  # for mypy, which doesn't find it in torch.distributed
    from torch._C._distributed_c10d import GradBucket
else:
    GradBucket = dist.GradBucket


class CompressedGradients:
    """The state of a process for `exchange_gradients`, of all buckets. Register it with one model only, before the
    first step.

    It compresses the gradient, not a step of the optimiser. So with error feedback, the memory has the size of
    gradients, and is sent with the learning rate of its round. DDP lays out its buckets anew after the first step,
    which is sent whole. A training that resumes from a checkpoint sends its first step in the buckets of the
    checkpoint.

    A step with a gradient that is not finite, or with sums that exceed float32, in any process, gives all processes
    gradients of NaN, and leaves the memory as it was. A part of a step that DDP does not hand to a parameter, because
    no process used it, is added to the next step, if the compressor has error feedback.

    Arguments:
        make: the name of a file in `conf/compressor`, such as "top_k", or a class or partial with arguments `layout`
            and `limit`.
        compression: bytes of a whole gradient over the bytes of a process in a step, in each bucket; > 0.
        seed: of the shared randomness and of each process's own; the same in all processes, >= 0.
        group: of processes; None for all.
        scaler: that scales the losses, if any. The memory then has the unit of gradients before it, so that it stays
            right when the scale changes.

    Raises:
        ValueError: for a compression or a seed out of range, or an unknown name.
    """

    def __init__(
        self,
        make: MakeCompressor | str,
        *,
        compression: float,
        seed: int = 0,
        group: dist.ProcessGroup | None = None,
        scaler: torch.amp.GradScaler | None = None,
    ) -> None:
        self.make = for_layouts(make, compression, seed)
        self.compressor, self.compression, self.seed = described(maker(make)), float(compression), seed
        self.processes = Processes(group)
        self._exchange = GradientExchange(self.make, seed, self.processes, scaler)
        self._scaled = scaler is not None
        self._before = 0  # steps up to the checkpoint
        self._saved: dict[str, Any] = {}  # what the checkpoint said of its process

    @property
    def bytes_up(self) -> int:
        """Bytes that this process has handed to `torch.distributed`: messages, whole gradients, and the flags that end
        a compressed step."""
        return self.processes.sent

    def _own(self) -> dict[str, Any]:
        """What a checkpoint must share with its training."""
        settled = {"compressor": self.compressor, "compression": self.compression, "seed": self.seed}
        return settled | {"rank": self.processes.rank, "world_size": self.processes.size}

    def state_dict(self) -> dict[str, Any]:
        """Return a checkpoint of this process, of tensors, numbers and texts; each process has its own. `torch.save`
        takes it, and `torch.load` with `weights_only=True` returns it."""
        buckets = {number: bucket.state_dict() for number, bucket in self._exchange.buckets.items()}
        steps = self._before + self._exchange.steps
        return {**self._own(), "steps": steps, "bytes_up": self.bytes_up, "buckets": buckets}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from `state_dict`, in the same process of as many, after `init_process_group`. Raises ValueError for
        the checkpoint of another process, compressor, or setting."""
        self._check_own(state)
        self._saved = {name: state[name] for name in self._own()}
        buckets = {}
        for number, saved in state["buckets"].items():
            buckets[number] = restored(saved, self.make(Layout(tuple(map(tuple, saved["shapes"])))), number)
        self._exchange.buckets, self._exchange.steps = buckets, 0
        self._before, self.processes.sent = state["steps"], state["bytes_up"]

    def _check_own(self, state: dict[str, Any]) -> None:
        for name, own in self._own().items():
            if state.get(name) != own:
                raise ValueError(
                    f"a checkpoint of {name}={state.get(name)} can't go on with {name}={own}; each process needs its "
                    "own checkpoint, of a training with the same settings"
                )

    def take(self, bucket: GradBucket) -> "Future[Tensor]":
        """Begin to exchange the gradient of a bucket of DDP; all exchanges end at the last bucket of a step.

        Raises:
            TypeError, ValueError: in the first step, in all processes: for a gradient that is not dense or not float32,
                processes with unequal settings, or a model in which no message fits into the limit. Later, for other
                parameters than before.
            RuntimeError: if another process ends.
        """
        if not self._exchange.steps:
            self._agree(bucket)
        promise = self._exchange.add(bucket.parameters(), bucket.buffer(), first=bucket.index() == 0)
        if bucket.is_last():
            self._exchange.end()
        return promise

    def _agree(self, bucket: GradBucket) -> None:
        """Compare the processes, and refuse what can't be compressed, before a gradient is sent."""
        gradient, parameters = bucket.buffer(), bucket.parameters()
        error, made = None, ""
        try:
            if self._saved:
                self._check_own(self._saved)
            _check_gradient(gradient)
            if bucket.is_last() and self._exchange.dense:  # all parameters are known
                earlier = self._exchange.held[: bucket.index()]
                made = described(
                    self.make(layout_of([one for held in earlier for one in held.parameters] + parameters))
                )
        except (TypeError, ValueError) as raised:
            error = raised
        kept = {number: (one.places, one.kept.round) for number, one in self._exchange.buckets.items()}
        facts = {
            "compressor": self.compressor,
            "compression": self.compression,
            "seed": self.seed,
            "versions": f"{versions()}, torch {torch.__version__}",
            "checkpoint": f"of {self._before} steps, with places and rounds {kept}",
            "scaler": "given" if self._scaled else "none",
            "bucket": f"{gradient.dtype} on {gradient.device.type} of shapes {layout_of(parameters).shapes}",
            "compressor of all parameters": made,
        }
        self.processes.agree({name: str(fact) for name, fact in facts.items()}, error)


def exchange_gradients(state: CompressedGradients, bucket: GradBucket) -> Future[Tensor]:
    """The hook for `DistributedDataParallel.register_comm_hook`, with its state."""
    return state.take(bucket)


def _check_gradient(gradient: Tensor) -> None:
    if gradient.layout != torch.strided:
        raise TypeError("gradients are sparse and must be dense; make layers such as nn.Embedding with sparse=False")
    if gradient.dtype != torch.float32:
        raise TypeError(
            f"gradients of {gradient.dtype} must be float32; keep the parameters in float32, and use torch.autocast"
        )
