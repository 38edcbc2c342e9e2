"""Trainings of two processes of DistributedDataParallel in which something is unusual; each process writes all results.

An error that ends all processes leaves their group as it was, so that all cases run in one start.
"""

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from sketchbench.compressor.desketched import Desketched
from sketchbench.compressor.sketched_memory import FetchSGD
from sketchbench.integrations.ddp import CompressedGradients, exchange_gradients
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.sparse import BlockSparseEmbedding

SMALL = 2e-4  # of a megabyte, in which DDP makes several buckets of `network`
Flat = torch.Tensor
CASES: dict[str, Callable[[int], Any]] = {}


def case(function: Callable[[int], Any]) -> Callable[[int], Any]:
    CASES[function.__name__] = function
    return function


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 5))


def batch(rank: int, step: int) -> torch.Tensor:
    return torch.randn(6, 20, generator=torch.Generator().manual_seed(100 * step + rank))


def flat(tensors: Any) -> Flat:
    return torch.cat([one.detach().reshape(-1) for one in tensors])


class Branches(nn.Module):
    """Uses one of two branches in a step; a third never."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.branches = nn.ModuleList([nn.Linear(20, 6) for _ in range(3)])
        self.out = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor, which: int) -> torch.Tensor:
        return self.out(self.branches[which](x))


class Training:
    def __init__(self, model: nn.Module | None = None, make: Any = "top_k", **options: Any) -> None:
        how = {name: options.pop(name) for name in ("compression", "seed", "scaler") if name in options}
        self.model = model or network()
        self.state = CompressedGradients(make, **{"compression": 4, **how})
        options.setdefault("bucket_cap_mb", SMALL)
        self.wrapped = DistributedDataParallel(self.model, **options)
        self.buckets: list[int] = []

        def noted(state: CompressedGradients, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
            self.buckets.append(bucket.index())
            return exchange_gradients(state, bucket)

        self.wrapped.register_comm_hook(self.state, noted)

    def loss(self, rank: int, step: int, *given: Any) -> torch.Tensor:
        return self.wrapped(batch(rank, step), *given).float().square().mean()

    def gradients(self) -> list[torch.Tensor]:
        zero = torch.zeros_like
        return [(zero(one) if one.grad is None else one.grad.clone()) for one in self.model.parameters()]

    def step(self, rank: int, step: int, *given: Any) -> Flat:
        """The gradients of a step; weights stay as they are."""
        self.model.zero_grad()
        self.loss(rank, step, *given).backward()
        return flat(self.gradients())

    def kept(self) -> Flat:
        """What the process keeps, (d,) in the order of the model's parameters; zeros for what is not client memory."""
        kept: dict[int, Flat] = {}
        for bucket in self.state.state_dict()["buckets"].values():
            sizes = [torch.Size(shape).numel() for shape in bucket["shapes"]]
            d = sum(sizes)
            whole = sum((one.reshape(-1) for one in bucket["memory"] if one.numel() == d), torch.zeros(d))
            late = torch.zeros(d) if bucket.get("late") is None else bucket["late"]
            kept |= dict(zip(bucket["places"], (whole + late).split(sizes), strict=True))
        return torch.cat([kept[place] for place in sorted(kept)])


def error(run: Callable[[], Any]) -> str:
    try:
        run()
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"
    return ""


def apart(rank: int, one: dict[str, Any], other: dict[str, Any]) -> str:
    """The error of a first step of processes with other settings."""
    return error(lambda: Training(**[one, other][rank]).step(rank, 0))


@case
def unused(rank: int) -> Any:
    """The sums of the process's gradients, of the steps, and what is kept; weights stay as they are."""
    found = {}
    for name, how in {
        "by search": {"find_unused_parameters": True},
        "as views": {"find_unused_parameters": True, "gradient_as_bucket_view": True},
        "power_sgd": {"find_unused_parameters": True, "make": "power_sgd", "compression": 2},
    }.items():
        training = Training(Branches(), **{"compression": 16, "bucket_cap_mb": 25, **how})
        whole, sent = 0, 0
        for step in range(20):
            which = step % 2
            sent = sent + training.step(rank, step, which)
            loss = training.model(batch(rank, step), which).square().mean()
            slopes = torch.autograd.grad(loss, list(training.model.parameters()), allow_unused=True)
            pairs = zip(slopes, training.model.parameters(), strict=True)
            whole = whole + flat(torch.zeros_like(p) if one is None else one for one, p in pairs)
        found[name] = {"whole": whole, "sent": sent, "kept": training.kept()}
    return found


