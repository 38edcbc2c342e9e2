"""A server that sends its step in a code, by a key of its own, and counts the bytes that it sends."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from compressing import LAYOUT, NAMES, Floats, exchanged, made, updates

from sketchbench import kernels as backends
from sketchbench.compressor.both_ways import _Coded, both_ways
from sketchbench.compressor.compressor import At, Memory
from sketchbench.compressor.eden import EDEN
from sketchbench.compressor.message import Message, Reply
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.quantised import Int8
from sketchbench.compressor.sparse import RandomK, TopK

BACK = [name for name in NAMES if "_back_" in name]
ROUNDS = 200
# Bytes of a step of 140 entries: a seed of EDEN's, scales of its two blocks, and codes of 160 entries, within 8 bytes
# of so many bits for each entry.
SIZES = {"1": 4 + 8 + 12, "2": 4 + 8 + 30, "4": 4 + 8 + 65, "int8": 140 + 4, "float16": 280 + 4}


def steps(compressor: Any, x: Floats, rounds: int) -> tuple[Floats, set[int]]:
    """The steps of rounds with these updates, without memory, and the bytes that a client receives."""
    memory = compressor.begin(*x.shape[:2], backends.load("numpy"))
    done = [compressor.exchange(x, memory, At(backends.load("numpy"), 7, number, len(x))) for number in range(rounds)]
    return np.array([one.step for one in done]), {one.bytes_down for one in done}


def error(compressor: Any) -> float:
    """The squared error of the mean of many steps, over that of a single step."""
    x = updates(5)
    off = steps(compressor, x, ROUNDS)[0] - x.mean(axis=1)
    return float((off.mean(axis=0) ** 2).sum() / (off**2).sum(axis=(1, 2)).mean())


def coded(down: Any = EDEN, bits: float = 2, up: Any = Plain) -> Any:
    return both_ways(layout=LAYOUT, limit=LAYOUT.nbytes, up=up, down=down, bits=bits)


class SameKey(_Coded):
    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        return super().answer(message, memory, at._replace(round=0), replies)


class Dense(_Coded):
    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        reply, memory = super().answer(message, memory, at, replies)
        return reply._replace(nbytes=self.layout.nbytes), memory


def broken(kind: type[_Coded]) -> Any:
    whole: Any = coded()
    return type(kind.__name__, (kind, type(whole)), {})(LAYOUT, LAYOUT.nbytes, code=whole.code)


def test_every_round_has_a_key_of_its_own() -> None:
    """So that errors average out: with one key for all rounds they would add up."""
    for down, bits in ((EDEN, 1), (EDEN, 2), (EDEN, 4), (Int8, 8)):
        assert error(coded(down, bits)) < 4 / ROUNDS
    assert error(broken(SameKey)) > 0.5


def test_a_client_draws_other_numbers_than_the_server() -> None:
    """An update that is coded by a client and then, alike, by the server has two independent errors."""
    x = updates(6, 400, 1)
    once = exchanged(coded(EDEN, 1), backends.load("numpy"), [x])[0][0].step - x[:, 0]
    twice = exchanged(coded(EDEN, 1, EDEN), backends.load("numpy"), [x])[0][0]
    up = twice.messages[0].decoded_by(lambda: np.zeros(1))[:, 0] - x[:, 0]
    assert abs((once * up).sum()) < 0.1 * np.linalg.norm(once) * np.linalg.norm(up)


@pytest.mark.parametrize("name", BACK)
def test_the_bytes_of_the_step_are_counted(name: str) -> None:
    compressor: Any = made(name, 4)
    found, nbytes = steps(compressor, updates(3), 1)
    assert nbytes == {SIZES[name.rpartition("_")[2]]}
    values = {len(np.unique(step)) for step in found[0]}  # as many as bits can tell, for the codes without rotation
    assert max(values) <= 2**8 or not name.endswith("int8")
    assert steps(broken(Dense), updates(3), 1)[1] != {SIZES["2"]}


def test_clients_send_what_they_would_without_the_code() -> None:
    for name in ("eden_back_2", "eden_back_4"):
        alone, both = (
            exchanged(made(one, 16), backends.load("numpy"), [updates(0)])[0][0] for one in (name[:-7], name)
        )
        for one, other in zip(alone.messages, both.messages, strict=True):
            assert all(np.array_equal(part, other.parts[key]) for key, part in one.parts.items())
        assert both.bytes_down < alone.bytes_down
        assert np.linalg.norm(both.step - alone.step) < 0.7 * np.linalg.norm(alone.step)


def test_a_keyed_code_sends_its_key() -> None:
    alone = RandomK(LAYOUT, LAYOUT.nbytes // 4 + 8)
    sent = exchanged(alone, backends.load("numpy"), [updates(0)])[0][0].bytes_up
    assert steps(coded(RandomK, 8), updates(0), 1)[1] == {sent + 8}


def test_a_code_with_a_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="TopK must be a code without feedback and of one phase; choose EDEN or Int8"):
        coded(TopK)
