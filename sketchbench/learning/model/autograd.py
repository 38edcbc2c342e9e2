"""Sketches as differentiable functions of torch tensors.
The backward pass of a sketch is its transpose, which is also linear, so functions can be differentiated any number of
times, in either direction, and transformed by torch.func. Tensors and arrays share memory. In a forked child torch
works with one thread, as in its DataLoader's children: OpenMP would wait for the parent's threads for ever."""

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils import dlpack

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def device_of(kernels: Kernels) -> str:
    """The type of torch device of tensors for these kernels: `cuda` or `cpu`. On `cuda`, it sets convolutions of
    float32 to full precision: cuDNN's default rounds factors to 11 bits (TF32), unlike matrix products."""
    if kernels.NAME != "cupy":
        return "cpu"
    torch.backends.cudnn.allow_tf32 = False
    return "cuda"


def kernels_of(tensor: Tensor) -> str:
    """The name of the kernels for the device of a tensor: `cupy` or `numba`."""
    return "cupy" if tensor.is_cuda else "numba"


def sketch(operator: Sketch, x: Tensor) -> Tensor:
    """R x along the last axis: (..., d) -> (..., b), in the dtype of x, or float32 for x in half precision. Non-finite
    entries are allowed, since a divergence shows in the loss. A contiguous x is not copied. R is a single operator, x
    on its kernels' device: CUDA for `cupy`, else the CPU; TypeError for another device."""
    return _apply(x, operator, operator.sketch, operator.desketch)


def desketch(operator: Sketch, y: Tensor) -> Tensor:
    """Rᵀ y along the last axis: (..., b) -> (..., d), with dtypes and errors of `sketch`."""
    return _apply(y, operator, operator.desketch, operator.sketch)


def project(operator: Sketch, x: Tensor) -> Tensor:
    """RᵀR x along the last axis: (..., d) -> (..., d), with dtypes and errors of `sketch`."""
    return _apply(x, operator, operator.project, operator.project)


Operation = Callable[..., Array]


def _apply(x: Tensor, operator: Sketch, forward: Operation, backward: Operation) -> Tensor:
    """Apply `forward` to a tensor, recorded if derivatives are needed."""
    if torch.compiler.is_compiling():  # it would look into the kernels
        torch._dynamo.graph_break(msg="sketches stay out of compiled graphs; compile with fullgraph=False")
        return torch.compiler.disable(_evaluate)(x, operator, forward, backward)  # type: ignore[no-untyped-call]
    return _evaluate(x, operator, forward, backward)


def _evaluate(x: Tensor, operator: Sketch, forward: Operation, backward: Operation) -> Tensor:
    if x.dtype in (torch.bfloat16, torch.float16):
        x = x.float()
    if torch._C._are_functorch_transforms_active():
        return _recorded(_Transformed, x, operator, forward, backward)
    if (x.requires_grad and torch.is_grad_enabled()) or forward_ad._current_level >= 0:
        return _recorded(_Linear, x, operator, forward, backward)
    return _compute(x, operator.kernels, forward)


def _recorded(function: type[torch.autograd.Function], *arguments: Any) -> Tensor:
    result: Tensor = function.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


class _Linear(torch.autograd.Function):
    """A linear function along the last axis, with a given transpose."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, operator: Sketch, forward: Operation, backward: Operation) -> Tensor:
        ctx.operations = operator, forward, backward
        return _compute(x, operator.kernels, forward)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        operator, forward, backward = ctx.operations
        return _apply(gradients[0], operator, backward, forward), None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        return _apply(tangents[0], *ctx.operations)


class _Transformed(torch.autograd.Function):
    """`_Linear` for the transforms of torch.func, whose calls take longer."""

    backward, jvp = _Linear.backward, _Linear.jvp

    @staticmethod
    def forward(x: Tensor, operator: Sketch, forward: Operation, backward: Operation) -> Tensor:
        return _compute(x, operator.kernels, forward)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        _, *ctx.operations = inputs

    @staticmethod
    def vmap(info: Any, axes: tuple[int | None, ...], x: Tensor, *operation: Any) -> tuple[Tensor, int | None]:
        axis = axes[0]
        return (_apply(x, *operation), None) if axis is None else (_apply(x.movedim(axis, 0), *operation), 0)


def _compute(x: Tensor, kernels: Kernels, operation: Operation) -> Tensor:
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