@case
def unused_with_gradients_that_stay(rank: int) -> Any:
    """DDP puts a gradient that no one has cleared into its bucket, and leaves it as it was if the step did not use it:
    what is kept must not hold it twice."""
    training = Training(Branches(), compression=16, find_unused_parameters=True, bucket_cap_mb=25)
    for step in range(3):
        training.step(rank, step, step % 2)
    before = training.kept(), flat(training.gradients())
    training.loss(rank, 3, 1).backward()
    loss = training.model(batch(rank, 3), 1).square().mean()
    slopes = torch.autograd.grad(loss, list(training.model.parameters()), allow_unused=True)
    pairs = zip(slopes, training.model.parameters(), strict=True)
    own = flat(torch.zeros_like(p) if one is None else one for one, p in pairs)
    return {"came": before[0] + before[1] + own, "there": training.kept() + flat(training.gradients())}


@case
def static_graph(rank: int) -> Any:
    training = Training(Branches(), compression=4, static_graph=True, bucket_cap_mb=25)
    steps = [training.step(rank, step, 0) for step in range(4)]
    return {"steps": torch.stack(steps), "buckets": training.buckets}


@case
def unequal(rank: int) -> Any:
    momentum = functools.partial(FetchSGD, family=functools.partial(BlockSparseEmbedding, s=3))
    nothing: dict[str, Any] = {}
    return {
        "seed": apart(rank, {"seed": 0}, {"seed": 1}),
        "compression": apart(rank, {"compression": 16}, {"compression": 24}),
        "compressor": apart(rank, nothing, {"make": "sign"}),
        "momentum": apart(rank, {"make": momentum}, {"make": functools.partial(momentum, momentum=0.5)}),
        "family": apart(
            rank,
            {"make": functools.partial(Desketched, family=CountSketch)},
            {"make": functools.partial(Desketched, family=functools.partial(BlockSparseEmbedding, s=2))},
        ),
        "function": apart(
            rank,
            {
                "make": lambda layout, limit: FetchSGD(
                    layout, limit, family=functools.partial(BlockSparseEmbedding, s=3)
                )
            },
            {
                "make": lambda layout, limit: FetchSGD(
                    layout, limit, family=functools.partial(BlockSparseEmbedding, s=4)
                )
            },
        ),
        "scaler": apart(rank, nothing, {"scaler": torch.amp.GradScaler("cpu")}),
    }


