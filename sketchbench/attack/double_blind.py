"""What the server and a client see of a round of FedAvg, open or double-blind (zhang2021 §5.1, §6.3, A.1, A.3).

The round has two clients, the victim and another one, each with one image and one step: of all numbers of clients the
easiest for an attacker among them. Layers that aren't sketched travel as they are, in the paper's experiments the last
one, and with it all biases.

Every view is a function of a victim, the family of the sketched layers (None for open FedAvg), the kernels and a seed
of 64 bits, as conf/view has them.
"""

from collections.abc import Collection
from typing import NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor, nn

from sketchbench.attack.messages import flattened, full_steps, full_weights, of_the_other
from sketchbench.attack.victim import MakeNetwork, Victim, gradients
from sketchbench.attack.view import View
from sketchbench.federated.double_blind import Broadcast, Option, Reply, Weights, receive
from sketchbench.federated.fedavg import FedAvg
from sketchbench.kernels import Kernels
from sketchbench.model import sketched
from sketchbench.model.blind import make_blind
from sketchbench.parameters import choose
from sketchbench.sketch.family import Family

RATE = 0.1  # of the clients' steps: public, and divided out


class Exchange(NamedTuple):
    """All messages of one round, and the broadcast of the next.

    Attributes:
        first: the broadcast of the round.
        replies: the victim's, then that of the other client.
        second: the broadcast of the next round.
    """

    first: Broadcast
    replies: list[Reply]
    second: Broadcast


def exchange(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> Exchange:
    """Run the protocol for two clients that each take one step; without a family, open FedAvg."""
    model, twin = victim.network(family), _twin(victim.network, family)
    algorithm = FedAvg(RATE, batch=1, participation=1.0)
    parts = [np.array([client]) for client in range(2)]
    before, after = algorithm.run(model, twin, victim.samples, parts, seed, rounds=1, kernels=kernels)
    return Exchange(before.broadcast, after.replies, after.broadcast)


# The server's views


def undefended(victim: Victim, family: Family, kernels: Kernels, seed: int) -> View:
    """The server's view of open FedAvg: the gradient itself. The family plays no part."""
    return server(victim, None, kernels, seed)


def server(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """The server compares Γ with the gradient of the network with sketched layers, which is what the client computed.

    It knows W, the key and Γ (zhang2021 A.1).
    """
    first, (reply, _), _ = exchange(victim, family, kernels, seed)
    twin = _twin(victim.network, family)
    receive(twin, first, kernels)
    return _view(victim, twin, reply.steps, reply.nbytes)


def server_paper(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """The server compares Γ Sᵀ with the gradient of the plain network, as zhang2021 A.1 does."""
    first, (reply, _), _ = exchange(victim, family, kernels, seed)
    network = victim.network(family)  # with W, which the server has
    sketched.draw(network, first.key, kernels)
    return _view(victim, network.eval(), full_steps(network, reply), reply.nbytes)


# The other client's views: it knows the keys, its own reply, and W̃ before and after, so by zhang2021 (1) what the
# victim's step must have been


def client(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """The client uses what it knows exactly: all parameters but the weights of sketched layers."""
    twin = _twin(victim.network, family)
    hidden = {f"{name}.weight" for name, _ in sketched.layers(twin)}
    names = [name for name, _ in twin.named_parameters() if name not in hidden]
    return _exact(victim, family, kernels, seed, names)


def client_last(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """Of these, the client uses the last layer only."""
    layer = _last_layer(victim.network(family))
    return _exact(victim, family, kernels, seed, [f"{layer}.weight", f"{layer}.bias"])


def client_biases(victim: Victim, family: Family | None, kernels: Kernels, seed: int) -> View:
    """Of these, the client uses the biases of all layers only."""
    names = [name for name, _ in victim.network(family).named_parameters() if name.endswith("bias")]
    return _exact(victim, family, kernels, seed, names)


def client_estimates(victim: Victim, family: Family | None, kernels: Kernels, seed: int, *, option: Option) -> View:
    """The client uses all parameters, with estimates of the weights of sketched layers (zhang2021 §6.3).

    They are compared with the gradient of the plain network, whose weights are estimated the same way.

    option: `I` estimates by S Sᵀ, `II` by S S⁺. Raises ValueError for another.
    """
    choose("option", option, get_args(Option))
    first, (reply, own), second = exchange(victim, family, kernels, seed)
    twin = _twin(victim.network, family)
    after, before = (full_weights(twin, message, option, kernels) for message in (second, first))
    steps = full_steps(twin, own)  # through the sketches of the first broadcast, which were drawn last, as Γ is
    network = _with(victim.network(None), before)
    victims = _victims_step(before, after, steps, own.samples / (reply.samples + own.samples))
    return _view(victim, network, victims, second.nbytes)


def _exact(victim: Victim, family: Family | None, kernels: Kernels, seed: int, names: Collection[str]) -> View:
    """The client's view of parameters that aren't sketched."""
    first, (reply, own), second = exchange(victim, family, kernels, seed)
    twin = _twin(victim.network, family)
    receive(twin, first, kernels)
    before, after = ({name: message.weights[name] for name in names} for message in (first, second))
    victims = _victims_step(before, after, own.steps, own.samples / (reply.samples + own.samples))
    return _view(victim, twin, victims, second.nbytes)


def _victims_step(before: Weights, after: Weights, own: Weights, share: float) -> Weights:
    """The victim's step, from the weights before and after, and the client's step with its share in the mean."""
    return of_the_other({name: before[name] - after[name] for name in before}, own, share)


def _twin(network: MakeNetwork, family: Family | None) -> nn.Module:
    """A client's model."""
    return make_blind(network(family)).to(torch.float64).train()


def _with(network: nn.Module, weights: Weights) -> nn.Module:
    """The network with these weights, flattened or not."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(weights[name].view_as(parameter))
    return network


def _last_layer(network: nn.Module) -> str:
    """The name of the last layer that has parameters."""
    *_, name = (
        name for name, part in network.named_modules() if next(part.parameters(recurse=False), None) is not None
    )
    return name


def _view(victim: Victim, network: nn.Module, steps: Weights, nbytes: int) -> View:
    """A view of these parameters' steps, over the rate, compared with the gradients of a network.

    Nothing of the victim but public things goes into it.
    """
    names = [name for name, _ in network.named_parameters() if name in steps]

    def predicted(image: Tensor, label: Tensor) -> Tensor:
        return flattened(gradients(network, image, label), names)

    observed, output = flattened(steps, names).detach() / RATE, steps[f"{_last_layer(network)}.bias"] / RATE
    return View(observed, predicted, victim.shape, victim.classes, nbytes, output)
