"""Our Adam against torch's, step by step."""

import pytest
import torch

from sketchbench.attack.adam import AdamOptimiser, CosineAdam


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_are_those_of_torch(dtype: torch.dtype, constant: bool) -> None:
    """Bit for bit, of two variables, over all steps, with gradients of many sizes."""
    random = torch.Generator().manual_seed(1)
    ours = [torch.randn(3, 5, generator=random, dtype=dtype), torch.randn(7, generator=random, dtype=dtype)]
    theirs = [v.clone().requires_grad_() for v in ours]
    adam = AdamOptimiser(ours, 0.3) if constant else CosineAdam(ours, 0.3, 40)
    optimiser = torch.optim.Adam(theirs, lr=0.3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 40)
    for step in range(40):
        slopes = [10.0 ** (step % 9 - 6) * torch.randn(v.shape, generator=random, dtype=dtype) for v in ours]
        for v, slope in zip(theirs, slopes, strict=True):
            v.grad = slope.clone()
        adam.step(slopes)
        optimiser.step()
        if not constant:
            schedule.step()
        assert all(bool((v == other).all()) for v, other in zip(ours, theirs, strict=True)), step
