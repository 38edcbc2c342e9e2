"""An attacker's view of messages, by the class of the compressor.

`lens` gives what an attacker reads in a message, and a differentiable prediction of it. `surprisal` gives a likelihood,
if a message tells more. Subclasses share the view of their class. A compressor may have methods of these names, without
the first argument; a class of another kind is registered by `@read.register`.
"""

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

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
Replies = Sequence[Reply]


class Unseen(ValueError):  # noqa: N818 (no error: it is a row of the result)
    """A party sees no message; the text says why."""


def lens(compressor: Compressor, message: Message, at: At, replies: Replies) -> Lens:
    """Return the m numbers of a message (T, m), on the CPU, and a differentiable map from updates (T, d) to them.

    Arguments:
        message: with the parts of all phases, and C = 1.
        at: the round.
        replies: of the earlier phases, which depend on the other clients' messages, too.

    Raises:
        Unseen: for a compressor whose messages no attack here reads.
    """
    own: Any = getattr(compressor, "lens", None)
    found: Lens = own(message, at, replies) if own else read(compressor, message, at, replies)
    return found


def surprisal(compressor: Compressor, message: Message, at: At, replies: Replies) -> Predict | None:
    """Return minus the logarithm of the likelihood of a message, (T,), up to a constant, as a differentiable function
    of updates (T, d), with the arguments of `lens`. None, unless a message tells more than the numbers of `lens`."""
    own: Any = getattr(compressor, "surprisal", None)
    found: Predict | None = own(message, at, replies) if own else weigh(compressor, message, at, replies)
    return found


@singledispatch
def read(compressor: Any, message: Message, at: At, replies: Replies) -> Lens:
    """`lens` of a class of compressors."""
    raise Unseen(f"not measured: no attack reads messages of {type(compressor).__name__}; give it a method `lens`")


@singledispatch
def weigh(compressor: Any, message: Message, at: At, replies: Replies) -> Predict | None:
    """`surprisal` of a class of compressors."""
    return None


def _tensor(array: Array, at: At) -> Tensor:
    return torch.as_tensor(at.kernels.to_numpy(array))


def _part(message: Message, name: str, at: At) -> Tensor:
    """A part of the messages of single clients."""
    return _tensor(message.parts[name][:, 0], at)


def _decoded(compressor: Compressor, message: Message, at: At, replies: Replies) -> Tensor:
    return _tensor(compressor.decode(message, at, replies)[:, 0], at)


@read.register
def _plain(compressor: Plain, message: Message, at: At, replies: Replies) -> Lens:
    return _part(message, "values", at), lambda x: x


@read.register
def _silent(compressor: Silent, message: Message, at: At, replies: Replies) -> Lens:
    return _part(message, "values", at), lambda x: 0 * x[:, : compressor.words]


@read.register
def _sketched(compressor: SketchedUpdate, message: Message, at: At, replies: Replies) -> Lens:
    operators = compressor.operators(on_cpu(at))
    return _part(message, "cells", at), lambda x: autograd.sketch(operators, x)


@read.register
def _discrete(compressor: DiscreteSRHT, message: Message, at: At, replies: Replies) -> Lens:
    operators = compressor.operators(on_cpu(at))
    cells = at.kernels.to_numpy(compressor.cells(message, at, replies)[:, 0])
    return torch.as_tensor(cells.astype("float32")), lambda x: autograd.sketch(operators, x)


@read.register
def _random_k(compressor: RandomK, message: Message, at: At, replies: Replies) -> Lens:
    places = _tensor(compressor.places(at), at).long()
    return _part(message, "values", at), lambda x: x.gather(1, places)


@read.register
def _top_k(compressor: TopK, message: Message, at: At, replies: Replies) -> Lens:
    places = _tensor(compressor.places(message, at)[:, 0], at)
    return _part(message, "values", at), lambda x: x.gather(1, places)


@weigh.register
def _top_k_likelihood(compressor: TopK, message: Message, at: At, replies: Replies) -> Predict:
    """The values are those of `lens`, and no other entry is larger than the smallest of them; both up to normal errors
    of a share of their root mean square."""
    values, look = lens(compressor, message, at, replies)
    sent = _decoded(compressor, message, at, replies) != 0
    least = values.abs().amin(dim=1, keepdim=True)
    unit = (SHARP * values.square().mean(dim=1).sqrt()).clamp_min(torch.finfo(values.dtype).tiny)

    def minus_log(x: Tensor) -> Tensor:
        beyond = (x.abs() - least).clamp_min(0) * ~sent
        return ((look(x) - values).square().sum(dim=1) + beyond.square().sum(dim=1)) / (2 * unit.square())

    return minus_log


