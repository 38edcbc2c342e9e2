"""Compressed updates in Flower: every compressor as a mod of the clients and a strategy of the server.

    client = ClientApp(mods=[CompressUpdates("top_k", compression=16)])
    strategy = CompressedFedAvg("top_k", compression=16)

A client's own code receives weights and replies with weights, as for FedAvg. The mod sends their difference,
compressed; the strategy subtracts the compressor's step.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MessageType, MetricRecord, RecordDict
from flwr.clientapp.typing import ClientAppCallable
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg
from flwr.serverapp.strategy.strategy_utils import validate_message_reply_consistency

from sketchbench.base import seeds
from sketchbench.compressor import traits
from sketchbench.compressor.compressor import Compressor, MakeCompressor
from sketchbench.compressor.message import KEY, Layout
from sketchbench.integrations.method import described, for_layouts, versions
from sketchbench.integrations.rounds import ClientRounds, Parts, ServerRounds, check_numbers
from sketchbench.kernels import Array

ROUND, REPLY, WEIGHTS, KEPT = (f"sketchbench.{name}" for name in ("round", "reply", "weights", "kept"))
NEVER = -1  # the last round of a new client


class CompressUpdates:
    """The mod of a `ClientApp`, which sends compressed updates. Let it be the first mod, so that others see weights.

    The update is the weights that the client's code got minus its reply. Error feedback is in the context's state, with
    the weights, so that the server need only send steps. All arguments must be those of the strategy.

    Arguments:
        make: the name of a file in `conf/compressor`, such as "top_k", or a class or partial with arguments `layout`
            and `limit`.
        compression: bytes of all weights over the bytes of a client's messages in a round; > 0.
        seed: of the randomness that clients and server share, and of each client's own; >= 0.

    Raises:
        ValueError: for a compression or a seed out of range, or an unknown name. In a round: for the settings of
            another strategy, a client that has lost its state, or a reply with other weights.
        TypeError: in a round, for weights that are not float32.
    """

    def __init__(self, make: MakeCompressor | str, *, compression: float, seed: int = 0) -> None:
        self.make = for_layouts(make, compression, seed)
        self.seed = seed

    def __call__(self, message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        """Answer a message: training with a compressed update, all else like the client's code."""
        if message.metadata.message_type.split(".")[0] != MessageType.TRAIN:
            return call_next(message, context)
        if ROUND not in message.content:
            raise ValueError("the message begins no compressed round; let the server train with CompressedFedAvg")
        content, state = message.content, context.state
        told = content[ROUND]
        had = state[ROUND]["round"] if ROUND in state else NEVER
        if told["since"] not in (NEVER, had):
            raise ValueError(
                f"this client took part in round {told['since'] + 1}, and the state of its context is of round "
                f"{had + 1}; let its node keep the state between rounds, and start the training again"
            )
        whole = REPLY not in content
        weights = content[told["arrays"]] if whole else state[WEIGHTS]
        number = int(context.node_config.get("partition-id", context.node_id))
        compressor = self.make(_layout(weights))
        client = ClientRounds(compressor, self.seed, number)
        if told["since"] != NEVER:
            client.load(_unpack(state[KEPT]), told["since"])
        if told["phase"]:
            sent = client.send_next(_unpack(content[REPLY]))
            answer, key = Message(RecordDict(), reply_to=message), REPLY
        else:
            self._check(told, compressor)
            if not whole:
                weights = _minus(weights, client.follow(_unpack(content[REPLY])))
            own = {name: content[name] for name in content if name not in (ROUND, REPLY)}
            message.content = RecordDict(own | {told["arrays"]: weights})
            answer = call_next(message, context)
            if answer.has_error():
                return answer
            key, update = _update(weights, answer)
            sent = client.send(update, told["round"])
        answer.content[key] = _pack(sent)
        answer.content[ROUND] = ConfigRecord({"client": number})
        state[ROUND], state[WEIGHTS] = ConfigRecord({"round": told["round"]}), weights
        state[KEPT] = _pack(client.state())
        return answer

    def _check(self, told: ConfigRecord, compressor: Compressor) -> None:
        """Raise ValueError unless the server has the same settings."""
        if (own := _settings(compressor)) != told["settings"]:
            raise ValueError(
                f"the server compresses by {told['settings']}, and this client by {own}; give both the same"
            )
        if "key" in told and told["key"] != _key(self.seed, told["round"]):
            raise ValueError("the server draws from another seed than this client; give both the same")


