"""An attacker's view of messages, by the class of the compressor.

`lens` gives what an attacker reads in a message, and a differentiable prediction of it. `surprisal` gives a likelihood,
if a message tells more. Subclasses share the view of their class. A user's compressor may have methods `lens` and
`surprisal`, with the arguments (message, at, replies).
"""

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from sketchbench.attack.square_root import square_root
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.control import Silent
from sketchbench.compressor.discrete import DiscreteSRHT
from sketchbench.compressor.message import Message, Reply
from sketchbench.compressor.operators import SketchedUpdate, on_cpu
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.power_sgd import PowerSGD
from sketchbench.compressor.quantised import QSGD, Levels, Quantised, Sign
from sketchbench.compressor.sketched_layers import SketchedLayers
from sketchbench.compressor.sparse import RandomK, TopK
from sketchbench.kernels import Array
from sketchbench.learning.model import autograd

TINY = torch.finfo(torch.float32).tiny
SHARP = 0.01  # relative error that a likelihood allows in a value or a norm, and the least probability of a level
STEEP = 0.1  # slope of a sign's likelihood, as a share of the mean magnitude

Predict = Callable[[Tensor], Tensor]
Lens = tuple[Tensor, Predict]


class Unseen(ValueError):  # noqa: N818 (no error: it is a row of the result)
    """A party sees no message; the text says why."""


class SeenMessage(NamedTuple):
    """A message of single clients (C = 1), with the parts of all phases, its round, and the replies of earlier phases,
    which depend on the other clients' messages, too."""

    message: Message
    at: At
    replies: Sequence[Reply]

    def tensor(self, array: Array) -> Tensor:
        """An array as a tensor on the CPU."""
        return torch.as_tensor(self.at.kernels.to_numpy(array))

    def part(self, name: str) -> Tensor:
        """A part of the message, (T, ...)."""
        return self.tensor(self.message.parts[name][:, 0])

    def decoded(self, compressor: Compressor) -> Tensor:
        """The decoded message, (T, d)."""
        return self.tensor(compressor.decode(*self)[:, 0])


def lens(compressor: Compressor, seen: SeenMessage) -> Lens:
    """Return the m numbers of a message (T, m), on the CPU, and a differentiable map from updates (T, d) to them.

    Raises:
        Unseen: for a compressor whose messages no attack here reads.
    """
    own: Any = getattr(compressor, "lens", None)
    found: Lens = own(*seen) if own else read(compressor, seen)
    return found


def surprisal(compressor: Compressor, seen: SeenMessage) -> Predict | None:
    """Return minus the log-likelihood of a message, (T,), up to a constant, as a differentiable function of updates
    (T, d). None, unless a message tells more than the numbers of `lens`."""
    own: Any = getattr(compressor, "surprisal", None)
    found: Predict | None = own(*seen) if own else weigh(compressor, seen)
    return found


@singledispatch
def read(compressor: Any, seen: SeenMessage) -> Lens:
    """`lens` of a class of compressors."""
    raise Unseen(f"not measured: no attack reads messages of {type(compressor).__name__}; give it a method `lens`")


@singledispatch
def weigh(compressor: Any, seen: SeenMessage) -> Predict | None:
    """`surprisal` of a class of compressors."""
    return None


@read.register
def _plain(compressor: Plain, seen: SeenMessage) -> Lens:
    return seen.part("values"), lambda x: x


@read.register
def _silent(compressor: Silent, seen: SeenMessage) -> Lens:
    return seen.part("values"), lambda x: 0 * x[:, : compressor.words]


@read.register
def _sketched(compressor: SketchedUpdate, seen: SeenMessage) -> Lens:
    operators = compressor.operators(on_cpu(seen.at))
    return seen.part("cells"), lambda x: autograd.sketch(operators, x)


@read.register
def _discrete(compressor: DiscreteSRHT, seen: SeenMessage) -> Lens:
    operators = compressor.operators(on_cpu(seen.at))
    return seen.tensor(compressor.cells(*seen)[:, 0]).float(), lambda x: autograd.sketch(operators, x)


@read.register
def _random_k(compressor: RandomK, seen: SeenMessage) -> Lens:
    places = seen.tensor(compressor.places(seen.at)).long()
    return seen.part("values"), lambda x: x.gather(1, places)


@read.register
def _top_k(compressor: TopK, seen: SeenMessage) -> Lens:
    places = seen.tensor(compressor.places(seen.message, seen.at)[:, 0])
    return seen.part("values"), lambda x: x.gather(1, places)


