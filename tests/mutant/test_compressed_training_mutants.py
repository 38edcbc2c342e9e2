"""Broken training from compressed gradients is rejected by the check of T12-fiht that passes the sound one."""

import dataclasses
import functools
from typing import Any

import pytest
import torch
from judging import verdict

from sketchbench.dataset import digits, partition
from sketchbench.federated.compressed_experiment import CompressedProcedure, Compression
from sketchbench.federated.tuning import Tuning
from sketchbench.kernels import load
from sketchbench.model.networks import mlp
from sketchbench.recovery.iterative import Iterative
from sketchbench.task.compressed_training import CompressedJudging, CompressedTraining

SOUND = CompressedTraining(
    kernels=load("numba"),
    seed=3,
    dataset=functools.cache(digits.load),
    partition=functools.partial(partition.iid, clients=25, balanced=True),
    model=functools.partial(mlp, hidden=(12,)),
    compression=Compression(arms={"fiht": [2]}, k=41, feedback="subtract", momentum=0.0),
    training=CompressedProcedure(
        batch=8, participation=1.0, inputs="unit", augmented=False, precision="float32", checkpoints=None
    ),
    tuning=Tuning(rates=[0.5], rounds=1),
    judging=CompressedJudging(points=5, images=None, allowed_loss=0.1, refuting_loss=0.4),
    rounds=180,
    trials=24,
    code="",
)


@pytest.fixture(scope="module", autouse=True)
def one_torch_thread() -> None:
    torch.set_num_threads(1)


def test_sound() -> None:
    assert verdict("T12-fiht", SOUND.run()) == "holds"


def test_a_server_that_forgets() -> None:
    """It trains all the same, but too slowly: in half of the trainings more than allowed is lost."""
    forgetting = dataclasses.replace(SOUND.compression, feedback="none")
    assert verdict("T12-fiht", dataclasses.replace(SOUND, compression=forgetting).run()) != "holds"


def test_the_smallest_entries_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single training refutes it, so two are enough."""
    keep = Iterative._keep

    def smallest(self: Any, phi: Any, estimate: Any, domain: int) -> Any:
        return keep(self, phi, 1 / (estimate + 1e-300), domain)

    monkeypatch.setattr(Iterative, "_keep", smallest)
    assert verdict("T12-fiht", dataclasses.replace(SOUND, trials=2).run()) == "fails"
