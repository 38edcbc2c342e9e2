"""Double-blind collaborative learning (zhang2021 §4.2): what the two parties tell each other, and nothing else.

The server alone knows the weights W of sketched layers. It sends W̃ = W S and the key that S is drawn from; a
client answers with Γ, and the server applies Γ Sᵀ. Layers that aren't sketched travel as they are, so a
model without any makes this plain federated learning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from sketchbench.kernels import Kernels
from sketchbench.model import autograd, classification, sketched

KEY_BYTES = 8
Option = Literal["I", "II"]  # of a client's estimate
Weights = dict[str, Tensor]  # by the name of the parameter


@dataclass(frozen=True)
class Broadcast:
    """What the server sends to the clients of a round, and all that they see of the model.

    key: 64 bits, from which S of every layer follows (`sketched.draw`). weights: W̃ of sketched layers,
    (out, s), and the other parameters as they are.
    """

    key: int
    weights: Weights

    @property
    def nbytes(self) -> int:
        """Size of the message."""
        return KEY_BYTES + _nbytes(self.weights)


@dataclass(frozen=True)
class Reply:
    """What a client returns, and all that the server sees of its data.

    steps: the learning rate times the sum of its local gradients: for sketched layers those by W̃, which is Γ,
    (out, s). samples: how many the client has.
    """

    client: int
    samples: int
    steps: Weights

    @property
    def nbytes(self) -> int:
        """Size of the message, whose numbers are the steps; who sent it, and its share, are known."""
        return _nbytes(self.steps)


def _nbytes(tensors: Weights) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def broadcast(model: nn.Module, key: int, kernels: str | Kernels | None = None) -> Broadcast:
    """Draw the sketches of a round, and sketch the server's weights with them. Nothing sent is shared with
    the model's memory."""
    sketched.draw(model, key, kernels)
    weights = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    with torch.no_grad():
        for name, layer in sketched.layers(model):
            weights[f"{name}.weight"] = autograd.sketch(layer.current, layer.weight.flatten(1))
    return Broadcast(key, weights)


def receive(twin: nn.Module, message: Broadcast, kernels: str | Kernels | None = None) -> None:
    """Set up a client's model, made by `blind.blinded`, from a message."""
    sketched.draw(twin, message.key, kernels)
    with torch.no_grad():
        for name, parameter in twin.named_parameters():
            parameter.copy_(message.weights[name])


def aggregate(model: nn.Module, replies: Sequence[Reply]) -> None:
    """W ← W - Γ Sᵀ with the mean Γ of the replies, weighted by their samples, for the sketches last drawn."""
    total = sum(reply.samples for reply in replies)
    operators = sketched.operators(model)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mean = torch.stack([r.steps[name] * (r.samples / total) for r in replies]).sum(0)
            operator = operators.get(name)
            step = mean if operator is None else autograd.desketch(operator, mean)
            parameter.sub_(step.view_as(parameter))


def estimated_weights(
    twin: nn.Module, message: Broadcast, option: Option, kernels: str | Kernels | None = None
) -> Weights:
    """What a client can make of the weights of sketched layers, (out, d) (zhang2021 §6.3): W̃ Sᵀ = W S Sᵀ,
    unbiased (option I), or W̃ S⁺ = W S S⁺, the nearest (option II). The difference of those of two rounds
    is its estimate of the update.

    Option II takes O(d s²) for each layer, and the memory of its S.
    """
    sketched.draw(twin, message.key, kernels)
    found = {}
    with torch.no_grad():
        for layer_name, layer in sketched.layers(twin):
            name = f"{layer_name}.weight"
            weights = message.weights[name]
            if option == "I":
                found[name] = autograd.desketch(layer.current, weights)
            else:
                R = torch.as_tensor(layer.current.materialize(), device=weights.device)
                inverse = torch.linalg.pinv(R @ R.T, hermitian=True)  # S⁺ = (SᵀS)⁺ Sᵀ
                found[name] = (weights.double() @ inverse @ R).to(weights.dtype)
    return found


def respond(twin: nn.Module, client: int, images: Tensor, labels: Tensor, rate: float) -> Reply:
    """A client's answer after a single step on one batch (zhang2021 §4.2): images (N, channels, height, width)
    and labels (N,), with a model set up by `receive`, which stays as it is."""
    names, parameters = zip(*twin.named_parameters(), strict=True)
    gradients = torch.autograd.grad(classification.loss(twin(images), labels), parameters)
    steps = {name: rate * gradient for name, gradient in zip(names, gradients, strict=True)}
    return Reply(client, len(labels), steps)
