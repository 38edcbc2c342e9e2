"""What the server and a client see of a round of FedAvg, open or double-blind (zhang2021 §5.1, §6.3, A.1, A.3).

The round has two clients, the victim and another one, each with one image and one step: of all numbers of
clients the easiest for an attacker among them. Layers that aren't sketched travel as they are, in the
paper's experiments the last one, and with it all biases.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor, nn

from sketchbench.attack.messages import flattened, full_steps, full_weights, of_the_other
from sketchbench.attack.victim import MakeNetwork, Victim, gradients
from sketchbench.attack.view import View
from sketchbench.federated.double_blind import (
    Broadcast,
    Reply,
    Weights,
    receive,
)
from sketchbench.federated.fedavg import FedAvg
from sketchbench.kernels import Kernels
from sketchbench.model import sketched
from sketchbench.model.blind import blinded
from sketchbench.sketch.family import Family

RATE = 0.1  # of the clients' steps: public, and divided out
Matched = Literal["paper", "sketched"]
Update = Literal["I", "II", "exact", "last", "biases"]


class Exchange(NamedTuple):
    """All messages of one round, and the broadcast of the next. The first reply is the victim's."""

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


def undefended(victim: Victim, family: Family, kernels: Kernels, seed: int) -> View:
    """The server's view of open FedAvg: the gradient itself. The family plays no part."""
    return server(victim, None, kernels, seed)


def server(
    victim: Victim,
    family: Family | None,
    kernels: Kernels,
    seed: int,
    *,
    matched: Matched = "sketched",
) -> View:
    """The server knows W, the key and Γ (zhang2021 A.1).

    matched: `paper` holds Γ Sᵀ against the gradient of the plain network; `sketched` holds Γ against that of the
    network with sketched layers, which is what the client computed. Raises ValueError for another.
    """
    _check("matched", matched, get_args(Matched))
    first, (reply, _), _ = exchange(victim, family, kernels, seed)
    if matched == "paper":
        known = victim.network(family)  # W is the server's own
        sketched.draw(known, first.key, kernels)
        return _view(victim, known.eval(), full_steps(known, reply), reply.nbytes)
    twin = _twin(victim.network, family)
    receive(twin, first, kernels)
    return _view(victim, twin, reply.steps, reply.nbytes)


def client(
    victim: Victim,
    family: Family | None,
    kernels: Kernels,
    seed: int,
    *,
    update: Update = "exact",
) -> View:
    """The other client knows its own reply, the keys, and W̃ before and after, so by zhang2021 (1) what the
    victim's step must have been.

    update: of sketched layers: the estimate of option `I` (S Sᵀ) or `II` (S S⁺), held against the gradient of
    the plain network with weights estimated the same way; or `exact`, which leaves these layers out and keeps
    what is not sketched, and so known exactly: the last layer and all biases; `last` and `biases` are parts of it.
    Raises ValueError for another.
    """
    _check("update", update, get_args(Update))
    first, (reply, own), second = exchange(victim, family, kernels, seed)
    twin = _twin(victim.network, family)
    hidden = {f"{name}.weight" for name, _ in sketched.layers(twin)}
    if update in ("I", "II"):
        after, before = (full_weights(twin, m, update, kernels) for m in (second, first))
        kept, steps = (
            set(before),
            full_steps(twin, own),
        )  # the sketches are those of the first, as Γ's are
        network = _with(victim.network(None), before)
    else:
        after, before, steps, network = second.weights, first.weights, own.steps, twin
        receive(twin, first, kernels)
        *_, weight, bias = before  # the names of the last layer's
        kept = {
            "exact": set(before) - hidden,
            "last": {weight, bias},
            "biases": {name for name in before if name.endswith("bias")},
        }[update]
    moved = {name: before[name] - after[name] for name in kept}
    share = own.samples / (reply.samples + own.samples)
    return _view(victim, network, of_the_other(moved, steps, share), second.nbytes)


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value} is unknown; choose one of {', '.join(known)}")


def _twin(network: MakeNetwork, family: Family | None) -> nn.Module:
    return blinded(network(family)).to(torch.float64).train()


def _with(network: nn.Module, weights: Weights) -> nn.Module:
    """The network with these weights, flattened or not."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(weights[name].view_as(parameter))
    return network


def _view(victim: Victim, network: nn.Module, steps: Weights, nbytes: int) -> View:
    """A view of these parameters' steps, over the rate, held against the gradients of a network.

    Nothing of the victim but public things goes into it.
    """
    names = [name for name, _ in network.named_parameters() if name in steps]

    def predicted(image: Tensor, label: Tensor) -> Tensor:
        return flattened(gradients(network, image, label), names)

    observed, output = flattened(steps, names).detach() / RATE, steps[names[-1]] / RATE
    return View(observed, predicted, victim.shape, victim.classes, nbytes, output)
