"""Flower's clients and server do what a simulated round does, and its simulation what the project's training does."""

import dataclasses
import functools
import logging
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr needs other versions than requirements.lock has; run `make test-flower`")

from flwr.app import ArrayRecord, MessageType, MetricRecord, RecordDict
from flwr.app import Message as FlowerMessage
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.simulation import run_simulation
from integrations.distributed import COMPRESSION
from integrations.flowing import Direct, in_this_process
from integrations.simulated import MESSAGES, STEPS, Simulated

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.compressor.compressor import Compressor
from sketchbench.compressor.message import Layout
from sketchbench.federated.frontier import Arm, Federation, Gradients, TrainedArm, make_federation, train
from sketchbench.integrations import flower
from sketchbench.integrations.flower import CompressedFedAvg, CompressUpdates
from sketchbench.integrations.method import for_layouts
from sketchbench.learning.dataset import digits, partition
from sketchbench.learning.model.networks import mlp
from sketchbench.learning.objective.stacked import Batches
from sketchbench.privacy.sampling import Sampling

CLIENTS, ROUNDS, SEED, RATE = 3, 4, 7, 0.5
SHAPES = {"hidden.weight": (12, 20), "hidden.bias": (12,), "out.weight": (5, 12), "out.bias": (5,)}
LAYOUT = Layout(tuple(SHAPES.values()))
ROOT = Path(__file__).parents[2]
Update = Callable[[np.ndarray, int, int], np.ndarray]  # of weights (d,) by the client with this number in a round


@pytest.fixture(autouse=True)
def quiet() -> None:
    logging.getLogger("flwr").setLevel(logging.ERROR)


def update(w: np.ndarray, place: int, number: int) -> np.ndarray:
    return np.random.default_rng([place, number]).standard_normal(len(w)).astype(np.float32) ** 5


def record(w: np.ndarray, shapes: dict[str, tuple[int, ...]] = SHAPES) -> ArrayRecord:
    parts = np.split(w, np.cumsum(Layout(tuple(shapes.values())).sizes)[:-1])
    arrays = (part.reshape(shape) for part, shape in zip(parts, shapes.values(), strict=True))
    return ArrayRecord({name: flower.FlowerArray(array) for name, array in zip(shapes, arrays, strict=True)})


def flat(arrays: ArrayRecord) -> np.ndarray:
    return np.concatenate([array.reshape(-1) for array in arrays.to_numpy_ndarrays()])


def client_app(mods: list[Any], make: Update = update, shapes: dict[str, tuple[int, ...]] = SHAPES) -> ClientApp:
    app = ClientApp(mods=mods)

    @app.train()
    def train_(message: FlowerMessage, context: Any) -> FlowerMessage:
        w, place = flat(message.content["arrays"]), context.node_config["partition-id"]
        after = w - make(w, place, message.content["config"]["server-round"] - 1)
        answer = {"arrays": record(after, shapes), "metrics": MetricRecord({"num-examples": place + 1})}
        return FlowerMessage(RecordDict(answer), reply_to=message)

    @app.evaluate()
    def evaluate(message: FlowerMessage, context: Any) -> FlowerMessage:
        assert list(message.content["arrays"]) == list(shapes)  # whole, and as they are
        return FlowerMessage(RecordDict({"metrics": MetricRecord({"num-examples": 1})}), reply_to=message)

    return app


def compression(name: str) -> float:
    return COMPRESSION.get(name, 4)


def mod(name: str, **options: Any) -> CompressUpdates:
    return CompressUpdates(name, **{"compression": compression(name), "seed": SEED, **options})


def strategy(name: str, **options: Any) -> CompressedFedAvg:
    return CompressedFedAvg(name, **{"compression": compression(name), "seed": SEED, **options})


