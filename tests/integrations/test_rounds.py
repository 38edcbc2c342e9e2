"""Clients and a server that reach each other by messages alone do what a simulated round does."""

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest
from integrations.distributed import COMPRESSION
from integrations.simulated import MESSAGES, STEPS, Simulated

from sketchbench.compressor import traits
from sketchbench.compressor.compressor import Compressor, Feedback
from sketchbench.compressor.message import Layout, Message, Reply
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.power_sgd import PowerSGD
from sketchbench.compressor.sketched_memory import FetchSGD
from sketchbench.integrations.method import described, for_layouts
from sketchbench.integrations.rounds import ClientRounds, Parts, ServerRounds, check_numbers

LAYOUT, CLIENTS, ROUNDS, SEED = Layout(((12, 20), (12,), (5, 12), (5,))), 3, 4, 7


def compressor_of(name: str) -> Compressor:
    return for_layouts(name, COMPRESSION.get(name, 4), SEED)(LAYOUT)


def updates(number: int) -> np.ndarray:
    return np.random.default_rng(number).standard_normal((CLIENTS, LAYOUT.d)).astype(np.float32) ** 5


def nbytes(parts: Parts) -> int:
    return sum(part.nbytes for part in parts.values())


class Messages:
    forgets = False

    def __init__(self, compressor: Compressor) -> None:
        self.compressor = compressor
        self.server = ServerRounds(compressor, SEED)
        self.states: list[dict[str, np.ndarray]] = [ClientRounds(compressor, SEED, 0).state()] * CLIENTS

    def client(self, place: int, number: int) -> ClientRounds:
        client = ClientRounds(self.compressor, SEED, place)
        client.load(self.states[place], number)
        return client

    def round(self, number: int) -> tuple[np.ndarray, int, int]:
        compressor = self.compressor
        up, down = 0, traits.key_nbytes(compressor, number)
        reply: Parts = {}
        for phase in range(traits.phases(compressor)):
            each = []
            for place in range(CLIENTS):
                client = self.client(place, number)
                each.append(client.send_next(reply) if phase else client.send(updates(number)[place], number))
                self.states[place] = client.state()
            reply = self.server.answer(each, number)
            up, down = up + nbytes(each[0]), down + nbytes(reply)
        for place in range(CLIENTS):
            client = self.client(place, number)
            assert np.array_equal(client.follow(reply), self.server.step)
            self.states[place] = ClientRounds(compressor, SEED, 0).state() if self.forgets else client.state()
        return self.server.step, up, down


class Forgetful(Messages):
    forgets = True


def is_close(ours: np.ndarray, theirs: np.ndarray) -> bool:
    return bool(np.linalg.norm(ours - theirs) <= 1e-4 * np.linalg.norm(theirs))


@pytest.mark.parametrize("name", MESSAGES)
def test_they_do_what_a_simulated_round_does(name: str) -> None:
    messages, simulated = Messages(compressor_of(name)), Simulated(compressor_of(name), SEED, CLIENTS)
    for number in range(ROUNDS):
        step, up, down = messages.round(number)
        done = simulated.exchange(updates(number), number)
        assert is_close(step, done.step[0])
        assert up == done.bytes_up
        assert down == done.bytes_down or (name in STEPS and down > done.bytes_down)


@pytest.mark.parametrize("name", [name for name in MESSAGES if compressor_of(name).feedback == "client"])
def test_a_client_that_forgets_is_seen(name: str) -> None:
    messages, simulated = Forgetful(compressor_of(name)), Simulated(compressor_of(name), SEED, CLIENTS)
    close = [is_close(messages.round(n)[0], simulated.exchange(updates(n), n).step[0]) for n in range(2)]
    assert close == [True, False]