@case
def refused(rank: int) -> Any:
    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.out = nn.Embedding(7, 20, sparse=True), nn.Linear(20, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(self.inner(x.argmax(1) % 7))

    return {
        "sparse": error(lambda: Training(Sparse(), bucket_cap_mb=25).step(rank, 0)),
        "bfloat16": error(lambda: Training(network().bfloat16()).wrapped(batch(rank, 0).bfloat16()).mean().backward()),
        "too small": error(lambda: Training(make="power_sgd", compression=16).step(rank, 0)),
        "one process": apart(rank, {}, {"make": "power_sgd", "compression": 1000}),
    }


@case
def checkpoints(rank: int) -> Any:
    """Of rank 0 in all processes, and of other settings."""
    training = Training()
    for step in range(3):
        training.step(rank, step)
    own = training.state.state_dict()
    shared = [own if rank == 0 else None]
    dist.broadcast_object_list(shared)

    def load(state: Any, make: Any = "top_k", **options: Any) -> str:
        return error(lambda: CompressedGradients(make, **{"compression": 4, **options}).load_state_dict(state))

    return {
        "own": load(own),
        "of rank 0": load(shared[0]),
        "of 3": load({**own, "world_size": 3}),
        "sign": load(own, "sign"),
        "compression": load(own, compression=8),
        "seed": load(own, seed=1),
        "momentum": load(
            CompressedGradients("fetch_sgd", compression=4).state_dict(),
            functools.partial(FetchSGD, momentum=0.5, family=functools.partial(BlockSparseEmbedding, s=3)),
        ),
        "older": load({"seed": 0, "compression": 4, "buckets": {}}),
        "apart": apart_after(rank, own),
    }


def apart_after(rank: int, state: Any) -> str:
    """A checkpoint in one process, and none in the other."""
    training = Training()
    if rank == 0:
        training.state.load_state_dict(state)
    return error(lambda: training.step(rank, 0))


def trained(rank: int, training: Training, start: int, stop: int, bad: int | None = None) -> list[Flat]:
    means = []
    for step in range(start, stop):
        training.model.zero_grad()
        loss = training.loss(rank, step)
        if step == bad and rank == 1:
            loss = loss * torch.inf
        loss.backward()
        means.append(flat(training.gradients()))
        if means[-1].isfinite().all():
            with torch.no_grad():
                for parameter in training.model.parameters():
                    parameter.sub_(parameter.grad, alpha=0.5)
    return means


@case
def resumed(rank: int) -> Any:
    """In several buckets, from each step on."""
    found = {}
    for name in ("top_k", "power_sgd", "fetch_sgd", "qsgd"):
        how = {"make": name, "compression": 2 if name == "power_sgd" else 4}
        whole = Training(**how)
        means = trained(rank, whole, 0, 3)
        weights = {key: one.clone() for key, one in whole.model.state_dict().items()}
        state = whole.state.state_dict()
        means += trained(rank, whole, 3, 7)
        again = Training(**how)
        again.model.load_state_dict(weights)
        again.state.load_state_dict(state)
        other = trained(rank, again, 3, 7)
        sent = whole.state.bytes_up, again.state.bytes_up
        found[name] = {"whole": means[3:], "again": other, "sent": sent, "buckets": max(whole.buckets) + 1}
    return found


@case
def small_buckets(rank: int) -> Any:
    """PowerSGD, which needs more bytes than a bucket of vectors or of a small matrix may send."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 3))
    training = Training(model, make="power_sgd", compression=6, bucket_cap_mb=1e-5)
    steps = [training.step(rank, step) for step in range(4)]
    buckets = training.state.state_dict()["buckets"].values()
    return {"seen": max(training.buckets) + 1, "places": [one["places"] for one in buckets], "step": steps[-1]}


@case
def another_model(rank: int) -> Any:
    """Of the same number of parameters, in another order."""
    training = Training(nn.Sequential(nn.Linear(20, 12), nn.Linear(12, 5)))
    for step in range(3):
        training.step(rank, step)
    other = Training(nn.Sequential(nn.Linear(20, 5), nn.Linear(5, 12)))
    other.state.load_state_dict(training.state.state_dict())
    return error(lambda: other.step(rank, 3))


@case
def not_finite(rank: int) -> Any:
    """A step of infinite gradients in one process, beside the training without it."""
    found = {}
    for name in ("top_k", "fetch_sgd", "power_sgd", "count_sketch", "natural", "qsgd"):
        how = {"make": name, "compression": {"power_sgd": 2, "natural": 3}.get(name, 4)}
        training, without = Training(**how), Training(**how)
        means, fine = trained(rank, training, 0, 6, bad=3), trained(rank, without, 0, 3)
        fine += trained(rank, without, 4, 6)
        found[name] = {"bad": means.pop(3), "means": means, "without": fine}
    return found


@case
def overflow(rank: int) -> Any:
    """Gradients whose sum exceeds float32 in one process are a value, too."""
    training = Training()
    training.step(rank, 0)
    steps = []
    for size in (3e38, 3e38, 1.0):
        training.model.zero_grad()
        loss = training.wrapped(batch(rank, 1)).sum()
        (loss * (size if rank == 1 else 1.0)).backward()
        steps.append(flat(training.gradients()))
    return {"finite": [bool(step.isfinite().all()) for step in steps]}


@case
def scaled(rank: int) -> Any:
    """float16 with GradScaler, whose first scale overflows, and scales that change beside none."""
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=2)
    training = Training(scaler=scaler)
    optimizer = torch.optim.SGD(training.model.parameters(), lr=0.1)
    scales = []
    for step in range(40):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = training.loss(rank, step)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0, growth_interval=1)
    training, plain = Training(scaler=scaler), Training()
    pairs = []
    for step in range(5):
        training.model.zero_grad()
        scale = scaler.get_scale()
        scaler.scale(training.loss(rank, step)).backward()
        pairs.append((flat(training.gradients()) / scale, plain.step(rank, step)))
        scaler.update(scale * 2)
    return {"scales": scales, "weights": flat(training.model.parameters()), "pairs": pairs}


@case
def accumulated(rank: int) -> Any:
    """Two batches under `no_sync` are those of their sum."""
    parts, whole = Training(), Training()
    pairs = []
    for step in range(4):
        parts.model.zero_grad()
        with parts.wrapped.no_sync():
            parts.loss(rank, 2 * step).backward()
        parts.loss(rank, 2 * step + 1).backward()
        whole.model.zero_grad()
        both = torch.cat([batch(rank, 2 * step), batch(rank, 2 * step + 1)])
        (2 * whole.wrapped(both).square().mean()).backward()
        pairs.append((flat(parts.gradients()), flat(whole.gradients())))
    return {"pairs": pairs}


@case
def bfloat16(rank: int) -> Any:
    training = Training()
    losses = []
    for step in range(30):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = training.loss(rank, step % 3)
        training.model.zero_grad()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for parameter in training.model.parameters():
                parameter.sub_(parameter.grad, alpha=0.5)
    return {"losses": losses}


@case
def memory_formats(rank: int) -> Any:
    """A convolution in both formats; a transposed weight, whose gradient has rank one, which PowerSGD sends exactly."""
    found = {}
    images = torch.randn(3, 4, 3, 3, generator=torch.Generator().manual_seed(rank))
    for name in ("contiguous_format", "channels_last"):
        torch.manual_seed(0)
        model, how = nn.Conv2d(4, 6, 3, bias=False), {"memory_format": getattr(torch, name)}
        training = Training(model.to(**how))
        steps = []
        for _ in range(3):
            model.zero_grad()
            training.wrapped(images.to(**how)).square().sum().backward()
            steps.append(flat(training.gradients()))
        found[name] = torch.stack(steps)
    turned = nn.Linear(12, 5, bias=False)
    turned.weight = nn.Parameter(torch.randn(12, 5).t())
    training, steps = Training(turned, make="power_sgd", compression=2), []
    for _ in range(3):
        turned.zero_grad()
        (training.wrapped(torch.arange(24.0).reshape(2, 12)) * torch.arange(1, 6)).sum().backward()
        steps.append(turned.weight.grad.clone())
    return {**found, "turned": torch.stack(steps)}


@case
def joined(rank: int) -> Any:
    """Process 1 has more batches; then also with branches that are not used, whose memory `sign` sends."""

    def run(training: Training, branches: int = 0) -> Flat:
        with training.wrapped.join():
            for step in range(4 + 4 * rank):
                training.step(rank, step, *([step % branches] if branches else []))
        return training.step(rank, 9, *range(branches)[:1])

    two = Training(Branches(), "sign", compression=16, find_unused_parameters=True)
    return {"one": run(Training()), "two": error(lambda: run(two, 2))}


@case
def overlap(rank: int) -> Any:
    """The order in which collectives begin, and are waited for."""
    training = Training(compression=4)
    for step in range(2):
        training.step(rank, step)
    noted: list[str] = []
    gathered = dist.all_gather

    def all_gather(every: Any, own: Any, **options: Any) -> Any:
        noted.append("begin")
        work = gathered(every, own, **options)

        class Noted:
            def wait(self) -> None:
                noted.append("wait")
                work.wait()

        return Noted() if work is not None else (noted.append("wait"), work)[1]

    dist.all_gather = all_gather
    training.step(rank, 2)
    dist.all_gather = gathered
    return {"noted": noted}


def main(folder: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    found = {name: run(rank) for name, run in CASES.items() if not names or name in names}
    torch.save(found, folder / f"{rank}.pt")
    training = Training()
    dist.barrier()
    if rank == 1:  # ends before its first step
        os._exit(0)
    with contextlib.suppress(RuntimeError):
        dist.all_reduce(torch.zeros(1))
    found["ended"] = {"error": error(lambda: training.step(rank, 0))}
    torch.save(found, folder / f"{rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
    os._exit(0)
