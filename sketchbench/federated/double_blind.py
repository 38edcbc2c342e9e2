"""Double-blind collaborative learning (zhang2021 §4.2): the messages of server and clients, and their use.

Only the server knows the weights W of sketched layers. It sends W̃ = W S and the key of S; a client answers with Γ, and
the server applies Γ Sᵀ. The parameters of all other layers are sent unchanged. So a model without sketched layers gives
plain federated learning.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from sketchbench.compressor.message import KEY, WORD
from sketchbench.kernels import Kernels
from sketchbench.learning.model import autograd, classification, sketched

Option = Literal["I", "II"]  # option of a client's estimate of the weights
OPTIONS: tuple[Option, ...] = get_args(Option)
Weights = dict[str, Tensor]  # by parameter name
Shapes = dict[str, tuple[int, ...]]  # by parameter name


@dataclass(frozen=True)
class Broadcast:
    """The server's message to the clients of a round: their whole view of the model.

    Arguments:
        key: 64 bits, from which S of every layer follows (`sketched.draw`).
        weights: W̃ of sketched layers, (out, s), and the other parameters unchanged.
    """

    key: int
    weights: Weights

    @property
    def nbytes(self) -> int:
        return KEY + _nbytes(self.weights)


@dataclass(frozen=True)
class BlindReply:
    """A client's message: the server's whole view of its data.

    Arguments:
        client: the number of the client.
        samples: the number of its samples.
        steps: by parameter, the learning rate times the sum of its local gradients; for a sketched layer the gradient
            by W̃, which is Γ, (out, s).
    """

    client: int
    samples: int
    steps: Weights

    @property
    def nbytes(self) -> int:
        """Bytes of the steps; the server knows the client and its number of samples already."""
        return _nbytes(self.steps)


def message_shapes(model: nn.Module) -> Shapes:
    """The shapes of a message's tensors by parameter: (out, s) for sketched weights, others unchanged."""
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    for name, layer in sketched.layers(model):
        shapes[f"{name}.weight"] = (len(layer.weight), layer.family.b)
    return shapes


def check_twin(model: nn.Module, twin: nn.Module) -> None:
    """Raise ValueError if server's and client's model differ in a parameter, or in its shape in messages."""
    messages, parameters = message_shapes(model), _shapes(dict(twin.named_parameters()))
    _check_shapes("the twin", parameters, messages)
    _check_shapes("the model", messages, parameters)


def _shapes(tensors: Mapping[str, Tensor]) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def _check_shapes(what: str, shapes: Shapes, expected: Shapes) -> None:
    """Raise ValueError unless all expected shapes are there; others are ignored."""
    for name, shape in expected.items():
        if shapes.get(name) != shape:
            raise ValueError(
                f"{what}: {name} of shape {shapes.get(name)} must have shape {shape}; make models and messages of one "
                "network"
            )


def reply_bytes(model: nn.Module) -> int:
    """The bytes of a reply: out · s words for every sketched layer, one word for each entry of other parameters. A
    broadcast has a KEY more."""
    return WORD * sum(math.prod(shape) for shape in message_shapes(model).values())


def _nbytes(tensors: Weights) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def broadcast(model: nn.Module, key: int, kernels: Kernels) -> Broadcast:
    """Draw the sketches of a round, and sketch the server's weights. The message shares no memory with the model."""
    sketched.draw(model, key, kernels)
    weights = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    with torch.no_grad():
        for name, layer in sketched.layers(model):
            weights[f"{name}.weight"] = autograd.sketch(layer.current, layer.weight.flatten(1))
    return Broadcast(key, weights)


def receive(twin: nn.Module, message: Broadcast, kernels: Kernels) -> None:
    """Load a broadcast into a client's `twin` of `blind.make_blind`. Raises ValueError for another model's message."""
    named = dict(twin.named_parameters())
    _check_shapes("the message", _shapes(message.weights), _shapes(named))
    sketched.draw(twin, message.key, kernels)
    with torch.no_grad():
        for name, parameter in named.items():
            parameter.copy_(message.weights[name])


def aggregate(model: nn.Module, replies: Sequence[BlindReply]) -> None:
    """Update the server's model: W ← W - Γ Sᵀ, with the replies' mean Γ, weighted by their numbers of samples. S are
    the sketches that the model drew last. Raises ValueError without a reply, or for one about no samples or another
    model."""
    if not replies:
        raise ValueError("replies: 0 must be at least one; let a client take part in every round")
    expected = message_shapes(model)
    for reply in replies:
        if reply.samples < 1:
            raise ValueError(f"samples={reply.samples} of client {reply.client} must be >= 1; leave it out")
        _check_shapes(f"the reply of client {reply.client}", _shapes(reply.steps), expected)
    total = sum(reply.samples for reply in replies)
    operators = sketched.operators(model)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mean = torch.stack([r.steps[name] * (r.samples / total) for r in replies]).sum(0)
            operator = operators.get(name)
            step = mean if operator is None else autograd.desketch(operator, mean)
            parameter.sub_(step.view_as(parameter))


def estimated_weights(twin: nn.Module, message: Broadcast, option: Option, kernels: Kernels) -> Weights:
    """A client's estimate of the weights of sketched layers, (out, d) (zhang2021 §6.3). The difference of two rounds'
    estimates is its estimate of the update. Option II takes O(d s²) for each layer, and the memory of its S.

    Arguments:
        twin: the client's model, which keeps the sketches of the message.
        message: from the server.
        option: `I` for W̃ Sᵀ = W S Sᵀ, which is unbiased; `II` for W̃ S⁺ = W S S⁺, which is nearest to W.
        kernels: backend of the sketches.
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
) -> BlindReply:
    """A client's reply after one gradient step on one batch (zhang2021 §4.2). Raises ValueError for no images, another
    number of labels, or a rate that is not positive and finite.

    Arguments:
        twin: the client's model, loaded by `receive`; it is not changed.
        client: the number of the client.
        images, labels: the batch, (N, channels, height, width) and (N,).
        rate: the learning rate.
        named: the twin's parameters by name, if known; looking them up takes as long as a small network's gradient.
    """
    if not len(labels) or len(images) != len(labels):
        raise ValueError(f"client {client}: {len(images)} images and {len(labels)} labels must be equally many, not 0")
    if not 0 < rate < math.inf:
        raise ValueError(f"rate={rate} must be > 0, and finite")
    named = named or dict(twin.named_parameters())
    loss = classification.loss(twin(images), labels)
    gradients = torch.autograd.grad(loss, list(named.values()), materialize_grads=True)  # 0 for what it does not use
    steps = {name: rate * gradient for name, gradient in zip(named, gradients, strict=True)}
    return BlindReply(client, len(labels), steps)
