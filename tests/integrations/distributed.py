"""A few steps of two processes of DistributedDataParallel, started by torchrun: each writes what it sent and got."""

import io
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from sketchbench.compressor.message import Layout
from sketchbench.compressor.power_sgd import PowerSGD
from sketchbench.integrations import gradient_exchange
from sketchbench.integrations.ddp import CompressedGradients, exchange_gradients
from sketchbench.integrations.gradient_exchange import DENSE_STEPS

SHAPES, SEED, STEPS, RATE = (20, 12, 5), 3, 5, 0.1
CURVE, SEEDS = 60, 6
STOP = 3  # the step before which a training goes on from a checkpoint
COMPRESSION = {"none": 1, "float16": 1.9, "int8": 3.5, "natural": 3}
Gradient = list[torch.Tensor]


def network() -> nn.Module:
    torch.manual_seed(0)
    hidden = nn.Linear(SHAPES[0], SHAPES[1])
    return nn.Sequential(hidden, nn.Tanh(), nn.Linear(SHAPES[1], SHAPES[2]))


def batch(rank: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    random = np.random.default_rng([rank, step])
    inputs = torch.from_numpy(random.standard_normal((6, SHAPES[0]), dtype=np.float32))
    return inputs, torch.from_numpy(random.integers(0, SHAPES[2], 6))


def gradient(model: nn.Module, rank: int, step: int) -> Gradient:
    inputs, labels = batch(rank, step)
    model.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def move(model: nn.Module, gradients: Gradient) -> None:
    with torch.no_grad():
        for parameter, one in zip(model.parameters(), gradients, strict=True):
            parameter.sub_(RATE * one)


class Training:
    def __init__(self, name: str, weights: dict[str, Any] | None = None) -> None:
        self.state = CompressedGradients(name, compression=COMPRESSION.get(name, 4), seed=SEED)
        self.model = network()
        if weights:
            self.model.load_state_dict(weights)
        self.wrapped = DistributedDataParallel(self.model)
        places = {id(parameter): place for place, parameter in enumerate(self.model.parameters())}
        self.order: list[int] = []
        self.sent: list[tuple[str, int]] = []
        self.means: list[Gradient] = []

        def noted(state: CompressedGradients, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
            self.order = [places[id(parameter)] for parameter in bucket.parameters()]
            return exchange_gradients(state, bucket)

        self.wrapped.register_comm_hook(self.state, noted)

    def run(self, rank: int, start: int, stop: int) -> None:
        end = count_bytes(self.sent)
        for step in range(start, stop):
            mean = gradient(self.wrapped, rank, step)
            self.means.append(mean)
            move(self.model, mean)
        end()


def train(name: str, rank: int) -> dict[str, Any]:
    """All steps in one go, and again from a checkpoint half way."""
    whole = Training(name)
    whole.run(rank, 0, STOP)
    kept = io.BytesIO()
    torch.save([whole.model.state_dict(), whole.state.state_dict()], kept)
    whole.run(rank, STOP, STEPS)
    kept.seek(0)
    weights, state = torch.load(kept, weights_only=True)
    again = Training(name, weights)
    again.state.load_state_dict(state)
    again.run(rank, STOP, STEPS)
    facts = {"means": whole.means, "again": again.means, "order": whole.order, "order_again": again.order}
    calls = sorted((name for name, _ in whole.sent[DENSE_STEPS:]), reverse=True)
    counted = {"counted": whole.state.bytes_up, "counted_again": again.state.bytes_up}
    return {**facts, "sent": sum(size for _, size in whole.sent), "calls": calls, **counted}


def curve(hook: str, rank: int, seed: int) -> list[float]:
    torch.manual_seed(seed)
    data = torch.randn(256, 24)
    targets = torch.tanh(data @ torch.randn(24, 8))
    model = nn.Sequential(nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 8))
    wrapped = DistributedDataParallel(model)
    if hook == "ours":
        state = CompressedGradients(rank_one, compression=1, seed=seed)
        wrapped.register_comm_hook(state, exchange_gradients)
    else:
        options = {"start_powerSGD_iter": 2, "min_compression_rate": 1, "random_seed": seed}
        feedback = hook == "torch"
        state = powerSGD_hook.PowerSGDState(None, 1, use_error_feedback=feedback, **options)
        wrapped.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    losses = []
    for step in range(CURVE):
        gradient_exchange.DENSE_STEPS = (
            step + 1 if hook == "ours" and step < 2 else DENSE_STEPS
        )  # torch's has no fewer than two
        model.zero_grad()
        loss = nn.functional.mse_loss(wrapped(data[rank::2]), targets[rank::2])
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.sub_(parameter.grad)
            losses.append(float(nn.functional.mse_loss(model(data), targets)))
    return losses


def rank_one(layout: Layout, limit: int) -> PowerSGD:
    """At the rank of torch's, whatever the limit."""
    least = 4 * sum(min(n * m, n + m) if m > 1 else n for _, n, m in layout.tables)
    return PowerSGD(layout=layout, limit=least)


def count_bytes(sent: list[tuple[str, int]]) -> Any:
    """Note the collectives, and the bytes of the tensors that are handed to them; returns what ends it."""
    reduced, gathered = dist.all_reduce, dist.all_gather

    def all_reduce(tensor: torch.Tensor, **options: Any) -> Any:
        sent.append(("all_reduce", tensor.numel() * tensor.element_size()))
        return reduced(tensor, **options)

    def all_gather(every: list[torch.Tensor], tensor: torch.Tensor, **options: Any) -> Any:
        sent.append(("all_gather", tensor.numel() * tensor.element_size()))
        return gathered(every, tensor, **options)

    dist.all_reduce, dist.all_gather = all_reduce, all_gather

    def end() -> None:
        dist.all_reduce, dist.all_gather = reduced, gathered

    return end


def main(folder: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.save({name: train(name, rank) for name in names}, folder / f"{rank}.pt")
    hooks = ("ours", "torch", "torch without feedback")
    curves = {hook: [curve(hook, rank, seed) for seed in range(SEEDS)] for hook in hooks}
    torch.save(curves, folder / f"curves{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
    os._exit(0)  # torch's threads, which are still there, sometimes abort a process that leaves its interpreter
