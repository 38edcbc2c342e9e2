"""PowerSGD is that of torch's communication hook, and of its paper."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from compressing import LAYOUT, TRIALS, exchanged, made, updates
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

from sketchbench.compressor.compressor import Memory
from sketchbench.compressor.power_sgd import PowerSGD
from sketchbench.kernels import Kernels

ROUNDS = 4


def power_sgd() -> PowerSGD:
    """With half of the bytes."""
    compressor = made("power_sgd", 2)
    assert isinstance(compressor, PowerSGD)
    return compressor


def test_power_sgd_is_that_of_torch(reference: Kernels) -> None:
    """Torch's hook on a bucket with the same update, its first matrix handed on; with error feedback and a warm start.
    A single client, as there is a single process."""
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        compressor = power_sgd()
        state = powerSGD_hook.PowerSGDState(
            distributed.group.WORLD,
            matrix_approximation_rank=compressor.rank,
            start_powerSGD_iter=2,
            min_compression_rate=1,
        )
        rounds = [updates(number, 1, 1) for number in range(ROUNDS + 4)]
        results = []
        for x in rounds:
            flat = torch.tensor(x[0, 0])
            pieces = flat.split(LAYOUT.sizes)
            views = [piece.view(shape) for piece, shape in zip(pieces, LAYOUT.shapes, strict=True)]
            bucket = SimpleNamespace(
                buffer=lambda flat=flat: flat,
                gradients=lambda views=views: views,
                index=lambda: 0,
                is_last=lambda: True,
            )
            future: Any = powerSGD_hook.powerSGD_hook(state, bucket)  # type: ignore[arg-type]
            future.wait()
            kept = state.error_dict.get(0), state.q_memory_dict.get(0)
            results.append([flat.clone().numpy(), *(None if one is None else one.clone().numpy() for one in kept)])
    finally:
        distributed.destroy_process_group()
    start = next(number for number, one in enumerate(results) if one[1] is not None)
    _, error, q = results[start]
    matrices = [(8, 12), (4, 8)] if compressor.rank * 12 < 32 else [(8, 12)]
    ends = np.cumsum([0] + [m * compressor.rank for _, m in matrices])
    warm = [q[a:b].reshape(1, m, -1) for a, b, (_, m) in zip(ends, ends[1:], matrices, strict=False)]
    done, _ = exchanged(compressor, reference, rounds[start + 1 :], Memory(error[None, None], warm))
    assert len(done) >= ROUNDS
    for one, (step, error, _) in zip(done, results[start + 1 :], strict=True):
        np.testing.assert_allclose(one.step[0], step, rtol=1e-3, atol=1e-4)
        kept_error: Any = one.memory.clients
        np.testing.assert_allclose(kept_error[0, 0], error, rtol=1e-3, atol=1e-4)


def test_power_sgd_of_many_clients_is_that_of_their_mean(kernels: Kernels) -> None:
    """Vogels et al. 2019, Algorithm 1, dense: of the mean of M + memory, P̂ P̂ᵀ M with P̂ from M Q."""
    compressor = power_sgd()
    rounds = [updates(number) for number in range(ROUNDS)]
    done, _ = exchanged(compressor, kernels, rounds)
    r = compressor.rank
    q: Any = None
    memory = np.zeros((TRIALS, LAYOUT.d))
    for x, one in zip(rounds, done, strict=True):
        mean, step = x.mean(axis=1) + memory, kernels.to_numpy(one.step)
        M, found = (part[:, :96].reshape(TRIALS, 8, 12) for part in (mean, step))
        if q is not None:  # the first start is random
            for t in range(TRIALS):
                left = np.linalg.svd(M[t] @ q[t], full_matrices=False)[0]
                np.testing.assert_allclose(found[t], left @ left.T @ M[t], rtol=1e-3, atol=1e-4)
        q = [np.linalg.svd(f)[2][:r].T for f in found]  # the row space of P̂Qᵀ is that of Q
        np.testing.assert_allclose(step[:, 96:104], mean[:, 96:104], rtol=1e-4, atol=1e-5)  # biases
        memory = mean - step
