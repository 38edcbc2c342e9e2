"""Double-blind collaborative learning (zhang2021 §4.2): the messages of the two parties, and what each does with them.

The server alone knows the weights W of sketched layers. It sends W̃ = W S and the key that S is drawn from; a
client answers with Γ, and the server applies Γ Sᵀ. Layers that aren't sketched are sent as they are, so a
model without sketched layers makes this plain federated learning.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from sketchbench.kernels import Kernels
from sketchbench.model import autograd, classification, sketched

KEY_BYTES = 8
WORD_BYTES = 4  # float32
Option = Literal["I", "II"]  # of a client's estimate
Weights = dict[str, Tensor]  # by the name of the parameter


@dataclass(frozen=True)
class Broadcast:
    """What the server sends to the clients of a round, and all that they see of the model.

    Arguments:
        key: 64 bits, from which S of every layer follows (`sketched.draw`).
        weights: W̃ of sketched layers, (out, s), and the other parameters as they are.
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

    Arguments:
        client: its number.
        samples: the number of its samples.
        steps: the learning rate times the sum of its local gradients: for sketched layers those by W̃, which is Γ,
            (out, s).
    """

    client: int
    samples: int
    steps: Weights

    @property
    def nbytes(self) -> int:
        """Size of the steps; the server knows the client and its number of samples already."""
        return _nbytes(self.steps)


def reply_bytes(model: nn.Module) -> int:
    """What the size of a reply must be by the protocol: out · s words for every sketched layer, and all words of the
    other parameters. A broadcast has KEY_BYTES more."""
    words = {name: parameter.numel() for name, parameter in model.named_parameters()}
    for name, layer in sketched.layers(model):
        words[f"{name}.weight"] = len(layer.weight) * layer.family.b
    return WORD_BYTES * sum(words.values())


def _nbytes(tensors: Weights) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def broadcast(model: nn.Module, key: int, kernels: Kernels) -> Broadcast:
    """Draw the sketches of a round, and sketch the server's weights with them. The message shares no memory with the
    model."""
    sketched.draw(model, key, kernels)
    weights = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    with torch.no_grad():
        for name, layer in sketched.layers(model):
            weights[f"{name}.weight"] = autograd.sketch(layer.current, layer.weight.flatten(1))
    return Broadcast(key, weights)


def receive(twin: nn.Module, message: Broadcast, kernels: Kernels) -> None:
    """Set up a client's model, made by `blind.make_blind`, from a message."""
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


def estimated_weights(twin: nn.Module, message: Broadcast, option: Option, kernels: Kernels) -> Weights:
    """A client's estimate of the weights of sketched layers, (out, d) (zhang2021 §6.3).

    The difference of the estimates of two rounds is its estimate of the update. Option II takes O(d s²) for each
    layer, and the memory of its S.

    Arguments:
        twin: the client's model; left with the sketches of the message.
        message: from the server.
        option: I is W̃ Sᵀ = W S Sᵀ, unbiased; II is W̃ S⁺ = W S S⁺, the nearest to W.
        kernels: that the sketches are drawn with.
    """
    sketched.draw(twin, message.key, kernels)
    estimates = {}
    with torch.no_grad():
        for layer_name, layer in sketched.layers(twin):
            name = f"{layer_name}.weight"
            weights = message.weights[name]
            if option == "I":
                estimates[name] = autograd.desketch(layer.current, weights)
            else:
                R = torch.as_tensor(layer.current.materialize(), device=weights.device)
                inverse = torch.linalg.pinv(R @ R.T, hermitian=True)  # S⁺ = (SᵀS)⁺ Sᵀ
                estimates[name] = (weights.double() @ inverse @ R).to(weights.dtype)
    return estimates


def respond(
    twin: nn.Module,
    client: int,
    images: Tensor,
    labels: Tensor,
    rate: float,
    named: Mapping[str, Tensor] | None = None,
) -> Reply:
    """A client's answer after a single step on one batch (zhang2021 §4.2).

    Arguments:
        twin: the client's model, set up by `receive`; it stays as it is.
        client: its number.
        images, labels: (N, channels, height, width) and (N,).
        rate: the learning rate.
        named: the parameters of the twin, where they have been looked up already: that takes as long as a small
            network.
    """
    named = named or dict(twin.named_parameters())
    gradients = torch.autograd.grad(classification.loss(twin(images), labels), list(named.values()))
    steps = {name: rate * gradient for name, gradient in zip(named, gradients, strict=True)}
    return Reply(client, len(labels), steps)
