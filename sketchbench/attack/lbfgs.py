"""L-BFGS with a line search for the strong Wolfe conditions."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.optim.lbfgs import _strong_wolfe

LEAST_CURVATURE = 1e-10  # of ⟨y, s⟩, for a step to be remembered
LEAST_SLOPE, LEAST_CHANGE = 1e-14, 1e-16  # the search ends below either


@torch.no_grad()
def minimise(variables: Sequence[Tensor], differentiate: Callable[[], Tensor], evaluations: int, history: int) -> None:
    """Minimise a function of some variables, in place (Nocedal and Wright 2006, Algorithms 7.4 and 7.5). Its steps
    equal torch.optim.LBFGS's with rate 1 bit for bit; torch's own imports its compiler, which takes a second.

    Arguments:
        variables: float64.
        differentiate: returns the function at the variables, and sets their gradients; an exception ends the search.
        evaluations: the number of evaluations at which the search ends; a line search may take a few more.
        history: the number of remembered steps.
    """
    differentiate = torch.enable_grad()(differentiate)
    sizes = [v.numel() for v in variables]

    def gradient() -> Tensor:
        return torch.cat([v.grad.view(-1) for v in variables if v.grad is not None])

    def move(length: float, direction: Tensor) -> None:
        for v, part in zip(variables, torch.split(direction, sizes), strict=True):
            v.add_(part.view_as(v), alpha=length)

    def look(start: Sequence[Tensor], length: float, direction: Tensor) -> tuple[float, Tensor]:
        """Evaluate the function and its gradient after a step from the start, and restore the variables."""
        move(length, direction)
        value, slope = float(differentiate()), gradient()
        for v, before in zip(variables, start, strict=True):
            v.copy_(before)
        return value, slope

    value, slope, count = float(differentiate()), gradient(), 1
    memory: list[tuple[Tensor, Tensor, float]] = []  # y, s and 1/⟨y, s⟩ of steps
    direction, scale, length = slope.neg(), 1.0, 1.0
    for iteration in range(evaluations):
        if slope.abs().max() <= LEAST_SLOPE or (steepness := slope.dot(direction)) > -LEAST_CHANGE:
            return
        if not iteration:
            length = min(1.0, 1.0 / float(slope.abs().sum()))
        start, before, old = [v.clone() for v in variables], value, slope
        value, slope, length, taken = _strong_wolfe(  # type: ignore[no-untyped-call]
            look, start, length, direction, value, slope, steepness, max_ls=evaluations - count
        )
        move(length, direction)
        count += taken
        step = direction.mul(length)
        if count >= evaluations or step.abs().max() <= LEAST_CHANGE or abs(value - before) < LEAST_CHANGE:
            return
        change = slope.sub(old)
        if (curvature := float(change.dot(step))) > LEAST_CURVATURE:
            memory = [*memory, (change, step, 1.0 / curvature)][-history:]
            scale = curvature / float(change.dot(change))
        direction, length = _precondition(slope.neg(), memory, scale), 1.0


def _precondition(x: Tensor, memory: Sequence[tuple[Tensor, Tensor, float]], scale: float) -> Tensor:
    """Multiply x in place by the inverse Hessian that the memory approximates."""
    shares = []
    for change, step, inverse in reversed(memory):
        shares.append(float(step.dot(x)) * inverse)
        x.add_(change, alpha=-shares[-1])
    x.mul_(scale)
    for (change, step, inverse), share in zip(memory, reversed(shares), strict=True):
        x.add_(step, alpha=share - float(change.dot(x)) * inverse)
    return x
