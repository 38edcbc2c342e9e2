"""Broken training from compressed gradients is rejected by T12-fiht; T13-order tells which of two is ahead."""

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
from judging import verdict

from sketchbench.base.course import WHOLE
from sketchbench.federated.compressed_experiment import CompressedProcedure, Compression
from sketchbench.federated.compressors import UNCOMPRESSED, CompressionArm
from sketchbench.federated.curve import Curve
from sketchbench.federated.tuning import Tuning
from sketchbench.kernels import load
from sketchbench.learning.dataset import digits, partition
from sketchbench.learning.model.networks import mlp
from sketchbench.sketch.recovery.iterative import Iterative
from sketchbench.task.error_feedback.compressed_training import CompressedJudging, CompressedTraining

SOUND = CompressedTraining(
    kernels=load("numba"),
    seed=3,
    dataset=functools.cache(digits.load),
    partition=functools.partial(partition.iid, clients=25, balanced=True),
    model=functools.partial(mlp, hidden=(12,)),
    compression=Compression(arms={"fiht": [2]}, k=41, feedback="subtract", momentum=0.0),
    training=CompressedProcedure(batch=8, participation=1.0, inputs="unit", augmented=False, precision="float32"),
    tuning=Tuning(rates=[0.5], rounds=1),
    judging=CompressedJudging(points=5, images=None, allowed_loss=0.1, refuting_loss=0.4),
    rounds=180,
    trials=24,
    course=WHOLE,
)


def test_sound() -> None:
    assert verdict("T12-fiht", SOUND.run()) == "holds"


def test_a_server_that_forgets() -> None:
    """It trains all the same, but too slowly: in half of the trainings more than allowed is lost."""
    forgetting = dataclasses.replace(SOUND.compression, feedback="none")
    assert verdict("T12-fiht", dataclasses.replace(SOUND, compression=forgetting).run()) != "holds"


def test_the_smallest_entries_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single training refutes it, so two are enough."""
    keep = Iterative._keep

    def smallest(self: Any, phi: Any, y: Any, estimate: Any, domain: int) -> Any:
        return keep(self, phi, y, 1 / (estimate + 1e-300), domain)

    monkeypatch.setattr(Iterative, "_keep", smallest)
    assert verdict("T12-fiht", dataclasses.replace(SOUND, trials=2).run()) == "fails"


def lead(*, count_sketch: float, fiht: float, diverging: bool = True) -> str:
    """The verdict of T13-order on 24 trainings of 3 evaluated rounds, with accuracies around these."""
    random = np.random.default_rng(0)
    arms = {UNCOMPRESSED: 0.9, CompressionArm("fiht", 10): fiht, CompressionArm("count_sketch", 1.1): count_sketch}
    curves: dict[CompressionArm, list[Curve]] = {}
    for arm, level in arms.items():
        curves[arm] = []
        for _ in range(SOUND.trials):
            curve = Curve(parameters=910)
            lost = diverging and arm != UNCOMPRESSED
            curve.diverged = 150 if lost else None
            for t, share in ((0, 0.1), (60, level / 2), (120, level), (180, level))[: 3 if lost else 4]:
                accuracy = share + 0.02 * random.standard_normal() * (t > 0)
                curve.add(t, {"loss": 1.0, "train_accuracy": 0.0, "accuracy": accuracy, "memory": 0.0}, 0, 0)
            curves[arm].append(curve)
    return verdict("T13-order", SOUND._rows(curves, chance=2.3))


@pytest.mark.parametrize("diverging", [True, False])
def test_the_order_is_seen_also_where_both_diverge(diverging: bool) -> None:
    assert lead(count_sketch=0.3, fiht=0.6, diverging=diverging) == "holds"
    assert lead(count_sketch=0.6, fiht=0.3, diverging=diverging) == "fails"


def test_no_order() -> None:
    assert lead(count_sketch=0.5, fiht=0.5) == "inconclusive"