@pytest.mark.parametrize("name", MESSAGES)
def test_a_server_that_sums_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of the mean."""
    expected = Simulated(compressor_of(name), SEED, CLIENTS).exchange(updates(0), 0).step[0]
    mean = Message.mean

    def summed(message: Message) -> Message:
        count = next(iter(message.parts.values())).shape[1]
        return Message({part: array * count for part, array in mean(message).parts.items()})

    messages = Messages(compressor_of(name))
    answer = type(messages.compressor).answer

    def doubled(compressor: Compressor, *given: Any) -> tuple[Reply, Any]:
        reply, memory = answer(compressor, *given)
        return Reply(reply.content * CLIENTS, reply.nbytes), memory

    if messages.compressor.adds_up and not isinstance(messages.compressor, traits.Modular):
        monkeypatch.setattr(Message, "mean", summed)
    else:
        monkeypatch.setattr(type(messages.compressor), "answer", doubled)
    assert not is_close(messages.round(0)[0], expected)


def test_vectors_alone_have_an_empty_first_phase() -> None:
    layout = Layout(((4,), (3,)))
    compressor = PowerSGD(layout=layout, limit=layout.nbytes)
    client, server = ClientRounds(compressor, SEED, 0), ServerRounds(compressor, SEED)
    update = np.arange(7, dtype=np.float32)
    state = ClientRounds(compressor, SEED, 0)
    first = server.answer([client.send(update, 0)], 0)
    state.load(client.state(), 0)
    reply = server.answer([state.send_next(first)], 0)
    assert np.array_equal(state.follow(reply), update)


class Hoarder(FetchSGD):
    phases: ClassVar[int] = 2


class Both(Plain):
    """Its server remembers, and clients should know it, but messages don't add up."""

    adds_up: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "none"
    phases: ClassVar[int] = 2


def test_what_messages_cannot_do() -> None:
    made = for_layouts("fetch_sgd", 4, SEED)(LAYOUT)
    hoarder = Hoarder(LAYOUT, made.limit, family=made.family)
    for compressor in (hoarder, Both(LAYOUT, LAYOUT.nbytes), for_layouts("ef21", 4, SEED)(LAYOUT)):
        with pytest.raises(ValueError, match=f"clients of {type(compressor).__name__} need more of the server"):
            ServerRounds(compressor, SEED)


def test_what_is_refused() -> None:
    client = ClientRounds(compressor_of("top_k"), SEED, 0)
    update = updates(0)[0]
    with pytest.raises(ValueError, match=r"entry \(0,\) of the update is nan"):
        client.send(np.where(np.arange(LAYOUT.d) == 0, np.float32(np.nan), update), 0)
    few, many = (ClientRounds(for_layouts("top_k", c, SEED)(LAYOUT), SEED, 0).send(update, 0) for c in (8, 4))
    with pytest.raises(ValueError, match="messages of unequal form"):
        ServerRounds(compressor_of("top_k"), SEED).answer([few, many], 0)
    server = ServerRounds(compressor_of("none"), SEED)
    huge = np.full((1, 1, LAYOUT.d), 3e38, np.float32)
    with pytest.raises(OverflowError, match="the step"):
        server.answer([{"values": huge}, {"values": huge}], 0)


@pytest.mark.parametrize("name", MESSAGES)
def test_who_follows_each_step(name: str) -> None:
    assert ServerRounds(compressor_of(name), SEED).follows == (name == "power_sgd")


def test_clients_with_one_number() -> None:
    check_numbers([(100, 0), (101, 1), (2**63 + 5, 2)])
    with pytest.raises(ValueError, match=r"nodes 100 and 102 both have the number 3, .* a partition-id of its own"):
        check_numbers([(100, 3), (101, 1), (102, 3)])


def test_descriptions_hold_all_parameters() -> None:
    """They are equal where compressors are, and show no layout and no address."""
    texts = {name: described(compressor_of(name)) for name in MESSAGES}
    assert len(set(texts.values())) == len(texts)
    for name, text in texts.items():
        assert text == described(compressor_of(name))
        assert " at 0x" not in text
        assert "shapes" not in text
    momentum = for_layouts("fetch_sgd", 4, SEED)(LAYOUT)
    assert described(momentum) != described(dataclasses.replace(momentum, momentum=0.5))
    assert described(np.arange(3)) != described(np.arange(4))
    assert described([np.arange(3), {"a": PowerSGD}]) == described([np.arange(3), {"a": PowerSGD}])
    assert described(object()) == described(object())
