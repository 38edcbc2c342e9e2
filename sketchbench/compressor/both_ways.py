"""A compressor whose server sends its step in a code, too."""

from collections.abc import Sequence
from dataclasses import fields, make_dataclass
from typing import Any, ClassVar

import numpy as np

from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor, Memory
from sketchbench.compressor.message import WORD, Layout, Message, Reply, byte_limit


class _ServerAt(At):
    """A round whose private randomness is the server's own: that of a key in each round, which no client draws from."""

    def private(self, part: str) -> np.random.Generator:
        return np.random.default_rng(self.key(f"answer {part}"))


class _Coded(Compressor):
    """The part that `both_ways` puts before a class of compressors."""

    code: Compressor
    conserves: ClassVar[bool] = False  # no feedback takes what the code of the step loses

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        reply, memory = super().answer(message, memory, at, replies)
        if len(replies) + 1 < traits.phases(self):  # a reply within the round, which is no step
            return reply, memory
        own = _ServerAt(*at)
        sent = self.code.encode(reply.content[:, None], Memory(), own, [])
        nbytes = sent.nbytes + traits.key_nbytes(self.code, at.round)
        return Reply(self.code.decode(sent, own, [])[:, 0], nbytes), memory


def both_ways(*, layout: Layout, limit: int, up: MakeCompressor, down: MakeCompressor, bits: float) -> Any:
    """Return the compressor that `up` makes, with a server that sends its step in `bits` bits an entry.

    Clients decode the same step, and the server counts the bytes of its message. Everything else, such as feedback,
    secure sums and an attacker's view of clients' messages, is as in `up`.

    Arguments:
        up: makes the compressor of the clients' messages.
        down: makes the code of the server's message: without feedback, and with one phase, such as `EDEN`.
        bits: of an entry of the server's message; above 0.

    Raises ValueError for a code with feedback or several phases, and SizeError if either does not fit.
    """
    made = up(layout=layout, limit=limit)
    code = down(layout=layout, limit=byte_limit(layout, 8 * WORD / bits))
    if code.feedback != "none" or traits.phases(code) > 1:
        raise ValueError(f"{type(code).__name__} must be a code without feedback and of one phase; choose EDEN or Int8")
    name = f"{type(made).__name__}And{type(code).__name__}"
    bases, inside = (_Coded, type(made)), {"__doc__": both_ways.__doc__, "__module__": __name__}
    kind = make_dataclass(name, [("code", Compressor)], bases=bases, namespace=inside, frozen=True, kw_only=True)
    return kind(**{field.name: getattr(made, field.name) for field in fields(made)}, code=code)
