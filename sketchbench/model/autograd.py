"""Sketches as differentiable functions of torch tensors.

A sketch is linear, so its derivative is its transpose: each function here calls itself to go backward, and
can be differentiated any number of times. Tensors and arrays share their memory.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import dlpack

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch


def device_of(kernels: Kernels) -> str:
    """The kind of device that tensors must be on to go through these kernels."""
    return "cuda" if kernels.NAME == "cupy" else "cpu"


def sketch(operator: Sketch, x: Tensor) -> Tensor:
    """R x along the last axis: (..., d) -> (..., b), in the dtype of x, float32 or float64; float32 for half
    precision, which no kernel computes in.

    The tensor must be where the operator's kernels compute: on a CUDA device for `cupy`, else on the CPU.
    Raises TypeError where it is not. Entries are not searched for non-finite ones: a training that diverges
    shows in its loss. Copies nothing where x is contiguous.
    """
    return _applied(x, operator, operator.sketch, operator.desketch)


def desketch(operator: Sketch, y: Tensor) -> Tensor:
    """Rᵀ y along the last axis: (..., b) -> (..., d); the rest as in `sketch`."""
    return _applied(y, operator, operator.desketch, operator.sketch)


def project(operator: Sketch, x: Tensor) -> Tensor:
    """RᵀR x along the last axis: (..., d) -> (..., d), which is its own transpose; the rest as in `sketch`."""
    return _applied(x, operator, operator.project, operator.project)


Operation = Callable[..., Array]


def _applied(x: Tensor, operator: Sketch, forward: Operation, backward: Operation) -> Tensor:
    if x.dtype in (torch.bfloat16, torch.float16):
        x = x.float()
    if not (x.requires_grad and torch.is_grad_enabled()):
        return _computed(x, operator.kernels, forward)
    result: Tensor = _Linear.apply(x, operator.kernels, forward, backward)  # type: ignore[no-untyped-call]
    return result


class _Linear(torch.autograd.Function):
    """A linear function of arrays, whose transpose is given."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernels: Kernels, forward: Operation, backward: Operation) -> Tensor:
        ctx.operations = kernels, backward, forward
        return _computed(x, kernels, forward)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (gradient,) = gradients
        kernels, forward, backward = ctx.operations
        if torch.is_grad_enabled():  # to be differentiated again
            return _Linear.apply(gradient, kernels, forward, backward), None, None, None  # type: ignore[no-untyped-call]
        return _computed(gradient, kernels, forward), None, None, None


def _computed(x: Tensor, kernels: Kernels, operation: Operation) -> Tensor:
    wanted = device_of(kernels)
    if x.device.type != wanted:
        raise TypeError(
            f"a tensor on {x.device.type} can't go through {kernels.NAME} kernels; draw the operator with "
            f"kernels={'cupy' if x.device.type == 'cuda' else 'numba'}, or move the tensor to {wanted}"
        )
    x = x.detach().contiguous()
    if wanted == "cpu":  # as good as DLPack, and a few microseconds faster
        return torch.from_numpy(operation(x.numpy(), check_finite=False))
    result: Tensor = dlpack.from_dlpack(operation(kernels.xp.from_dlpack(x), check_finite=False))
    return result
