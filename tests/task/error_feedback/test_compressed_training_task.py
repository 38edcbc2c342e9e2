"""The task of training networks from compressed gradients: its rows, its rule for the learning rate, and going on
after an interruption."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selecting import select, with_parameters
from whole_plan import whole_plan

from sketchbench import kernels
from sketchbench.base.course import WHOLE
from sketchbench.federated import experiment
from sketchbench.federated.compressed_experiment import CompressedExperiment, CompressedProcedure, Compression
from sketchbench.federated.compressors import UNCOMPRESSED, CompressionArm
from sketchbench.federated.curve import Curve
from sketchbench.federated.tuning import Tuning
from sketchbench.learning.dataset import augmentation, digits, partition, synthetic
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.model.networks import mlp
from sketchbench.learning.model.residual import residual
from sketchbench.learning.objective.network import Network
from sketchbench.run import execution
from sketchbench.task.error_feedback.compressed_training import CompressedJudging, CompressedTraining

SMALL = CompressedTraining(
    kernels=kernels.load("numba"),
    seed=4,
    course=WHOLE,
    dataset=functools.cache(digits.load),
    partition=functools.partial(partition.iid, clients=10),
    model=functools.partial(mlp, hidden=(4,)),
    compression=Compression(
        arms={"fiht": [1, 2], "count_sketch": [1.25]},
        k=14,
        feedback="subtract",
        momentum=0.0,
    ),
    training=CompressedProcedure(batch=4, participation=0.5, inputs="unit", augmented=False, precision="float32"),
    tuning=Tuning(rates=[0.5], rounds=5),
    judging=CompressedJudging(points=4, images=200, allowed_loss=0.05, refuting_loss=0.2),
    rounds=20,
    trials=3,
)


def changed(task: CompressedTraining = SMALL, **change: Any) -> Any:
    return with_parameters(task, ["course", "compression", "training", "tuning", "judging"], **change)


D = 64 * 4 + 4 + 40 + 10


@functools.cache
def rows() -> list[dict[str, Any]]:
    return SMALL.run()


def of(quantity: str, found: Any = None, **where: Any) -> list[dict[str, Any]]:
    return select(found or rows(), quantity=quantity, **where)


def test_curves() -> None:
    arms = [("uncompressed", 1.0), ("fiht", 1), ("fiht", 2), ("count_sketch", 1.25)]
    for case, compression in arms:
        for quantity in ("loss", "train_accuracy", "accuracy"):
            shown = of(quantity, case=case, compression=compression)
            assert [row["round"] for row in shown] == [0, 5, 10, 15, 20]
            assert all(row["trials"] == 3 and row["d"] == D for row in shown)
    starts = {row["mean"] for row in of("loss", round=0)}
    assert len(starts) == 1  # all arms start from the same weights
    assert of("loss", case="uncompressed")[-1]["mean"] < 0.95 * starts.pop()


def test_bytes() -> None:
    """Up, b numbers of 8 bytes a round; down, k of them with their places."""
    for case, compression, b in (
        ("uncompressed", 1.0, D),
        ("fiht", 2, D / 2),
        ("count_sketch", 1.25, 5 * round(D / 6.25)),
    ):
        last = of("accuracy", case=case, compression=compression)[-1]
        assert last["bytes_up"] == 20 * 8 * b
    assert of("accuracy", case="fiht", compression=2)[-1]["bytes_down"] <= 20 * 14 * 12


@pytest.mark.parametrize("change", [{}, {"rates": [3.0], "rounds": 60, "arms": {"fiht": [10], "count_sketch": [1]}}])
def test_side_by_side_and_one_by_one_are_the_same(change: dict[str, Any]) -> None:
    """Bit for bit, also where some trainings diverge before others."""
    task = changed(SMALL, **change)
    found = task.run()
    assert found == task.rows([task.trial(number) for number in range(task.trials)])
    assert not change or of("loss", found, status="diverged")


def curves(*ends: list[float], start: float = 2.0, end: float = 1.0) -> list[Curve]:
    """Trainings of 20 rounds with these accuracies at 16 and 20, and losses, the same at both."""
    made = []
    for accuracies in ends:
        curve = Curve(parameters=D)
        losses = [start, 1.5, end, end]
        for t, loss, accuracy in zip([0, 10, 16, 20], losses, [0.0, 0.9, *accuracies], strict=True):
            curve.add(t, {"loss": loss, "train_accuracy": 0.0, "accuracy": accuracy, "memory": 0.5}, 0, 0)
        made.append(curve)
    return made


def diverged() -> Curve:
    """A training that diverged after round 13."""
    curve = Curve(parameters=D, diverged=13)
    for t in (0, 10):
        curve.add(t, {"loss": 2.0, "train_accuracy": 0.0, "accuracy": 0.0, "memory": 0.5}, 0, 0)
    return curve


def test_what_is_counted() -> None:
    task = changed(SMALL, trials=2, points=2)
    found = {
        UNCOMPRESSED: curves([0.8, 0.9], [0.9, 0.9]),
        CompressionArm("fiht", 2): curves([0.8, 0.82], [0.4, 0.6]),
        CompressionArm("count_sketch", 1.25): [*curves([0.8, 0.84], end=2.1), diverged()],
    }
    task_rows = list(task._rows(found, chance=2.3))
    (lost,) = of("accuracy_loss", task_rows, case="fiht")
    assert (lost["mean"], lost["count"]) == (pytest.approx((0.04 + 0.4) / 2), 1)
    (lost,) = of("accuracy_loss", task_rows, case="count_sketch")
    assert (lost["maximum"], lost["count"]) == (pytest.approx(0.9), 1)
    assert of("survives", task_rows, case="fiht")[0]["count"] == 2
    assert of("survives", task_rows, case="count_sketch")[0]["count"] == 0
    behind = {row["case"]: (row["count"], row["bound"]) for row in of("not_behind", task_rows)}
    assert behind == {"uncompressed": (2, 0.5), "fiht": (2, 0.5), "count_sketch": (1, 0.5)}
    leads = {row["case"]: (row["mean"], row["minimum"]) for row in of("lead", task_rows)}
    assert leads["fiht"] == (0, 0)
    # over rounds 10, 16 and 20: 0.9 in both, then 0.8 and 0.84 against 0.8 and 0.82; what diverged has seen 10 only
    assert leads["count_sketch"] == (pytest.approx((0.02 / 3 - 0.9) / 2), -0.9)
    ahead = {row["case"]: (row["count"], row["bound"]) for row in of("ahead", task_rows)}
    assert ahead == {"uncompressed": (2, 0.5), "fiht": (0, 0.5), "count_sketch": (1, 0.5)}
    (great,) = of("great_loss", task_rows, case="count_sketch")
    assert (great["count"], great["bound"], great["maximum"]) == (1, 0.2, pytest.approx(0.9))
    shown = of("accuracy", task_rows, case="count_sketch")
    assert [row["status"] for row in shown] == ["finite", "finite", "diverged"]
    assert "mean" not in shown[-1]


@pytest.mark.parametrize(("start", "end", "survivors"), [(3.0, 2.2, 2), (3.0, 2.4, 0), (2.0, 2.1, 0), (2.0, 1.9, 2)])
def test_what_survives(start: float, end: float, survivors: int) -> None:
    """A network worse than at its start has not survived, nor has one worse than guessing among ten classes."""
    task = changed(SMALL, trials=2, points=2)
    found = task._rows({UNCOMPRESSED: curves([0.8, 0.9], [0.9, 0.9], start=start, end=end)}, chance=2.3)
    assert of("survives", list(found))[0]["count"] == survivors


def test_the_memory() -> None:
    """What is carried over is nothing without compression, nearly nothing where FIHT may take every row, and grows."""
    assert {row["maximum"] for row in of("memory", case="uncompressed")} == {0.0}
    assert [row["round"] for row in of("memory", case="fiht", compression=2)] == [5, 10, 15, 20]
    first, *_, last = of("memory", case="count_sketch")
    assert 0.5 < first["mean"] < last["mean"]


def test_a_training_that_diverges_ends_there() -> None:
    """A step far too long."""
    found = changed(SMALL, rates=[1e25], trials=2, arms={"fiht": [2]}).run()
    for case in ("uncompressed", "fiht"):
        assert of("loss", found, case=case)[-1]["status"] == "diverged"
        assert of("survives", found, case=case)[0]["count"] == 0
    assert of("accuracy_loss", found)[0]["mean"] == 0  # both are counted as 0


def test_a_single_training_has_no_spread() -> None:
    found = changed(SMALL, trials=1, rounds=2, points=1).run()
    for row in [*of("accuracy", found), *of("accuracy_loss", found)]:
        assert row["trials"] == 1
        assert "sd" not in row
        assert row["minimum"] == row["mean"] == row["maximum"]


def test_the_learning_rate_is_chosen_on_held_out_training_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    losses = {0.1: 0.5, 0.2: 0.3, 0.3: 0.4, 0.4: 0.1}
    seen: list[tuple[float, int, int, int]] = []

    def trained(self: CompressedExperiment) -> Curve:
        seen.append((self.rate, self.rounds, len(self.data.train.labels), len(self.judged[0].labels)))
        if "tuning" not in self.name:
            raise StopIteration
        assert self.judged[0] is self.judged[1]
        kept = {image.tobytes() for image in self.data.train.images}
        assert not any(image.tobytes() in kept for image in self.judged[0].images)
        curve = Curve(diverged=3 if self.rate == 0.4 else None)
        curve.add(0, {"loss": losses[self.rate]}, 0, 0)
        return curve

    monkeypatch.setattr(CompressedExperiment, "run", trained)
    with pytest.raises(StopIteration):
        changed(SMALL, rates=[0.1, 0.2, 0.3, 0.4]).trial(0)
    assert seen[:4] == [(rate, 5, 1294, 143) for rate in (0.1, 0.2, 0.3, 0.4)]
    assert seen[4] == (0.2, 20, 1437, 1437)


def interrupted(task: CompressedTraining, monkeypatch: pytest.MonkeyPatch, *stops: int) -> Any:
    """Its rows, after it was killed in the gradients of these numbers; and how many there were."""
    calls = 0
    sound = Network.stochastic_gradient

    def stopping(self: Network, w: Any, random: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls in stops:
            raise KeyboardInterrupt
        return sound(self, w, random)

    with monkeypatch.context() as patched:
        patched.setattr(experiment, "SECONDS_BETWEEN", 0.0)
        patched.setattr(Network, "stochastic_gradient", stopping)
        for _ in stops:
            with pytest.raises(KeyboardInterrupt):
                task.run()
        return task.run(), calls


def test_an_interrupted_training_goes_on_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = changed(SMALL, checkpoints=str(tmp_path))
    found, calls = interrupted(task, monkeypatch, 33, 100, 171)
    assert found == rows()
    assert calls == 3 * 4 * 20 + 3  # only what was stopped is made again
    assert interrupted(task, monkeypatch) == (rows(), 0)
    other = changed(task, batch=3)
    assert other.run() != rows()  # another training has checkpoints of its own
    before = len(list(tmp_path.rglob("*.pt")))
    changed(task, code="another").run()  # and so has another version of the code
    assert len(list(tmp_path.rglob("*.pt"))) > before


def test_diverged_trainings_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = changed(SMALL, rates=[1e25], trials=1, arms={"fiht": [2]}, checkpoints=str(tmp_path))
    found = task.run()
    assert interrupted(task, monkeypatch) == (found, 0)


def images(count: int = 900) -> Dataset:
    """In the shape of CIFAR-10, as many of each class."""
    data = synthetic.load("cifar10", train=count, test=20)
    labels = np.arange(count) % 10
    return dataclasses.replace(data, train=Split(data.train.images, labels))


def paper(study: str, count: int) -> dict[str, Any]:
    """The paper's configuration for one round, on made-up images; the test takes fewer clients."""
    (run,) = whole_plan("paper").runs[study].values()
    made = {"_target_": f"{__name__}.images", "_partial_": True, "count": count}
    task = run.config["task"]
    judging = {**task["judging"], "points": 1, "images": 20}
    return {**run.config, "task": {**task, "dataset": made, "rounds": 1, "judging": judging, "trials": 1}}


