"""Views of a round of FedAvg, plain or double-blind, for the server and a client (zhang2021 §5.1, §6.3, A.1, A.3).

The round has two clients with one image and one step each, which makes it easiest for one client to attack the other.
Layers that aren't sketched are sent uncompressed: in the paper's experiments the last layer and all biases.

Every view is a function of a victim, the family of the sketched layers (None for plain FedAvg), the kernels and a
64-bit seed, as in conf/view.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sketchbench.attack.messages import flatten, full_steps, full_weights, step_of_other_client
from sketchbench.attack.victim import MakeNetwork, Victim, gradients
from sketchbench.attack.view import View
from sketchbench.base.parameters import checked
from sketchbench.federated.double_blind import BlindReply, Broadcast, Option, Weights, receive
from sketchbench.federated.fedavg import FedAvg
from sketchbench.kernels import Kernels
from sketchbench.learning.model import sketched
from sketchbench.learning.model.blind import make_blind
from sketchbench.sketch.family import Family

RATE = 0.1  # public learning rate of the clients: steps are divided by it


class BlindExchange(NamedTuple):
    """All messages of one round, and the broadcast of the next; the victim's reply comes first."""

    first: Broadcast
    replies: list[BlindReply]
    second: Broadcast


@checked
def exchange(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> BlindExchange:
    """Run the protocol for two clients with one step each; without a family, plain FedAvg."""
    model, twin = victim.network(family), _twin(victim.network, family)
    algorithm = FedAvg(RATE, batch=1, participation=1.0)
    parts = [np.array([client]) for client in range(2)]
    before, after = algorithm.run(model, twin, victim.samples, parts, seed, rounds=1, kernels=kernels)
    return BlindExchange(before.broadcast, after.replies, after.broadcast)


# The server's views


@checked
def undefended(victim: Victim, family: Family, kernels: Kernels, seed: int) -> View:
    """The server's view of plain FedAvg: the gradient itself. The family is not used."""
    return server(victim, None, kernels, seed)


@checked
def server(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """The server's view in double-blind learning: it compares Γ with the gradient of the sketched network. The server
    knows W, the key and Γ (zhang2021 A.1), and so the network with which the client computed Γ."""
    first, (reply, _), _ = exchange(victim, family, kernels, seed)
    twin = _twin(victim.network, family)
    receive(twin, first, kernels)
    return _view(victim, twin, reply.steps, reply.nbytes)


@checked
def server_paper(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """The server's view in zhang2021 A.1: it compares Γ Sᵀ with the gradient of the plain network."""
    first, (reply, _), _ = exchange(victim, family, kernels, seed)
    network = victim.network(family)  # with W, which the server has
    sketched.draw(network, first.key, kernels)
    return _view(victim, network.eval(), full_steps(network, reply), reply.nbytes)


# The other client's views. The client knows the keys, its own reply, and W̃ before and after the round, and computes
# the victim's step from these (zhang2021 Eq. 1).


@checked
def client(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """The client's view of all parameters that it knows exactly: all but the weights of sketched layers."""
    twin = _twin(victim.network, family)
    hidden = {f"{name}.weight" for name, _ in sketched.layers(twin)}
    names = [name for name, _ in twin.named_parameters() if name not in hidden]
    return _exact(victim, family, kernels, seed, names)


@checked
def client_last(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """The client's view of the last layer alone."""
    layer = _last_layer(victim.network(family))
    return _exact(victim, family, kernels, seed, [f"{layer}.weight", f"{layer}.bias"])


@checked
def client_biases(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """The client's view of the biases of all layers alone."""
    names = [name for name, _ in victim.network(family).named_parameters() if name.endswith("bias")]
    return _exact(victim, family, kernels, seed, names)


@checked
def client_estimates(victim: Victim, family: Family | None, kernels: Kernels, seed: int, *, option: Option) -> View:
    """The client's view of all parameters, with estimates of the weights of sketched layers (zhang2021 §6.3). The
    victim's step is compared with the gradient of the plain network at estimated weights. The `option` is `I` for
    estimates by S Sᵀ, and `II` for S S⁺; any other raises ValueError."""
    first, (reply, own), second = exchange(victim, family, kernels, seed)
    twin = _twin(victim.network, family)
    after, before = (full_weights(twin, message, option, kernels) for message in (second, first))
    steps = full_steps(twin, own)  # through the sketches of the first broadcast, which were drawn last, as Γ is
    network = _with(victim.network(None), before)
    victims = _victims_step(before, after, steps, own.samples / (reply.samples + own.samples))
    return _view(victim, network, victims, second.nbytes)


def _exact(victim: Victim, family: Family | None, kernels: Kernels, seed: int, names: Collection[str]) -> View:
    """The client's view of these parameters, which are not sketched."""
    first, (reply, own), second = exchange(victim, family, kernels, seed)
    twin = _twin(victim.network, family)
    receive(twin, first, kernels)
    before, after = ({name: message.weights[name] for name in names} for message in (first, second))
    victims = _victims_step(before, after, own.steps, own.samples / (reply.samples + own.samples))
    return _view(victim, twin, victims, second.nbytes)


def _victims_step(before: Weights, after: Weights, own: Weights, share: float) -> Weights:
    """The victim's step, from the weights around the round, the other client's step and its `share` in the mean."""
    return step_of_other_client({name: before[name] - after[name] for name in before}, own, share)


def _twin(network: MakeNetwork, family: Family | None) -> nn.Module:
    return make_blind(network(family)).to(torch.float64).train()


def _with(network: nn.Module, weights: Weights) -> nn.Module:
    """Set a network's weights from tensors of any shape, and return it."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(weights[name].view_as(parameter))
    return network


def _last_layer(network: nn.Module) -> str:
    *_, name = (
        name for name, part in network.named_modules() if next(part.parameters(recurse=False), None) is not None
    )
    return name


def _view(victim: Victim, network: nn.Module, steps: Weights, nbytes: int) -> View:
    """The view of the victim's steps over the rate. It reads the shape of images and the number of classes only."""
    names = [name for name, _ in network.named_parameters() if name in steps]

    def predicted(image: Tensor, label: Tensor) -> Tensor:
        return flatten(gradients(network, image, label), names)

    observed, output = flatten(steps, names).detach() / RATE, steps[f"{_last_layer(network)}.bias"] / RATE
    return View(observed, predicted, victim.shape, victim.classes, nbytes, output)
