"""Sketches as differentiable functions of torch tensors.

A sketch is linear, so its backward pass is its transpose, which is linear as well: each function here can be
differentiated any number of times. Tensors and arrays share their memory.
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


def kernels_of(tensor: Tensor) -> str:
    """The name of the kernels that fit the device of a tensor."""
    return "cupy" if tensor.is_cuda else "numba"


def sketch(operator: Sketch, x: Tensor) -> Tensor:
    """R x along the last axis.

    Entries are not searched for non-finite ones: a training that diverges shows in its loss. Nothing is copied where
    x is contiguous.

    Arguments:
        operator: R.
        x: (..., d), on the device that the operator's kernels compute on: CUDA for `cupy`, else the CPU.

    Returns:
        (..., b), in the dtype of x, float32 or float64; in float32 where x is in half precision, which no kernel
        computes in.

    Raises:
        TypeError: for a tensor on another device.
    """
    return _applied(x, operator, operator.sketch, operator.desketch)


def desketch(operator: Sketch, y: Tensor) -> Tensor:
    """Rᵀ y along the last axis: (..., b) -> (..., d); the rest as in `sketch`."""
    return _applied(y, operator, operator.desketch, operator.sketch)


def project(operator: Sketch, x: Tensor) -> Tensor:
    """RᵀR x along the last axis: (..., d) -> (..., d), a symmetric map; the rest as in `sketch`."""
    return _applied(x, operator, operator.project, operator.project)


Operation = Callable[..., Array]


def _applied(x: Tensor, operator: Sketch, forward: Operation, backward: Operation) -> Tensor:
    """An operation of an operator on a tensor, recorded for the backward pass where gradients are needed."""
    if x.dtype in (torch.bfloat16, torch.float16):
        x = x.float()
    if not (x.requires_grad and torch.is_grad_enabled()):
        return _computed(x, operator.kernels, forward)
    return _linear(x, operator.kernels, forward, backward)


class _Linear(torch.autograd.Function):
    """A linear function of arrays, with a given transpose."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernels: Kernels, forward: Operation, backward: Operation) -> Tensor:
        ctx.operations = kernels, backward, forward
        return _computed(x, kernels, forward)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (gradient,) = gradients
        kernels, forward, backward = ctx.operations
        if torch.is_grad_enabled():  # to be differentiated again
            return _linear(gradient, kernels, forward, backward), None, None, None
        return _computed(gradient, kernels, forward), None, None, None


def _linear(x: Tensor, kernels: Kernels, forward: Operation, backward: Operation) -> Tensor:
    """A linear function of a tensor, recorded for the backward pass."""
    result: Tensor = _Linear.apply(x, kernels, forward, backward)  # type: ignore[no-untyped-call]
    return result


def _computed(x: Tensor, kernels: Kernels, operation: Operation) -> Tensor:
    """The operation on a tensor as an array, without gradients."""
    device = device_of(kernels)
    if x.device.type != device:
        raise TypeError(
            f"a tensor on {x.device.type} can't go through {kernels.NAME} kernels; draw the operator with "
            f"kernels={kernels_of(x)}, or move the tensor to {device}"
        )
    x = x.detach().contiguous()
    if device == "cpu":  # as good as DLPack, and a few microseconds faster
        return torch.from_numpy(operation(x.numpy(), check_finite=False))
    result: Tensor = dlpack.from_dlpack(operation(kernels.xp.from_dlpack(x), check_finite=False))
    return result