class Run:
    """A training through Flower's messages.

    Attributes:
        weights: before the first round and after each.
        metrics: of each round, from 1 on.
    """

    def __init__(self, server: CompressedFedAvg, app: ClientApp, rounds: int = ROUNDS) -> None:
        self.grid, self.weights = Direct(app, CLIENTS), []

        def note(_: int, arrays: ArrayRecord) -> None:
            self.weights.append(flat(arrays))

        start = record(np.random.default_rng(0).standard_normal(LAYOUT.d).astype(np.float32))
        result = server.start(self.grid, start, num_rounds=rounds, evaluate_fn=note)
        self.metrics = result.train_metrics_clientapp


def steps(run: Run, compressor: Compressor, who: list[list[int]] | None = None) -> list[bool]:
    simulated, close = Simulated(compressor, SEED, CLIENTS), []
    w = run.weights[0]
    for number in range(len(run.weights) - 1):
        places = who[number] if who else list(range(CLIENTS))
        updates = np.stack([w - (w - update(w, place, number)) for place in places])
        step = simulated.exchange(updates, number, places).step[0]
        w = w - step
        close.append(bool(np.linalg.norm(run.weights[number + 1] - w) <= 1e-4 * np.linalg.norm(step)))
    return close


def nbytes(messages: list[FlowerMessage]) -> int:
    """Of all arrays and keys that are for or of training."""
    count = 0
    for message in messages:
        if message.metadata.message_type == MessageType.TRAIN:
            arrays = [array for one in message.content.array_records.values() for array in one.values()]
            count += sum(len(array.data) for array in arrays) + len(message.content[flower.ROUND].get("key", b""))
    return count


@pytest.mark.parametrize("name", sorted({*MESSAGES} - STEPS))
def test_rounds_are_those_of_a_simulation(name: str) -> None:
    """To rounding, with the bytes of the messages; a step comes with the next round, all weights with the first."""
    run = Run(strategy(name), client_app([mod(name)]))
    compressor = for_layouts(name, compression(name), SEED)(LAYOUT)
    assert steps(run, compressor) == [True] * ROUNDS
    simulated, w = Simulated(compressor, SEED, CLIENTS), run.weights[0]
    before = sum(len(array.data) for array in record(w).values())
    for number in range(ROUNDS):
        done = simulated.exchange(np.stack([w - (w - update(w, c, number)) for c in range(CLIENTS)]), number)
        w, last = w - done.step[0], done.replies[-1].nbytes
        logged = run.metrics[number + 1]
        assert (logged["bytes_up"], logged["bytes_down"]) == (done.bytes_up, done.bytes_down - last + before)
        before = last
    for logged, messages in (("bytes_up", run.grid.answers), ("bytes_down", run.grid.sent)):
        assert CLIENTS * sum(metrics[logged] for metrics in run.metrics.values()) == nbytes(messages)


def test_a_client_that_forgets_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flower.ClientRounds, "load", lambda *_: None)
    run = Run(strategy("top_k"), client_app([mod("top_k")]))
    assert steps(run, for_layouts("top_k", 4, SEED)(LAYOUT)) == [True, *[False] * (ROUNDS - 1)]


def test_a_server_that_sums_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    minus = flower._minus
    monkeypatch.setattr(flower, "_minus", lambda weights, step: minus(weights, CLIENTS * step))
    run = Run(strategy("count_sketch"), client_app([mod("count_sketch")]), 1)
    assert steps(run, for_layouts("count_sketch", 4, SEED)(LAYOUT)) == [False]


@pytest.mark.parametrize("name", ["top_k", "fetch_sgd", "qsgd"])
def test_some_of_the_clients(name: str) -> None:
    """A client remembers what it has not sent until it takes part again, and then gets all weights."""
    run = Run(strategy(name, fraction_train=0.7, min_train_nodes=1), client_app([mod(name)]), 8)
    train_ = [message for message in run.grid.sent if message.metadata.message_type == MessageType.TRAIN]
    who: list[list[int]] = [[] for _ in run.metrics]
    for message in train_:
        place = message.metadata.dst_node_id - 100
        number = message.content[flower.ROUND]["round"]
        assert ("arrays" in message.content) == (not number or place not in who[number - 1])
        who[number].append(place)
    assert {len(places) for places in who} == {2}
    assert len({place for places in who for place in places}) == CLIENTS
    assert steps(run, for_layouts(name, compression(name), SEED)(LAYOUT), [sorted(places) for places in who]) == [
        True
    ] * len(who)


