"""The device for torch: what was left on the CPU is found, and what torch makes for itself is not."""

import os
import subprocess
import sys

import pytest
from cuda_source import STAND_IN

pytestmark = pytest.mark.cuda

REFUSED = """
import cupy, torch
x = torch.ones(3, device="cuda")
for mixed in (
    lambda: x + torch.ones(3),
    lambda: torch.nn.Linear(3, 2)(x),
    lambda: torch.cat([x, torch.zeros(1)]),
    lambda: torch.func.grad(lambda w: (w * torch.ones(3)).sum())(x),
):
    try:
        mixed()
    except RuntimeError as error:
        assert "on the same device" in str(error), error
    else:
        raise AssertionError("not found")
try:
    x.numpy()
except TypeError as error:
    assert "can't convert cuda:0" in str(error), error
else:
    raise AssertionError("not refused")
"""
ALLOWED = """
import cupy, torch
x = torch.ones(1, 1, 4, 4, device="cuda")
w = torch.ones(1, 1, 2, 2, device="cuda")

def slope(x):
    loss = lambda w: torch.nn.functional.conv2d(x, w).tanh().sum()
    return torch.func.grad(loss)(w).flatten()

found = torch.func.jacfwd(slope)(x)  # where derivatives are zero, C++ makes them of nothing
assert found.device.type == "cuda" and found.shape == (4, 1, 1, 4, 4)
assert (x + 1).is_cuda and not torch.ones(3).is_cuda and not x.cpu().is_cuda
"""


@pytest.mark.parametrize("code", [REFUSED, ALLOWED], ids=["refused", "allowed"])
def test_tensors(code: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(STAND_IN)}
    environment.pop("EMULATED_CUDA_TORCH", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
