"""The exchange of a step's gradients: from DDP's buckets to those of the compressor, and back."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd import Variable
from torch.futures import Future

from sketchbench.base import seeds
from sketchbench.integrations.gradient_bucket import Bucket
from sketchbench.integrations.method import ForLayout
from sketchbench.integrations.placement import Placement, laid
from sketchbench.integrations.processes import Processes, Wait
from sketchbench.sketch.family import SizeError

DENSE_STEPS = 1  # DDP observes the order of gradients in these, and then makes its final buckets


class Held(NamedTuple):
    """A bucket of DDP, with its gradient (d,), and what its hook has promised."""

    parameters: list[Tensor]
    gradient: Tensor
    promise: Future[Tensor]
    whole: Wait | None  # for the sum of all gradients

    @property
    def pieces(self) -> tuple[Tensor, ...]:
        return torch.split(self.gradient, [parameter.numel() for parameter in self.parameters])


class GradientExchange:
    """The exchange of a model's gradients, step by step.

    A bucket is sent as soon as DDP has its gradients. Buckets are those that DDP has in the first compressed step; a
    bucket in which no message fits into the limit is joined with the next one.

    Attributes:
        buckets: by number.
        steps: since the start, or the last checkpoint.
    """

    def __init__(
        self, make: ForLayout, seed: int, processes: Processes, scaler: torch.amp.GradScaler | None = None
    ) -> None:
        self._make, self._seed, self._processes, self._scaler = make, seed, processes, scaler
        self.buckets: dict[int, Bucket] = {}
        self.steps = 0
        self._placement = Placement()
        self._strayed = False  # whether this process has missed what was late in the last step
        self._begin()

    def _begin(self) -> None:
        """Forget the last step, which an error may have left without an end."""
        self.held: list[Held] = []
        self._pieces: dict[int, Tensor] = {}
        self._scale = float(self._scaler.get_scale()) if self._scaler else 1.0
        for bucket in self.buckets.values():
            bucket.started = False

    @property
    def dense(self) -> bool:
        """Whether the step is sent whole."""
        return not self.buckets and self.steps < DENSE_STEPS

    def add(self, parameters: list[Tensor], gradient: Tensor, *, first: bool) -> Future[Tensor]:
        """Take the gradient of a bucket of DDP; `first` in a step begins it. Returns the step, ready after `end`."""
        if first:
            self._begin()
        whole = self._processes.sum(gradient.clone()) if self.dense else None
        promise: Future[Tensor] = Future(devices=[gradient.device] if gradient.is_cuda else [])  # waits for its streams
        self.held.append(Held(parameters, gradient, promise, whole))
        if self.steps:
            self._start(self.held[-1])
        return promise

    def _start(self, held: Held) -> None:
        """Send the first messages of the buckets whose gradients are there now. Buckets share no randomness."""
        places = self._placement.of(held.parameters)
        self._pieces.update(zip(places, held.pieces, strict=True))
        for number, bucket in sorted(self.buckets.items()):
            if not bucket.started and all(place in self._pieces for place in bucket.places):
                as_it_is = bucket.places == places
                own = held.gradient if as_it_is else torch.cat([self._pieces[place] for place in bucket.places])
                unscaled = own if self._scale == 1 else own / self._scale
                bucket.start(unscaled.detach(), seeds.key(self._seed, bucket=number), self._processes)

    def end(self) -> None:
        """Receive all messages of a step, after its last bucket.

        Raises:
            ValueError: for other parameters than before.
            RuntimeError: if another process ends.
        """
        if not self.steps:
            self._placement.observe([held.parameters for held in self.held])
            self._check_layouts()
        if self.dense:
            for held in self.held:
                assert held.whole is not None
                held.promise.set_result(held.whole().div_(self._processes.size))
        else:
            self._end_compressed()
        self.steps += 1

    def _check_layouts(self) -> None:
        for number, bucket in self.buckets.items():
            own = self._placement.layout(bucket.places)
            if own != bucket.compressor.layout:
                raise ValueError(
                    f"bucket {number} of the checkpoint has parameters of shapes {bucket.compressor.layout.shapes}, "
                    f"and the model has {own.shapes} there; load it for the same model"
                )

    def _end_compressed(self) -> None:
        if not self.buckets:
            groups = self._join([self._placement.of(held.parameters) for held in self.held])
            made = [Bucket(places, self._make(self._placement.layout(places))) for places in groups]
            self.buckets = dict(enumerate(made))
        for held in self.held:  # again, as buckets may be new
            self._start(held)
        buckets = list(self.buckets.values())
        if not all(bucket.started for bucket in buckets) or self._pieces.keys() != {
            p for b in buckets for p in b.places
        }:
            raise ValueError(
                "gradients came for other parameters than before; make a new CompressedGradients for a new model"
            )
        under_way = buckets
        while under_way:
            under_way = [bucket for bucket in under_way if bucket.advance()]
        if failed := self._compare(buckets):
            for bucket in buckets:
                bucket.step.fill_(math.nan)
        else:
            for bucket in buckets:
                bucket.kept = bucket.after
        steps = {place: piece for bucket in buckets for place, piece in bucket.pieces()}
        for held in self.held:
            step = torch.cat([steps[place] for place in self._placement.of(held.parameters)])
            held.promise.set_result(step.mul_(self._scale))
        if not failed and any(bucket.compressor.feedback != "none" for bucket in buckets):
            self._strayed = not _after_ddp(self._note_late)

    def _join(self, groups: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Join groups of places, in their order, until a message of each fits into its limit."""
        joined: list[tuple[int, ...]] = []
        rest: tuple[int, ...] = ()
        for group in groups:
            rest += group
            if self._fits(rest):
                joined.append(rest)
                rest = ()
        while rest and joined and not self._fits(rest):
            rest = joined.pop() + rest
        return [*joined, rest] if rest else joined

    def _fits(self, places: tuple[int, ...]) -> bool:
        try:
            self._make(self._placement.layout(places))
        except SizeError:
            return False
        return True

    def _compare(self, buckets: Sequence[Bucket]) -> bool:
        """Return whether the step has failed in any process."""
        late = any(bucket.kept.late is not None for bucket in buckets)
        flags = [not all(bucket.sound for bucket in buckets), self._strayed, late]
        failed, strayed, late = self._processes.any(flags, self.held[0].gradient.device)
        if strayed and late:
            raise RuntimeError(
                "a process that has joined early can't know which parameters no process has used; give all processes "
                "as many batches, or use all parameters in each step"
            )
        return failed

    def _note_late(self) -> None:
        """Keep what the parameters' gradients have not got of the step."""
        for bucket in self.buckets.values():
            parts = []
            for place, piece in bucket.pieces():
                parameter = self._placement.parameters[place]
                got = parameter.grad
                parts.append(piece if got is None else piece - laid(got, parameter).reshape(-1) / self._scale)
            late = torch.cat(parts)
            if bucket.compressor.feedback != "none" and late.any():
                bucket.kept = bucket.kept._replace(late=late)


def _after_ddp(note: Callable[[], None]) -> bool:
    """Call `note` when DDP has handed out the gradients, by the callback of a callback, as DDP's own comes between.
    False outside of a backward pass, where `Join` calls hooks."""
    queue = Variable._execution_engine.queue_callback
    try:
        queue(lambda: queue(note))
    except RuntimeError:
        return False
    return True
