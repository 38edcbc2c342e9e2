"""Does an attacker's view of a message (`attack.lens`) tell the truth about it, and all of it?"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.lens import SeenMessage, lens, surprisal
from sketchbench.compressor.contract import CompressorSubject, Values, raw
from sketchbench.compressor.endurance import RunRound
from sketchbench.compressor.message import Message
from sketchbench.compressor.parties import party, rooted
from sketchbench.kernels import Array

ROOTS = 8  # of the clients' randomness, which show how much rounding changes a view
ROUNDED = 9.0  # square of a view's error over that of rounding; rounding up or down at random reaches 6 with 36 numbers
SMOOTH = 0.0745  # the most by which (1 - tanh x)², of a smooth map of signs, exceeds (1 - x)²; at x = 0.83
SUBSTITUTES = 12  # entries of each part of a message that are replaced in the first round, one in each trial at a time


def view(subject: CompressorSubject, played: RunRound, tolerance: float) -> Values:
    """Return 1 for each trial if the views of a round's messages contradict them, else 0: (T,). Raises `Unseen` for a
    compressor without a view.

    The map of `lens` gives the numbers of `lens` at the true update: to `tolerance`; or, for numbers that are the
    decoded update, at least as well as the identity, or as a smooth map of signs; or up to what the clients' randomness
    changes. In all messages together, no other update fits the numbers better or is less surprising; another client's
    update fits worse.
    """
    unsure = allowed = 0.0
    fits, surprises = np.zeros(3), np.zeros(5)
    for client in range(played.carried.shape[1]):
        seen = _seen(played, played.message, client)
        numbers, predict = lens(subject.compressor, seen)
        x, another = (_tensor(subject, played.carried[:, one]) for one in (client, client - 1))
        off = _squares(numbers - predict(x))
        decoded = seen.decoded(subject.compressor).double()
        exact = off <= tolerance**2 * _squares(numbers)
        if numbers.shape == decoded.shape and torch.equal(numbers.double(), decoded):
            exact |= off <= (_squares(decoded - x) + SMOOTH * _squares(decoded)) * (1 + tolerance)
        if not bool(exact.all()):
            unsure += float(off.sum())
            allowed += ROUNDED * _spread(subject, played, client, numbers)
        fits += [float(_squares(numbers - predict(y)).sum()) for y in (x, -x, another)]
        weigh = surprisal(subject.compressor, seen)
        if weigh is not None:
            surprises += [float(weigh(y).sum()) for y in (x, -x, 2 * x, x / 2, another)]
    wrong = unsure > allowed or fits[0] > fits.min() or surprises[0] > surprises.min()
    blind = fits[0] == fits[2] and bool(played.carried.all())
    return np.full(played.at.trials, float(wrong or blind))


def _spread(subject: CompressorSubject, played: RunRound, client: int, numbers: Tensor) -> float:
    """The mean square by which other randomness of the clients changes the numbers of a view, which has twice the
    variance, halved."""
    found = []
    for root in range(ROOTS):
        at = party(played.at, own=rooted(2 + root))
        last = subject.compressor.encode(played.carried, played.memory, at, played.done.replies[:-1])
        parts = {**played.message.parts, **last.parts}
        found.append(_squares(lens(subject.compressor, _seen(played, Message(parts), client))[0] - numbers).sum() / 2)
    return float(torch.stack(found).mean())


def hidden(subject: CompressorSubject, played: RunRound, entries: int) -> Values:
    """Return 1 for each trial in which a part of a message changes the decoded update, but not its view, else 0: (T,).

    Some `entries` of each floating-point part in each trial, and whole parts, are replaced by those of the next trial's
    message.
    """
    wrong = np.zeros(played.at.trials)
    x = _tensor(subject, played.carried[:, 0])
    seen = _seen(played, played.message, 0)
    before = _looks(subject, seen, x)
    for message in _substitutes(subject, played, seen.message, entries):
        after = _looks(subject, seen._replace(message=message), x)
        changed, told = before[0] != after[0], [one != other for one, other in zip(before[1:], after[1:], strict=True)]
        wrong = np.maximum(wrong, _any(changed) & ~np.any([_any(one) for one in told], axis=0))
    return wrong


def _substitutes(subject: CompressorSubject, played: RunRound, message: Message, entries: int) -> Iterator[Message]:
    xp, random = subject.kernels.xp, subject.random(f"substitutes {played.at.round}")
    for name, part in message.parts.items():
        other = xp.roll(part, 1, axis=0)
        yield Message({**message.parts, name: other})
        flat = part.reshape(len(part), -1)
        if not np.issubdtype(part.dtype, np.floating) or not flat.shape[1]:
            continue
        for _ in range(entries):
            places = xp.asarray(random.integers(flat.shape[1], size=(len(flat), 1)))
            changed: Array = flat.copy()
            xp.put_along_axis(changed, places, xp.take_along_axis(other.reshape(flat.shape), places, axis=1), axis=1)
            yield Message({**message.parts, name: changed.reshape(part.shape)})


def _looks(subject: CompressorSubject, seen: SeenMessage, x: Tensor) -> list[Tensor]:
    """The decoded update, and all that a view tells: numbers, their prediction, and the surprise."""
    numbers, predict = lens(subject.compressor, seen)
    weigh: Callable[[Tensor], Tensor] = surprisal(subject.compressor, seen) or (lambda x: 0 * x[:, 0])
    return [seen.decoded(subject.compressor), numbers, predict(x), weigh(x)[:, None]]


def _any(changed: Tensor) -> NDArray[np.bool_]:
    return np.asarray(changed.flatten(1).any(dim=1))


def _seen(played: RunRound, message: Message, client: int) -> SeenMessage:
    alone = {name: part[:, [client]] for name, part in message.parts.items()}
    return SeenMessage(Message(alone), played.at, played.done.replies[:-1])


def _tensor(subject: CompressorSubject, array: Array) -> Tensor:
    return torch.as_tensor(raw(subject, array)).double()


def _squares(x: Tensor) -> Tensor:
    return x.double().square().sum(dim=1)