def test_a_strategy_that_starts_again_forgets() -> None:
    server, app = strategy("top_k"), client_app([mod("top_k")])
    first = Run(server, app)
    arrays = server.start(first.grid, record(first.weights[0]), num_rounds=ROUNDS).arrays
    np.testing.assert_array_equal(flat(arrays), first.weights[-1])


def test_a_share_of_the_clients_that_cannot_be() -> None:
    with pytest.raises(
        ValueError, match=r"clients of PowerSGD need each step .* with fraction_train=0.5; set fraction"
    ):
        Run(strategy("power_sgd", fraction_train=0.5), client_app([mod("power_sgd")]))


def test_a_node_that_was_away(monkeypatch: pytest.MonkeyPatch) -> None:
    server = strategy("power_sgd", fraction_evaluate=0.0)
    grid = Direct(client_app([mod("power_sgd")]), CLIENTS)
    nodes = iter([[100, 101], [100, 101], [100, 102], [100, 102]])  # it is asked twice for each round
    monkeypatch.setattr(grid, "get_node_ids", lambda: next(nodes))
    with pytest.raises(ValueError, match="node 102 was not in round 1, and clients of PowerSGD need each step"):
        server.start(grid, record(np.zeros(LAYOUT.d, np.float32)), num_rounds=2)


class Forgetful(Direct):
    """Whose nodes keep no state."""

    @property
    def contexts(self) -> dict[int, Any]:
        return {100 + place: self.context(100 + place, place) for place in range(CLIENTS)}

    @contexts.setter
    def contexts(self, _: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("grid", "mods", "shapes", "text"),
    [
        (Forgetful, {}, SHAPES, "took part in round 1, and the state of its context is of round 0; let its node keep"),
        (
            Direct,
            {"compression": 8},
            SHAPES,
            r"the server compresses by \S+\.Desketched\(limit=325, family=\S+CountSketch\) of sketchbench .*, and this "
            r"client by \S+\.Desketched\(limit=166, ",
        ),
        (Direct, {"seed": 8}, SHAPES, "the server draws from another seed than this client"),
        (Direct, {}, {"all": (LAYOUT.d,)}, "must send weights with the names and shapes of those that it got"),
        (Direct, None, SHAPES, "3 of 3 clients in round 1 don't compress; give their ClientApp the mod"),
    ],
)
def test_what_ends_a_training(grid: type[Direct], mods: Any, shapes: Any, text: str) -> None:
    app = client_app([] if mods is None else [mod("count_sketch", **mods)], shapes=shapes)
    with pytest.raises(RuntimeError, match=text):
        strategy("count_sketch").start(grid(app, CLIENTS), record(np.zeros(LAYOUT.d, np.float32)), num_rounds=2)


class Copies(Direct):
    """Whose nodes all have one number."""

    @staticmethod
    def context(node: int, place: int) -> Any:
        return Direct.context(node, 0)


def test_clients_with_one_number_end_a_training() -> None:
    grid = Copies(client_app([mod("eden")]), CLIENTS)
    with pytest.raises(ValueError, match=r"nodes 10\d and 10\d both have the number 0"):
        strategy("eden").start(grid, record(np.zeros(LAYOUT.d, np.float32)), num_rounds=1)


def test_compressors_with_other_parameters_end_a_training() -> None:
    """Of one class and one limit."""
    own = for_layouts("fetch_sgd", 4, SEED)(LAYOUT)
    other = functools.partial(type(own), family=own.family, momentum=0.5)
    app = client_app([CompressUpdates(other, compression=4, seed=SEED)])
    with pytest.raises(RuntimeError, match=r"momentum=0.9.* and this client by .*momentum=0.5"):
        strategy("fetch_sgd").start(Direct(app, CLIENTS), record(np.zeros(LAYOUT.d, np.float32)), num_rounds=1)


