"""Broken layers and protocols are rejected by the claims that pass the sound ones."""

import dataclasses
import functools
from typing import Any

import pytest
from judging import shared, verdicts
from operators import DesketchNotAdjoint

from sketchbench.base.course import WHOLE
from sketchbench.federated import double_blind, fedavg, fedavg_stack
from sketchbench.federated.curve import Curve
from sketchbench.federated.fedavg_experiment import FedAvgProcedure
from sketchbench.federated.tuning import Tuning
from sketchbench.learning.dataset import partition, synthetic
from sketchbench.learning.model import sketched
from sketchbench.learning.model.networks import mlp
from sketchbench.sketch import CountSketch
from sketchbench.task.double_blind import sketched_layers
from sketchbench.task.double_blind.sketched_layers import SketchedLayersTask
from sketchbench.task.double_blind.training import Judging, Training


def layers(family: type[CountSketch]) -> set[str]:
    return verdicts("Z5", SketchedLayersTask(**shared(family(24, 8), 3), batch=4, outputs=6).run())


def test_sound_layers() -> None:
    assert layers(CountSketch) == {"holds"}


def test_a_desketch_that_is_no_adjoint() -> None:
    assert "fails" in layers(DesketchNotAdjoint)


def test_a_layer_that_sketches_both_factors_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """S Sᵀ twice, as where someone sketches the inputs and the weights."""
    project = sketched.project
    monkeypatch.setattr(sketched, "project", lambda op, x: project(op, project(op, x)))
    assert "fails" in layers(CountSketch)


def test_gradients_that_stop_at_the_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of the plain layer, passed straight through."""

    class Straight(sketched_layers.SketchedLinear):
        def forward(self, x: Any) -> Any:
            z = super().forward(x)
            plain = x @ self.weight.T + self.bias
            return z.detach() + plain - plain.detach()

    monkeypatch.setattr(sketched_layers, "SketchedLinear", Straight)
    assert "fails" in layers(CountSketch)


# Training

SOUND = Training(
    **shared(CountSketch(8, 4), 24),
    dataset=functools.partial(synthetic.load, train=120, test=60, classes=3, noise=0.05),
    partition=functools.partial(partition.iid, clients=4),
    model=functools.partial(mlp, hidden=(32,)),
    training=FedAvgProcedure(participation=0.5, epochs=1, batch=10, local_step="sketch", precision="float32"),
    tuning=Tuning(rates=[0.1], rounds=1),
    judging=Judging(
        points=2, target=0.9, stop=False, allowed_loss=0.1, allowed_ratio=5.6, printed={}, allowed_factor=2.0
    ),
    rounds=12,
    course=WHOLE,
)
CLAIMS = ("Z6", "Z7-accuracy", "Z7-rounds", "Z10", "Z10-growth")


IMPROVES = "Z16-perceptron"


def trained(task: Training = SOUND) -> dict[str, set[str]]:
    rows = [{**row, "participation": 0.1} for row in task.run()]
    return {claim: verdicts(claim, rows) for claim in CLAIMS}


@pytest.mark.weekly  # a study judges it anyway
def test_sound_training() -> None:
    assert trained() == {claim: {"holds"} for claim in CLAIMS}


def test_weights_that_are_sent_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the sketched ones: Z6 counts them."""
    broadcast = double_blind.broadcast

    def leaking(model: Any, key: int, kernels: Any = None) -> Any:
        message = broadcast(model, key, kernels)
        message.weights.update(whole=model.state_dict()["1.weight"])
        return message

    monkeypatch.setattr(fedavg, "broadcast", leaking)
    found = trained(dataclasses.replace(SOUND, trials=2, rounds=2))
    assert "fails" in found["Z6"]


def test_sketches_that_are_not_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """One S for all rounds: option II then gives the update within its row space."""
    broadcast = double_blind.broadcast
    monkeypatch.setattr(fedavg, "broadcast", lambda model, key, kernels=None: broadcast(model, 7, kernels))
    assert "fails" in trained(dataclasses.replace(SOUND, trials=2, rounds=2))["Z10"]


def test_clients_with_sketches_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that draw sketches of their own instead of those of the key."""
    receive = fedavg.receive

    def wrong(twin: Any, message: Any, kernels: Any = None) -> None:
        receive(twin, message, kernels)
        sketched.draw(twin, message.key ^ 1, kernels)

    for module in (fedavg, fedavg_stack):
        monkeypatch.setattr(module, "receive", wrong)
    assert "fails" in trained()["Z7-accuracy"]


def improvement(case: str, *, plain: str, sketched: str) -> set[str]:
    """The verdicts on an improvement, with these curves of a task's trainings in the place of the two cases."""
    task = dataclasses.replace(SOUND, judging=dataclasses.replace(SOUND.judging, target=0.4))
    ends = {"low": (0.5, 0.9), "high": (0.6, 0.8)}  # accuracy and loss
    curves = {}
    for name, level in (("plain", plain), ("sketched", sketched)):
        accuracy, loss = ends[level]
        curve = Curve(values={"accuracy": {0: 0.3, 1: accuracy}, "loss": {0: 2.0, 1: loss}}, bytes_up={0: 0, 1: 0})
        curves[name] = [curve] * task.trials
    rows = [row.replace(case="sketched") for row in task._improvements(curves) if row["case"] == case]
    return verdicts(IMPROVES, rows)


def test_an_improvement_is_seen_where_it_is() -> None:
    assert improvement("sketched", plain="low", sketched="high") == {"holds"}


def test_no_improvement() -> None:
    assert improvement("sketched", plain="high", sketched="low") == {"fails"}
    assert improvement("sketched", plain="low", sketched="low") == {"fails"}
    assert improvement("standing still", plain="low", sketched="high") == {"fails"}
