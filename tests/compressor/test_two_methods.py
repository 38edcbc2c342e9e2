"""A compressor with `encode` and `decode` alone, that of the page, works wherever a compressor is used."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import compressing
import numpy as np
import pytest
import torch
from compressing import LAYOUT, exchanged, updates

from sketchbench import kernels as backends
from sketchbench.attack.compressed_message import WatchedRounds
from sketchbench.attack.lens import Unseen
from sketchbench.attack.message_property import MessageProperty
from sketchbench.attack.stacked_inversion import StackedAttacks
from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.message import Message, byte_limit
from sketchbench.federated import frontier
from sketchbench.integrations.ddp import CompressedGradients
from sketchbench.integrations.method import for_layouts
from sketchbench.integrations.rounds import ClientRounds, ServerRounds
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset import digits, partition
from sketchbench.learning.model.networks import mlp
from sketchbench.privacy.sampling import Sampling
from sketchbench.task.compressors.compressor_contract import Budget, CompressorContract
from sketchbench.task.compressors.frontier_leakage import FrontierLeakage, LeakageJudging

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "compressor.md"
CODE = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
COMPRESSION, SEED = 4, 5
NAMES: dict[str, Any] = {}
exec(CODE, NAMES)
OWN: type[Compressor] = NAMES["LargestEntries"]


def made() -> Compressor:
    return OWN(layout=LAYOUT, limit=byte_limit(LAYOUT, COMPRESSION))


def test_the_page_has_top_k_in_25_lines() -> None:
    assert len([line for line in CODE.splitlines() if line.strip()]) <= 25
    assert Compressor.__abstractmethods__ == {"encode", "decode"}


def test_the_contract_says_four_things() -> None:
    """Fields, methods and properties aside."""
    stated = {name for name, kind in vars(Compressor)["__annotations__"].items() if "ClassVar" in str(kind)}
    assert stated == {"adds_up", "linear", "unbiased", "feedback"}


def test_it_is_top_k(reference: Kernels) -> None:
    """Places have 4 bytes here, and 2 in ours."""
    rounds = [updates(number) for number in range(3)]
    ours = compressing.maker("top_k")(layout=LAYOUT, limit=6 * made().k)  # type: ignore[attr-defined]
    (one, _), (other, _) = (exchanged(compressor, reference, rounds) for compressor in (made(), ours))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.step, b.step)


def test_it_keeps_the_contract(reference: Kernels) -> None:
    layout, budget = [list(shape) for shape in LAYOUT.shapes], Budget(400, 50, 2, 3, 3, 4e6)
    found = CompressorContract(OWN, reference, 1, [layout], [COMPRESSION], budget, 1e-4).run()
    assert {row["quantity"] for row in found} >= {"feedback", "bytes", "sameness", "unit", "refusal", "restart"}
    assert not any(row["count"] for row in found)


def test_it_trains(reference: Kernels) -> None:
    split, model = functools.partial(partition.iid, clients=3), functools.partial(mlp, hidden=(6,))
    clients = frontier.make_federation(reference, digits.mixed(), split, model, range(2))
    gradients = frontier.Gradients(Sampling("without_replacement", 16, clients.records.shape[2]))
    compressor = OWN(layout=clients.layout, limit=byte_limit(clients.layout, COMPRESSION))
    arm = frontier.Arm(compressor, np.full(2, 0.5, "float32"))
    start = clients.accuracy(clients.start)
    (trained,) = frontier.train(clients, gradients, [arm], SEED, rounds=30, judged=1)
    assert (trained.accuracy > start + 0.2).all()


def test_clients_and_a_server_of_processes_do_the_same() -> None:
    """As Flower and DDP use it."""
    compressor = for_layouts(OWN, COMPRESSION, SEED)(LAYOUT)
    server, clients = ServerRounds(compressor, SEED), [ClientRounds(compressor, SEED, number) for number in range(2)]
    loaded, memory = backends.load("numba"), compressor.begin(1, 2, backends.load("numba"))
    for number in range(3):
        x = updates(number, trials=1)
        reply = server.answer([one.send(x[0, i], number) for i, one in enumerate(clients)], number)
        done = compressor.exchange(x, memory, At(loaded, SEED, number, 1))
        memory = done.memory
        for client in clients:
            np.testing.assert_array_equal(client.follow(reply), done.step[0])
    assert CompressedGradients(OWN, compression=COMPRESSION, seed=SEED).make(LAYOUT) == compressor


def test_what_it_leaks_is_not_measured(reference: Kernels) -> None:
    x = updates(1)
    watched = WatchedRounds(made(), At(reference, SEED, 0, len(x)), lambda _: x)
    with pytest.raises(Unseen, match="not measured: no attack reads messages of LargestEntries"):
        watched.sights("server", 1)
    places = {"server": [1], "sum": [1], "another client": [1], "eavesdropper": [1]}
    found = FrontierLeakage(
        compressor=OWN,
        compression=COMPRESSION,
        kernels=reference,
        seed=1,
        dataset=digits.load,
        model=functools.partial(mlp, hidden=[8]),
        clients=2,
        attacks=StackedAttacks(steps=2, starts=1, stages=1, rounds=1, pixel_rate=0.03, prior_rate=0.2),
        inference=MessageProperty(classes=[0, 1], batch=4, known=8, tested=6, others=1, features=16),
        judging=LeakageJudging(least=3.0, control=10.0, told=0.6, pictures=1, budgets=[COMPRESSION]),
        rounds=places,  # type: ignore[arg-type]
        choosing=2,
        trials=2,
    ).run()
    refused = {row["case"]: row["reason"] for row in found if row.get("status") == "refused"}
    assert "not measured" in str(refused["server"])
    assert {row["case"] for row in found if row["quantity"] == "property_auc"} == {"server"}


def test_who_says_nothing_of_sums_denies_none(reference: Kernels) -> None:
    """Messages that add up break the contract if the class states that they do not."""

    def quantities(**stated: bool) -> set[Any]:
        methods = {"encode": lambda _, x, *__: Message({"x": x}), "decode": lambda _, message, *__: message.parts["x"]}
        kind = dataclass(frozen=True)(type("Whole", (Compressor,), {**methods, **stated}))
        layout, budget = [list(shape) for shape in LAYOUT.shapes], Budget(400, 50, 2, 3, 3, 4e6)
        found = CompressorContract(kind, reference, 1, [layout], [1], budget, 1e-4).run()
        return {(row["quantity"], row["count"]) for row in found if "summed" in str(row["quantity"])}

    assert quantities() == set()
    assert quantities(adds_up=True) == {("summed", 0)}
    assert quantities(adds_up=False) == {("not_summed", 2)}


def test_no_secure_sum() -> None:
    assert not isinstance(made(), traits.Modular)
    assert traits.grid(made()) is None


def test_a_lens_of_one_s_own_is_used(reference: Kernels) -> None:
    """As earlier compressors have it."""

    def lens(self: Any, message: Any, at: At, replies: Any) -> Any:
        return torch.zeros(at.trials, 1), lambda x: x[:, :1]

    x = updates(1)
    seeing = type("Seeing", (OWN,), {"lens": lens})(layout=LAYOUT, limit=byte_limit(LAYOUT, COMPRESSION))
    (sight,) = WatchedRounds(seeing, At(reference, SEED, 0, len(x)), lambda _: x).sights("server", 1)
    assert sight.seen.shape == (len(x), 1)