class CompressedFedAvg(FedAvg):  # type: ignore[misc]
    """FedAvg on compressed updates, whose clients have the mod `CompressUpdates` with the same settings.

    Each client counts equally, for any number of samples, because messages are added up. A client of the last round is
    sent only its reply, the step; others are sent all weights.

    The metrics of training get `bytes_up` and `bytes_down`: the bytes of arrays and keys in a client's sent and
    received messages, averaged over the clients of the round. A round's step is received in the next round.

    A client that fails or doesn't answer ends the training with its error: without its message the clients' memories
    would no longer be the error of the steps.

    Arguments:
        make, compression, seed: as for `CompressUpdates`.
        timeout: seconds for clients to answer in the later phases of a compressor that has several.
        options: of FedAvg.

    Raises:
        ValueError: for a compression or a seed out of range, or an unknown name. At the start: for a compressor whose
            clients need more than Flower's messages bring, such as each step, if `fraction_train` lets them miss some.
        RuntimeError: in a round, for clients that failed, or didn't answer.
        ValueError: in a round, for two clients with one number, which is the node's `partition-id`, or else its own id.
        OverflowError: for a step that exceeds float32.
    """

    def __init__(
        self,
        make: MakeCompressor | str,
        *,
        compression: float,
        seed: int = 0,
        timeout: float = 3600,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.make = for_layouts(make, compression, seed)
        self.seed, self.timeout = seed, timeout

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """The messages that begin a round; the first round begins a training, with empty memories."""
        if server_round == 1:
            self._begin(arrays)
        self._arrays, self._grid, self._round = arrays, grid, server_round - 1
        messages = list(super().configure_train(server_round, arrays, config, grid))
        self._nodes = [message.metadata.dst_node_id for message in messages]
        self._bytes_down = 0
        for message in messages:
            self._address(message)
        return messages

    def _begin(self, arrays: ArrayRecord) -> None:
        self._server = ServerRounds(self.make(_layout(arrays)), self.seed)
        self._since: dict[int, int] = {}  # the last round of each node
        self._reply = ArrayRecord()  # of the last round
        if self._server.follows and self.fraction_train < 1:
            raise ValueError(
                f"clients of {type(self._server.compressor).__name__} need each step that the server makes, and miss "
                f"some with fraction_train={self.fraction_train}; set fraction_train=1, or choose another compressor"
            )

    def _address(self, message: Message) -> None:
        """Add to a message that begins a round what its client lacks."""
        node, compressor = message.metadata.dst_node_id, self._server.compressor
        since = self._since.get(node, NEVER)
        missed = since < self._round - 1
        if missed and self._server.follows:
            raise ValueError(
                f"node {node} was not in round {self._round}, and clients of {type(compressor).__name__} need each "
                "step; keep all nodes in all rounds, or choose another compressor"
            )
        told = {"round": self._round, "phase": 0, "since": since, "settings": _settings(compressor)}
        told["arrays"] = self.arrayrecord_key
        if traits.keyed(compressor) and (traits.fresh(compressor) or since == NEVER):
            told["key"] = _key(self.seed, self._round)
            self._bytes_down += KEY
        content = RecordDict(dict(message.content))  # all messages share FedAvg's content
        if since != NEVER and not missed:
            del content[self.arrayrecord_key]
            content[REPLY] = self._reply
        content[ROUND] = ConfigRecord(told)
        message.content = content
        self._bytes_down += sum(map(_nbytes, content.array_records.values()))
        self._since[node] = self._round

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The weights after the step, and the mean of the clients' metrics, with the bytes of the round."""
        if not self._nodes:
            return None, None
        contents = self._contents(replies)
        validate_message_reply_consistency(contents, self.weighted_by_key, check_arrayrecord=True)
        metrics = self.train_metrics_aggr_fn(contents, self.weighted_by_key)
        metrics["bytes_up"] = 0
        for phase in range(traits.phases(self._server.compressor)):
            if phase:
                contents = self._ask(phase)
            each = [next(iter(content.array_records.values())) for content in contents]
            metrics["bytes_up"] += sum(map(_nbytes, each)) / len(each)
            self._reply = _pack(self._server.answer([_unpack(one) for one in each], self._round))
        metrics["bytes_down"] = self._bytes_down / len(self._nodes)
        return _minus(self._arrays, self._server.step), metrics

    def _ask(self, phase: int) -> list[RecordDict]:
        """The clients' answers to the reply of the last phase."""
        told = ConfigRecord({"round": self._round, "phase": phase, "since": self._round})
        self._bytes_down += _nbytes(self._reply) * len(self._nodes)
        content = RecordDict({ROUND: told, REPLY: self._reply})
        messages = [Message(content, node, MessageType.TRAIN) for node in self._nodes]
        return self._contents(self._grid.send_and_receive(messages, timeout=self.timeout))

    def _contents(self, replies: Iterable[Message]) -> list[RecordDict]:
        """The contents sent by all clients of the round, in the order of their numbers."""
        came, where = list(replies), f"of {len(self._nodes)} clients in round {self._round + 1}"
        if failed := [reply.error.reason for reply in came if reply.has_error()]:
            raise RuntimeError(f"{len(failed)} {where} failed, the first with {failed[0]}")
        if len(came) < len(self._nodes):
            raise RuntimeError(f"{len(came)} {where} answered in time; give them more by timeout")
        if plain := sum(ROUND not in reply.content for reply in came):
            raise RuntimeError(f"{plain} {where} don't compress; give their ClientApp the mod CompressUpdates")
        check_numbers([(reply.metadata.src_node_id, reply.content[ROUND]["client"]) for reply in came])
        return sorted((reply.content for reply in came), key=lambda content: content[ROUND]["client"])


def _settings(compressor: Compressor) -> str:
    return f"{described(compressor)} of {versions()}"


def _key(seed: int, number: int) -> bytes:
    """The client's part of a round's randomness, which identifies the server's seed."""
    return seeds.key(seed, round=number).to_bytes(KEY, "little")


def _layout(weights: ArrayRecord) -> Layout:
    for name, array in weights.items():
        if array.dtype != "float32":
            raise TypeError(
                f"weights {name!r} of {array.dtype} must be float32; send the parameters of a model, without counters "
                "such as those of batch normalisation"
            )
    return Layout(tuple(tuple(array.shape) for array in weights.values()))


def _flat(weights: ArrayRecord) -> Array:
    """All weights (d,), in their order."""
    return np.concatenate([array.numpy().reshape(-1) for array in weights.values()])


def _minus(weights: ArrayRecord, step: Array) -> ArrayRecord:
    """The weights minus a step (d,)."""
    layout = _layout(weights)
    parts = np.split(_flat(weights) - step, np.cumsum(layout.sizes)[:-1])
    shaped = zip(weights, parts, layout.shapes, strict=True)
    return ArrayRecord({name: FlowerArray(part.reshape(shape)) for name, part, shape in shaped})


def _update(weights: ArrayRecord, answer: Message) -> tuple[str, Array]:
    """The name of the record of weights in the answer of a client's code, and the update (d,)."""
    records = answer.content.array_records
    if len(records) != 1:
        raise ValueError(f"the client's code sent {len(records)} records of arrays, and must send one, of its weights")
    ((key, after),) = records.items()
    if list(after) != list(weights) or _layout(after) != _layout(weights):
        raise ValueError("the client's code must send weights with the names and shapes of those that it got")
    return key, _flat(weights) - _flat(after)


def _pack(parts: Parts) -> ArrayRecord:
    """Arrays as bytes, without Flower's headers."""
    arrays = {
        name: FlowerArray(str(part.dtype), tuple(map(int, part.shape)), "sketchbench", part.tobytes())
        for name, part in parts.items()
    }
    return ArrayRecord(arrays)


def _unpack(record: ArrayRecord) -> dict[str, Array]:
    return {name: np.frombuffer(one.data, one.dtype).reshape(one.shape).copy() for name, one in record.items()}


def _nbytes(record: ArrayRecord) -> int:
    return sum(len(array.data) for array in record.values())
