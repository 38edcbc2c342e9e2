"""Computations of a party of double-blind learning from its messages alone (zhang2021 §6.3, A.1).

Steps are learning rates times gradients, by parameter name; steps of sketched layers have the shape (out, d).
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from sketchbench.base.parameters import choose
from sketchbench.federated.double_blind import (
    OPTIONS,
    BlindReply,
    Broadcast,
    Option,
    Weights,
    estimated_weights,
)
from sketchbench.kernels import Kernels
from sketchbench.learning.model import autograd, sketched


def full_steps(model: nn.Module, reply: BlindReply) -> Weights:
    """The steps of all parameters from a client's reply: Γ Sᵀ for sketched layers, others unchanged (zhang2021 A.1).
    The `model` is the server's or the client's, with the sketches of the broadcast that the `reply` answers."""
    operators = sketched.operators(model)
    with torch.no_grad():
        return {
            name: autograd.desketch(operators[name], step) if name in operators else step
            for name, step in reply.steps.items()
        }


def full_weights(twin: nn.Module, message: Broadcast, option: Option, kernels: Kernels) -> Weights:
    """A client's estimate of all weights from a broadcast: estimated for sketched layers (zhang2021 §6.3), exact for
    others. Its model `twin` keeps the sketches of this broadcast."""
    choose("option", option, OPTIONS)
    return message.weights | estimated_weights(twin, message, option, kernels)


def estimate_update(
    twin: nn.Module,
    old: Broadcast,
    new: Broadcast,
    option: Option,
    kernels: Kernels,
) -> Weights:
    """A client's estimate of W_old - W_new of two broadcasts: estimated for sketched layers (zhang2021 §6.3), exact for
    others. Its model `twin` keeps the sketches of the old broadcast."""
    after, before = (full_weights(twin, message, option, kernels) for message in (new, old))
    return {name: before[name] - after[name] for name in before}


def step_of_other_client(update: Weights, own: Weights, share: float = 0.5) -> Weights:
    """The other client's step, from the weighted mean `update` of two clients' steps, and the attacker's `own` step
    with its weight `share`."""
    if not 0 <= share < 1:
        raise ValueError(f"share={share} must be >= 0 and < 1: the other client has the rest")
    _check_names(own, update)
    return {name: (update[name] - share * own[name]) / (1 - share) for name in update}


def flatten(steps: Weights, names: Sequence[str]) -> Tensor:
    """Join the steps of these parameters in one vector."""
    if not names:
        raise ValueError("names is empty, and must have the name of a parameter at least")
    _check_names(steps, names)
    return torch.cat([steps[name].flatten() for name in names])


def _check_names(steps: Weights, names: Iterable[str]) -> None:
    if missing := [name for name in names if name not in steps]:
        raise ValueError(f"no steps for {', '.join(missing)}; available: {', '.join(steps)}")