@read.register
def _quantised(compressor: Quantised, message: Message, at: At, replies: Replies) -> Lens:
    """Rounding has no derivative: the map is the identity, and an attacker matches updates to the decoded message."""
    return _decoded(compressor, message, at, replies), lambda x: x


@weigh.register
def _levels(compressor: Levels, message: Message, at: At, replies: Replies) -> Predict:
    """Rounding gives a level with the probability 1 - |s x/‖x‖ - level|, and the norm is sent."""
    rounded = _decoded(compressor, message, at, replies)
    norms = _part(message, "norm", at).clamp_min(TINY)

    def minus_log(x: Tensor) -> Tensor:
        missing = 1 - compressor.s * (x - rounded).abs() / norms  # the probability, if it is positive
        log = missing.clamp_min(SHARP).log() + (missing - SHARP).clamp_max(0) / SHARP
        size = x.norm(dim=1, keepdim=True) if isinstance(compressor, QSGD) else x.abs().amax(dim=1, keepdim=True)
        return ((size / norms - 1) / SHARP).square()[:, 0] / 2 - log.sum(dim=1)

    return minus_log


@read.register
def _sign(compressor: Sign, message: Message, at: At, replies: Replies) -> Lens:
    """As of `Quantised`, but tanh replaces the sign, which makes the map smooth."""

    def predict(x: Tensor) -> Tensor:
        mean = x.abs().mean(dim=1, keepdim=True)
        return mean * torch.tanh(x / mean.clamp_min(torch.finfo(x.dtype).tiny))

    return _decoded(compressor, message, at, replies), predict


@weigh.register
def _sign_likelihood(compressor: Sign, message: Message, at: At, replies: Replies) -> Predict:
    """Logistic in x over the mean magnitude, which is sent and no secret."""
    decoded = _decoded(compressor, message, at, replies)
    mean = _part(message, "mean", at).clamp_min(TINY)

    def minus_log(x: Tensor) -> Tensor:
        off = (x.abs().mean(dim=1) / mean[:, 0] - 1) / SHARP
        return softplus(-decoded.sign() * x / (STEEP * mean)).sum(dim=1) + off.square() / 2

    return minus_log


@read.register
def _power_sgd(compressor: PowerSGD, message: Message, at: At, replies: Replies) -> Lens:
    """The view of both phases. The replies contain P̂; random columns of Q follow from the key alone."""
    names = [f"{side}{i}" for side in ("left", "right") for i in range(len(compressor.matrices))]
    seen = [_part(message, name, at) for name in (*names, *(["plain"] if compressor.plain else []))]
    starts = [_tensor(q, at) for q in compressor.starts(replies[0].content.kept, at)]
    bases = [_tensor(p, at) for p in compressor.bases(replies, at)]

    def predict(x: Tensor) -> Tensor:
        whole = [matrix.of(x) for matrix in compressor.matrices]
        pieces = [one @ q.to(x.dtype) for one, q in zip(whole, starts, strict=True)]
        pieces += [one.transpose(1, 2) @ p.to(x.dtype) for one, p in zip(whole, bases, strict=True)]
        pieces += [torch.cat([x[:, place] for place in compressor.plain], dim=1)] if compressor.plain else []
        return torch.cat([piece.flatten(1) for piece in pieces], dim=1)

    return torch.cat([piece.flatten(1) for piece in seen], dim=1), predict


@read.register
def _sketched_layers(compressor: SketchedLayers, message: Message, at: At, replies: Replies) -> Lens:
    operators = list(compressor.operators(at))
    inverses = [None if one is None else _tensor(compressor.inverse(one, at), at) for _, one in operators]

    def predict(x: Tensor) -> Tensor:
        pieces = []
        for (part, _), inverse in zip(operators, inverses, strict=True):
            entries = x[:, part.start : part.stop]
            if inverse is not None:
                rows = entries.reshape(len(x), part.outputs, -1) @ inverse.to(x.dtype)
                entries = rows.reshape(len(x), -1)
            pieces.append(entries)
        return torch.cat(pieces, dim=1)

    return torch.cat([_part(message, part.name, at) for part, _ in operators], dim=1), predict
