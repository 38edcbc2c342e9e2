"""Flower's messages in this process, as its simulation and its servers send them: by its own serialisation."""

import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.serde import context_from_proto, context_to_proto, message_from_proto, message_to_proto
from flwr.server.superlink.fleet.vce.backend.backend import Backend
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

FAILED = 1  # a code of errors


def answered(app: ClientApp, message: Message, context: Context) -> tuple[Message, Context]:
    own = context_from_proto(context_to_proto(context))
    answer = app(message_from_proto(message_to_proto(message)), own)
    return message_from_proto(message_to_proto(answer)), context_from_proto(context_to_proto(own))


class Direct(Grid):  # type: ignore[misc]
    """A grid that calls the clients.

    Attributes:
        contexts: of each node.
        sent, answers: all messages so far.
    """

    def __init__(self, app: ClientApp, clients: int) -> None:
        TaskIdentity.run_id = TaskIdentity.task_id = TaskIdentity.node_id = 1  # of which messages are
        self.app = app
        self.contexts = {100 + place: self.context(100 + place, place) for place in range(clients)}
        self.sent: list[Message] = []
        self.answers: list[Message] = []

    @staticmethod
    def context(node: int, place: int) -> Context:
        return Context(1, node, {"partition-id": place}, RecordDict(), {})

    def get_node_ids(self) -> Iterable[int]:
        return list(self.contexts)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return [self._answer(message) for message in messages]

    def _answer(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        self.sent.append(message)
        try:
            answer, self.contexts[node] = answered(self.app, message, self.contexts[node])
        except Exception as error:  # as Flower's own workers do
            answer = Message(Error(FAILED, f"{type(error)}:<'{error}'>"), reply_to=message)
        self.answers.append(answer)
        return answer

    def set_run(self, run: Any) -> None:
        raise NotImplementedError

    run = property(set_run)

    def create_message(self, *_: Any) -> Any:
        raise NotImplementedError

    push_messages = pull_messages = create_message


def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Flower's simulation, which has no workers but those of Ray, have one that is this process."""

    class Here(Backend):  # type: ignore[misc]
        num_workers = 1

        def build(self, app_fn: Callable[[], ClientApp]) -> None:
            self.app = app_fn()

        def is_worker_idle(self) -> bool:
            return True

        def process_message(self, message: Message, context: Context) -> tuple[Message, Context]:
            return answered(self.app, message, context)

        def terminate(self) -> None:
            pass

    name = "flwr.server.superlink.fleet.vce.backend.raybackend"
    for stand_in in (types.ModuleType(name), types.ModuleType("ray")):
        stand_in.__spec__ = importlib.machinery.ModuleSpec(stand_in.__name__, None)  # by which it is looked for
        stand_in.RayBackend = Here  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)