def test_weights_that_are_no_float32() -> None:
    app = client_app([mod("top_k")])
    arrays = ArrayRecord([np.zeros(LAYOUT.d), np.zeros(1, np.int64)])
    with pytest.raises(TypeError, match="weights '0' of float64 must be float32; send the parameters of a model"):
        strategy("top_k").start(Direct(app, CLIENTS), arrays, num_rounds=1)


def test_a_client_that_fails_or_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(w: np.ndarray, place: int, number: int) -> np.ndarray:
        return np.full_like(w, np.nan)

    with pytest.raises(RuntimeError, match=r"3 of 3 clients in round 1 failed, the first with .*the update is nan"):
        Run(strategy("top_k"), client_app([mod("top_k")], fails))
    answer = Direct.send_and_receive
    monkeypatch.setattr(Direct, "send_and_receive", lambda *args, **kwargs: answer(*args, **kwargs)[1:])
    with pytest.raises(RuntimeError, match="2 of 3 clients in round 1 answered in time"):
        Run(strategy("top_k"), client_app([mod("top_k")]))


def test_a_server_without_the_strategy() -> None:
    from flwr.serverapp.strategy import FedAvg

    grid = Direct(client_app([mod("top_k")]), CLIENTS)
    FedAvg().start(grid, record(np.zeros(LAYOUT.d, np.float32)), num_rounds=1)
    assert "let the server train with CompressedFedAvg" in grid.answers[0].error.reason


def test_settings_are_checked() -> None:
    for kind in (CompressUpdates, CompressedFedAvg):
        with pytest.raises(ValueError, match="compressor=tpo_k is unknown; choose one of count_sketch"):
            kind("tpo_k", compression=4)
        with pytest.raises(ValueError, match="compression=0"):
            kind("top_k", compression=0)
        with pytest.raises(ValueError, match="root seed -1"):
            kind("top_k", compression=4, seed=-1)
    with pytest.raises(ValueError, match="SketchedLayers compresses the inputs of layers"):
        Run(strategy("sketched_layers", compression=1), client_app([]))


# The simulation of Flower beside the project's own training.

MANY, LONG = 10, 8
SAMPLING = Sampling("without_replacement", 16, 143)


@functools.cache
def federation() -> Federation:
    """On digits with noise, so that no entries of a gradient tie, of which rounding would choose the largest."""
    model = functools.partial(mlp, hidden=(6,))
    iid = functools.partial(partition.iid, clients=MANY)
    made = make_federation(kernels.load("numba"), digits.mixed(), iid, model, [SEED])
    inputs, labels = made.train
    noise = seeds.generator(SEED, what="noise").standard_normal(inputs.shape, dtype=np.float32)
    return dataclasses.replace(made, train=(inputs + noise, labels))


@functools.cache
def batches() -> list[Batches]:
    return [federation().batches(SAMPLING, SEED, number) for number in range(LONG)]


def slope(w: np.ndarray, place: int, number: int) -> np.ndarray:
    own = Batches(*(part[:, place : place + 1] for part in batches()[number]))
    return np.float32(RATE) * federation().network.gradients(w[None], own)[0, 0]


def trained(name: str, layout: Layout) -> TrainedArm:
    arm = Arm(for_layouts(name, compression(name), SEED)(layout), np.float32([RATE]))
    (done,) = train(federation(), Gradients(SAMPLING), [arm], SEED, rounds=LONG)
    return done