@pytest.mark.weekly
@pytest.mark.parametrize(("study", "count"), [("compressed_iid", 3 * 100), ("compressed_noniid", 10 * 4 * 5)])
def test_one_round_of_the_paper_size(study: str, count: int) -> None:
    """With clients that have as many images as the paper's: 36 of one class each are at most four of a class."""
    config = paper(study, count)
    task = config["task"]
    assert task["compression"]["k"] == 30_000
    assert task["tuning"]["rates"] == [0.01]
    if study == "compressed_iid":
        task["partition"] = {**task["partition"], "clients": 3}
    else:
        assert task["partition"]["clients"] == 10_000
        task["partition"] = {**task["partition"], "clients": 36}
        task["training"] = {**task["training"], "participation": 20 / 36}
    found = execution.execute(config)
    arms = [(case, c) for case, several in task["compression"]["arms"].items() for c in several]
    for case, compression in [("uncompressed", 1.0), *arms]:
        (row,) = of("accuracy", found, case=case, compression=compression, round=1)
        assert row["d"] == 668_426
        b = row["bytes_up"] / 8
        assert b == pytest.approx(668_426 / compression, abs=3)
    assert of("accuracy", found, case="fiht", round=1)[0]["bytes_down"] <= 12 * 30_000


@pytest.mark.weekly
def test_a_residual_network_goes_on_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With batch normalisation, dropout and mixed precision, at its full size."""
    task = changed(
        SMALL,
        dataset=functools.partial(images, 40),
        partition=functools.partial(partition.iid, clients=4),
        model=residual,
        arms={"fiht": [2]},
        k=30_000,
        rates=[0.01],
        inputs="centred",
        augmented=True,
        precision="bfloat16",
        rounds=3,
        trials=1,
        points=3,
        images=20,
        checkpoints=str(tmp_path),
    )
    whole = changed(task, checkpoints=None).run()
    assert interrupted(task, monkeypatch, 5) == (whole, 7)


def test_leaked_test_images_are_refused() -> None:
    def leaked() -> Dataset:
        data = digits.load()
        return dataclasses.replace(data, test=data.train)

    with pytest.raises(ValueError, match="1437 test images of digits are also training images"):
        changed(SMALL, dataset=leaked).run()


def test_an_unknown_arm() -> None:
    with pytest.raises(ValueError, match="arm=other is unknown; choose one of fiht, count_sketch"):
        changed(SMALL, arms={"other": [2]})


def test_images_are_turned_and_mirrored() -> None:
    """An image that is symmetric stays what it is, but for what interpolation does to it; others move."""
    data = images(60).train
    first, again = (augmentation.flip_and_rotate(data, 3) for _ in range(2))
    np.testing.assert_array_equal(first.images, again.images)
    assert (first.labels == data.labels).all()
    moved = (first.images != data.images).any(axis=(1, 2, 3))
    assert moved.mean() > 0.9
    flat = Split(np.full((4, 3, 8, 8), 77, np.uint8), np.zeros(4, np.int64))
    assert (augmentation.flip_and_rotate(flat, 3).images == 77).all()
    still = augmentation.flip_and_rotate(data, 3, degrees=0.0).images
    mirrored = (still == data.images[..., ::-1]).all(axis=(1, 2, 3))
    kept = (still == data.images).all(axis=(1, 2, 3))
    assert (mirrored | kept).all()
    assert 15 < mirrored.sum() < 45