@weigh.register
def _top_k_likelihood(compressor: TopK, seen: SeenMessage) -> Predict:
    """The values are those of `lens`, and no other entry is larger than the smallest of them; both up to normal errors
    of a share of their root mean square."""
    values, look = lens(compressor, seen)
    sent = seen.decoded(compressor) != 0
    least = values.abs().amin(dim=1, keepdim=True)
    unit = (SHARP * square_root(values.square().mean(dim=1))).clamp_min(torch.finfo(values.dtype).tiny)

    def minus_log(x: Tensor) -> Tensor:
        beyond = (x.abs() - least).clamp_min(0) * ~sent
        return ((look(x) - values).square().sum(dim=1) + beyond.square().sum(dim=1)) / (2 * unit.square())

    return minus_log


@read.register
def _quantised(compressor: Quantised, seen: SeenMessage) -> Lens:
    """Rounding has no derivative: the map is the identity, and an attacker matches updates to the decoded message."""
    return seen.decoded(compressor), lambda x: x


@weigh.register
def _levels(compressor: Levels, seen: SeenMessage) -> Predict:
    """Rounding gives a level with the probability 1 - |s x/‖x‖ - level|, and the norm is sent."""
    rounded, norms = seen.decoded(compressor), seen.part("norm").clamp_min(TINY)

    def minus_log(x: Tensor) -> Tensor:
        missing = 1 - compressor.s * (x - rounded).abs() / norms  # the probability, if it is positive
        log = missing.clamp_min(SHARP).log() + (missing - SHARP).clamp_max(0) / SHARP
        size = x.norm(dim=1, keepdim=True) if isinstance(compressor, QSGD) else x.abs().amax(dim=1, keepdim=True)
        return ((size / norms - 1) / SHARP).square()[:, 0] / 2 - log.sum(dim=1)

    return minus_log


@read.register
def _sign(compressor: Sign, seen: SeenMessage) -> Lens:
    """The map has tanh in place of the sign, which makes it smooth."""

    def predict(x: Tensor) -> Tensor:
        mean = x.abs().mean(dim=1, keepdim=True)
        return mean * torch.tanh(x / mean.clamp_min(torch.finfo(x.dtype).tiny))

    return seen.decoded(compressor), predict


@weigh.register
def _sign_likelihood(compressor: Sign, seen: SeenMessage) -> Predict:
    """Logistic in x over the mean magnitude, which is sent and no secret."""
    decoded, mean = seen.decoded(compressor), seen.part("mean").clamp_min(TINY)

    def minus_log(x: Tensor) -> Tensor:
        off = (x.abs().mean(dim=1) / mean[:, 0] - 1) / SHARP
        return softplus(-decoded.sign() * x / (STEEP * mean)).sum(dim=1) + off.square() / 2

    return minus_log


@read.register
def _power_sgd(compressor: PowerSGD, seen: SeenMessage) -> Lens:
    """The view of both phases. The replies contain P̂; random columns of Q follow from the key alone."""
    names = [f"{side}{i}" for side in ("left", "right") for i in range(len(compressor.matrices))]
    names += ["plain"] if compressor.plain else []
    starts = [seen.tensor(q) for q in compressor.starts(seen.replies[0].content.kept, seen.at)]
    bases = [seen.tensor(p) for p in compressor.bases(seen.replies, seen.at)]

    def predict(x: Tensor) -> Tensor:
        whole = [matrix.of(x) for matrix in compressor.matrices]
        pieces = [one @ q.to(x.dtype) for one, q in zip(whole, starts, strict=True)]
        pieces += [one.transpose(1, 2) @ p.to(x.dtype) for one, p in zip(whole, bases, strict=True)]
        pieces += [torch.cat([x[:, place] for place in compressor.plain], dim=1)] if compressor.plain else []
        return torch.cat([piece.flatten(1) for piece in pieces], dim=1)

    return torch.cat([seen.part(name).flatten(1) for name in names], dim=1), predict


@read.register
def _sketched_layers(compressor: SketchedLayers, seen: SeenMessage) -> Lens:
    operators = list(compressor.operators(seen.at))
    inverses = [None if one is None else seen.tensor(compressor.inverse(one, seen.at)) for _, one in operators]

    def predict(x: Tensor) -> Tensor:
        pieces = []
        for (part, _), inverse in zip(operators, inverses, strict=True):
            entries = x[:, part.start : part.stop]
            if inverse is not None:
                rows = entries.reshape(len(x), part.outputs, -1) @ inverse.to(x.dtype)
                entries = rows.reshape(len(x), -1)
            pieces.append(entries)
        return torch.cat(pieces, dim=1)

    return torch.cat([seen.part(part.name) for part, _ in operators], dim=1), predict