@pytest.mark.parametrize("name", ["top_k", "power_sgd", "fetch_sgd"])  # of each kind of memory
def test_a_simulation_reaches_what_the_project_s_training_reaches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten clients, the same batches: the same weights to rounding, accuracy and bytes; another compressor is far."""
    in_this_process(monkeypatch)
    layout = federation().layout
    shapes = {str(number): shape for number, shape in enumerate(layout.shapes)}
    server, app = strategy(name, fraction_evaluate=0.0, min_train_nodes=MANY), ServerApp()
    found: list[Any] = []

    @app.main()
    def main(grid: Any, context: Any) -> None:
        found.append(server.start(grid, record(federation().start[0], shapes), num_rounds=LONG))

    run_simulation(app, client_app([mod(name)], slope, shapes), num_supernodes=MANY)
    (result,) = found
    ours, other = trained(name, layout), trained("none", layout)
    change = ours.w[0] - federation().start[0]
    assert np.linalg.norm(flat(result.arrays) - ours.w[0]) <= 1e-4 * np.linalg.norm(change)
    assert np.linalg.norm(other.w[0] - ours.w[0]) > 0.1 * np.linalg.norm(change)
    assert federation().accuracy(flat(result.arrays)[None]) == pytest.approx(ours.accuracy)
    metrics = result.train_metrics_clientapp.values()
    assert {one["bytes_up"] for one in metrics} == {ours.bytes_up}
    first = sum(len(array.data) for array in record(federation().start[0], shapes).values())
    last = flower._nbytes(server._reply)
    assert sum(one["bytes_down"] for one in metrics) - first + last == ours.bytes_down * LONG


def page(language: str = "python") -> str:
    text = (ROOT / "docs" / "howto" / "flower.md").read_text(encoding="utf-8")
    return text.split(f"```{language}\n")[1].split("```")[0]


def assert_page_s(printed: str) -> None:
    pattern = r"^accuracy ([\d.]+); a client sent (\d+) bytes and received (\d+), of (\d+) uncompressed$"
    accuracy, up, down, whole = map(float, re.search(pattern, printed, re.MULTILINE).groups())
    assert accuracy > 0.9
    assert up < whole / 10
    assert down < whole / 2


def test_the_training_of_the_page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    in_this_process(monkeypatch)
    exec(page(), {"__name__": "__main__"})
    assert_page_s(capsys.readouterr().out)


def test_the_training_of_the_page_with_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is as large as all others together; run it by `make test-flower RAY=1`")
    (tmp_path / "federated.py").write_text(page(), encoding="utf-8")
    done = subprocess.run([sys.executable, "federated.py"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert_page_s(done.stdout)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, language in (("federated.py", "python"), ("pyproject.toml", "toml")):
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / name).write_text(page(language), encoding="utf-8")
    monkeypatch.setenv("FLWR_HOME", str(tmp_path / "flower"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    programs = Path(sys.modules["flwr"].__file__).parents[1] / "bin"  # where `make test-flower` has them
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), os.environ["PATH"]]))
    return tmp_path


def flwr(*arguments: str, folder: Path) -> str:
    done = subprocess.run(["flwr", *arguments], capture_output=True, text=True, check=False, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_app_of_the_page_is_one_to_flower(app: Path) -> None:
    """Its settings are whole, and their components are there."""
    said = flwr("build", "--app", "mine", folder=app)
    assert "Successfully built me.federated" in said
    assert "missing" not in said


def test_the_app_of_the_page_by_flower_s_own_command(app: Path) -> None:
    pytest.importorskip("ray", reason="Ray is as large as all others together; run it by `make test-flower RAY=1`")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    (app / "flower").mkdir()
    here = f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    (app / "flower" / "config.toml").write_text(here)
    with (app / "server.log").open("w") as log:
        command = ["flower-superlink", "--insecure", "--simulation", "--host", "127.0.0.1", "--port", port]
        server = subprocess.Popen(command, cwd=app, stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", int(port))):
                break
            time.sleep(0.2)
        flwr("federation", "simulation-config", "@none/default", "here", "--num-supernodes", "10", folder=app)
        assert_page_s(flwr("run", "mine", "here", "--stream", folder=app))
    finally:
        server.terminate()
        server.wait(30)
