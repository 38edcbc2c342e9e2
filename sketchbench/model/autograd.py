"""Sketches as differentiable functions of torch tensors.

The backward pass of a sketch is its transpose, which is linear, too, so that functions can be differentiated any number
of times. Tensors and arrays share memory.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import dlpack

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch


def device_of(kernels: Kernels) -> str:
    """The type of torch device of tensors for these kernels: `cuda` or `cpu`."""
    return "cuda" if kernels.NAME == "cupy" else "cpu"


def kernels_of(tensor: Tensor) -> str:
    """The name of the kernels for the device of a tensor: `cupy` or `numba`."""
    return "cupy" if tensor.is_cuda else "numba"


def sketch(operator: Sketch, x: Tensor) -> Tensor:
    """R x along the last axis: (..., d) -> (..., b).

    Non-finite entries are not refused, since a divergence shows in the loss. A contiguous x is not copied.

    Arguments:
        operator: R, a single operator.
        x: (..., d), on the device of the operator's kernels: CUDA for `cupy`, else the CPU.

    Returns:
        (..., b), in the dtype of x, or float32 for x in half precision.

    Raises:
        TypeError: for a tensor on another device.
    """
    return _apply(x, operator, operator.sketch, operator.desketch)


def desketch(operator: Sketch, y: Tensor) -> Tensor:
    """Rᵀ y along the last axis: (..., b) -> (..., d), with dtypes and errors of `sketch`."""
    return _apply(y, operator, operator.desketch, operator.sketch)


def project(operator: Sketch, x: Tensor) -> Tensor:
    """RᵀR x along the last axis: (..., d) -> (..., d), with dtypes and errors of `sketch`."""
    return _apply(x, operator, operator.project, operator.project)


Operation = Callable[..., Array]


def _apply(x: Tensor, operator: Sketch, forward: Operation, backward: Operation) -> Tensor:
    """Apply `forward` to a tensor, recorded for the backward pass where gradients are needed."""
    if x.dtype in (torch.bfloat16, torch.float16):
        x = x.float()
    if not (x.requires_grad and torch.is_grad_enabled()):
        return _compute(x, operator.kernels, forward)
    return _linear(x, operator.kernels, forward, backward)


class _Linear(torch.autograd.Function):
    """A linear function of arrays, with a given transpose."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernels: Kernels, forward: Operation, backward: Operation) -> Tensor:
        ctx.operations = kernels, backward, forward
        return _compute(x, kernels, forward)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (gradient,) = gradients
        kernels, forward, backward = ctx.operations
        if torch.is_grad_enabled():  # to be differentiated again
            return _linear(gradient, kernels, forward, backward), None, None, None
        return _compute(gradient, kernels, forward), None, None, None


def _linear(x: Tensor, kernels: Kernels, forward: Operation, backward: Operation) -> Tensor:
    """Apply a linear function with transpose `backward` to a tensor, recorded for the backward pass."""
    result: Tensor = _Linear.apply(x, kernels, forward, backward)  # type: ignore[no-untyped-call]
    return result


def _compute(x: Tensor, kernels: Kernels, operation: Operation) -> Tensor:
    """Apply an operation on arrays to a tensor, without gradients."""
    device = device_of(kernels)
    if x.device.type != device:
        raise TypeError(
            f"a tensor on {x.device.type} can't go through {kernels.NAME} kernels; draw the operator with "
            f"kernels={kernels_of(x)}, or move the tensor to {device}"
        )
    x = x.detach().contiguous()
    if device == "cpu":  # a few microseconds faster than DLPack
        return torch.from_numpy(operation(x.numpy(), check_finite=False))
    result: Tensor = dlpack.from_dlpack(operation(kernels.xp.from_dlpack(x), check_finite=False))
    return result
