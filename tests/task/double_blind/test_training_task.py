"""The training task: its rows, its rule for the learning rate, and going on after an interruption."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from selecting import select, with_parameters
from weekly import weekly
from whole_plan import whole_plan

from sketchbench import kernels
from sketchbench.base.course import WHOLE
from sketchbench.federated import experiment
from sketchbench.federated.checkpoint import describe
from sketchbench.federated.curve import Curve
from sketchbench.federated.fedavg import FedAvg
from sketchbench.federated.fedavg_experiment import FALSE_POSITIVES, FedAvgExperiment, FedAvgProcedure
from sketchbench.federated.fedavg_stack import FEWEST
from sketchbench.federated.tuning import Tuning
from sketchbench.learning.dataset import partition, synthetic
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.model import sketched
from sketchbench.learning.model.networks import cnn, mlp
from sketchbench.run import execution
from sketchbench.sketch import CountSketch, Identity, SubsampledCosine
from sketchbench.task.double_blind.training import Judging, Training

SMALL = Training(
    family=CountSketch(8, 4),
    kernels=kernels.load("numba"),
    seed=4,
    course=WHOLE,
    dataset=functools.partial(synthetic.load, train=120, test=40, classes=3, noise=0.1),
    partition=functools.partial(partition.iid, clients=4),
    model=functools.partial(mlp, hidden=(16,)),
    training=FedAvgProcedure(participation=0.5, epochs=1, batch=10, local_step="sketch", precision="float32"),
    tuning=Tuning(rates=[0.1], rounds=3),
    judging=Judging(
        points=3,
        target=0.8,
        stop=False,
        allowed_loss=0.02,
        allowed_ratio=3.6,
        printed={},
        allowed_factor=2.0,
    ),
    rounds=4,
    trials=2,
)


def changed(task: Training = SMALL, **change: Any) -> Any:
    return with_parameters(task, ["course", "training", "tuning", "judging"], **change)


def a_curve(accuracies: list[float]) -> Curve:
    """With these accuracies after rounds 0, 1, ..."""
    curve = Curve()
    for t, accuracy in enumerate(accuracies):
        curve.add(t, {"accuracy": accuracy}, 0, 0)
    return curve


def spied(task: Training, monkeypatch: pytest.MonkeyPatch) -> list[tuple[FedAvgExperiment, Curve]]:
    """The trainings of a task, with their curves."""
    seen = []
    run = FedAvgExperiment.run

    def spy(self: FedAvgExperiment) -> Curve:
        curve = run(self)
        seen.append((self, curve))
        return curve

    with monkeypatch.context() as patched:
        patched.setattr(FedAvgExperiment, "run", spy)
        task.run()
    return seen


@functools.cache
def rows() -> list[dict[str, Any]]:
    return SMALL.run()


def of(quantity: str, case: str | None = None, found: Any = None) -> list[dict[str, Any]]:
    return select(found or rows(), quantity=quantity, **({} if case is None else {"case": case}))


def test_accuracies() -> None:
    for case in ("plain", "sketched"):
        shown = of("accuracy", case)
        assert [row["round"] for row in shown] == [1, 2, 4]
        assert all(0 <= row["mean"] <= 1 and row["trials"] == 2 for row in shown)
    loss, still = of("accuracy_loss")
    assert (loss["case"], still["case"]) == ("sketched", "standing still")
    assert loss["positive_control"] <= 2
    ends = [of("accuracy", case)[-1]["mean"] for case in ("plain", "sketched")]
    assert loss["mean"] == pytest.approx(ends[0] - ends[1])
    assert loss["bound"] == 0.5


def test_trials_side_by_side() -> None:
    """The rows are those of trials one by one, up to rounding; a plain client's error is rounding alone.

    Clients have 17 or 18 samples, and batches of 7.
    """
    task = changed(
        trials=FEWEST,
        rounds=2,
        partition=functools.partial(partition.iid, clients=7),
        model=functools.partial(mlp, hidden=(16, 8)),
        epochs=2,
        batch=7,
    )
    together, apart = task.run(), task.rows([task.trial(number) for number in range(task.trials)])
    assert len(together) == len(apart)
    for one, other in zip(together, apart, strict=True):
        if one.get("case") == "plain" and one["quantity"] in ("error", "inverse_error", "not_grown"):
            continue
        numbers = {name: value for name, value in other.items() if isinstance(value, float)}
        assert {name: one[name] for name in numbers} == pytest.approx(numbers, rel=1e-3, abs=1e-4, nan_ok=True)
        assert {**one, **numbers} == {**other}


def test_the_end_of_a_training() -> None:
    """The mean of the last 2 of 20 rounds, pair by pair."""
    task = changed(SMALL, rounds=20)
    curves = {
        case: [a_curve([0.0] * 19 + end) for end in ends]
        for case, ends in (
            ("plain", [[0.9, 1.0], [0.8, 0.8]]),
            ("sketched", [[0.5, 0.6], [0.8, 0.6]]),
        )
    }
    (loss,) = of("accuracy_loss", "sketched", list(task._losses("accuracy", curves)))
    assert (loss["mean"], loss["maximum"]) == (pytest.approx(0.25), pytest.approx(0.4))
    assert loss["count"] == 2


def test_improvements() -> None:
    """Pair by pair; one that ends alike, or not with a number, is no better."""

    def curves(ends: list[float]) -> list[Curve]:
        found = [a_curve([0.0, end]) for end in ends]
        for curve, end in zip(found, ends, strict=True):
            curve.values["loss"] = {0: 3.0, 1: 1 - end}
        return found

    pairs = {"plain": curves([0.9, 0.8, 0.8, 0.7]), "sketched": curves([0.95, 0.8, 0.6, float("nan")])}
    for quantity in ("accuracy_not_better", "loss_not_better"):
        found = of(quantity, found=list(SMALL._improvements(pairs)))
        assert [(row["case"], row["count"]) for row in found] == [("sketched", 3), ("standing still", 4)]
        assert {row["positive_control"] for row in found} == {3}
    assert all(row["positive_control"] == 0 for row in changed(stop=True)._improvements(pairs))


def test_bytes() -> None:
    """784 → 16 → 3 units in float32; sketched, the first layer sends 392 columns. Two clients a round."""
    plain, sketched = 4 * (784 * 16 + 16 + 48 + 3), 4 * (392 * 16 + 16 + 48 + 3)
    for case, size in (("plain", plain), ("sketched", sketched)):
        (down,), (up,) = of("bytes_down", case), of("bytes_up", case)
        assert (down["exact"], down["mean"], down["sd"]) == (size + 8, size + 8, 0)
        assert (up["exact"], up["mean"], up["sd"]) == (size, size, 0)
        assert (down["trials"], up["trials"]) == (2 * 5, 2 * 2 * 4)
        assert of("accuracy", case)[-1]["bytes_up"] == 2 * 4 * size


def test_estimates() -> None:
    """Far from the update, and the nearest weights are nearer than the unbiased ones."""
    errors = {option: of("error", f"option {option}") for option in ("I", "II")}
    for option, shown in errors.items():
        assert [row["round"] for row in shown] == [1, 2, 4]
        for row, inverse in zip(shown, of("inverse_error", f"option {option}"), strict=True):
            assert row["minimum"] > 2
            assert inverse["minimum"] == pytest.approx(1 / row["maximum"])
            assert (inverse["bound"], inverse["count"]) == (1.0, 0)
        assert all(0 <= row["minimum"] <= row["maximum"] <= 1 for row in of("cosine", f"option {option}"))
    for one, two in zip(errors["I"], errors["II"], strict=True):
        assert two["mean"] < one["mean"]


def test_estimates_of_plain_layers() -> None:
    """A client sees them as they are: no error, which then does not grow."""
    assert all(row["maximum"] < 1e-6 for row in of("error", "plain"))
    assert all(row["count"] == 2 for row in of("inverse_error", "plain"))
    assert [row["count"] for row in of("not_grown", "plain")] == [2]
    assert {row["case"] for row in of("not_grown")} == {"option I", "option II", "plain"}


def test_errors_that_grow() -> None:
    """In the first training they do."""

    def curves(ends: list[float], option: str) -> list[Curve]:
        found = [a_curve([0.0] * 5) for _ in ends]
        for curve, end in zip(found, ends, strict=True):
            curve.values |= {f"error {option}": {1: 2.0, 2: 9.0, 4: end}, f"cosine {option}": {1: 0.0, 2: 0.0, 4: 0.0}}
        return found

    sketched = curves([2.5, 1.9], "I")
    for curve, other in zip(sketched, curves([2.5, 1.9], "II"), strict=True):
        curve.values |= other.values
    found = list(SMALL._estimates({"sketched": sketched, "plain": curves([2.0, 2.0], "plain")}))
    assert [row["count"] for row in of("not_grown", found=found)] == [1, 1, 2]


def test_estimates_of_a_training_that_diverges() -> None:
    """A rate far too large: no means of what is not finite, and nothing to judge."""
    wild = changed(SMALL, rates=[1e8], rounds=6).run()
    for quantity in ("error", "inverse_error", "cosine"):
        last = of(quantity, "option I", wild)[-1]
        assert last["status"] == "diverged"
        assert not {"mean", "bound", "count"} & last.keys()
    assert all(np.isfinite(row["mean"]) for row in of("accuracy", "sketched", wild))


def test_a_run_with_nothing_to_hide_is_estimated_exactly() -> None:
    """The control: with as many rows as inputs, S is invertible, and option II finds the update."""
    whole = dataclasses.replace(
        SMALL,
        family=SubsampledCosine(8, 8),
        dataset=functools.partial(synthetic.load, train=30, test=10),
    )
    found = whole.run()
    assert all(row["maximum"] < 1e-2 for row in of("error", "option II", found))
    assert all(row["minimum"] > 0.99 for row in of("cosine", "option II", found))


def test_a_training_that_stops_at_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same curves, up to there; what comes after it is not shown."""
    whole = spied(SMALL, monkeypatch)[0][1].values["accuracy"]
    target = whole[2]
    first = next(t for t, value in whole.items() if t and value >= target)
    stopping = changed(SMALL, target=target, stop=True)
    stopped = spied(stopping, monkeypatch)[0][1].values["accuracy"]
    assert stopped == {t: value for t, value in whole.items() if t <= first}
    found = changed(SMALL, target=1e-4, rounds=20, stop=True).run()
    assert [(row["case"], row["round"]) for row in of("accuracy", found=found)] == [
        ("plain", 1),
        ("sketched", 1),
    ]
    assert {row["round"] for row in of("error", found=found)} == {1}
    assert [row["mean"] for row in of("rounds_to_target", found=found)] == [0, 0]


def test_tuning_with_fewer_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    for share, clients in ((1.0, 2), (0.25, 1)):
        tuning = Tuning(rates=[0.1, 0.2], rounds=3, participation=share)
        task = changed(dataclasses.replace(SMALL, tuning=tuning), target=1.1)
        for tried, curve in spied(task, monkeypatch):
            expected = clients if tried.name == "tuning" else 2
            assert len(curve.replies) == expected * (len(curve.rounds) - 1)


def test_rounds_to_the_target() -> None:
    curve = a_curve([0.1, 0.5, 0.9, 0.7])
    assert (curve.round_reaching(0.5), curve.round_reaching(0.6), curve.round_reaching(0.95)) == (1, 2, None)
    easy = changed(SMALL, target=0.0001, rounds=1).run()
    assert [row["status"] for row in of("rounds_to_target", found=easy)] == ["finite"] * 2
    hard = changed(SMALL, target=1.1, rounds=1).run()
    for row in [*of("rounds_to_target", found=hard), *of("rounds_ratio", found=hard)]:
        assert row["status"] == "unfinished"
        assert "mean" not in row
    for quantity, bound in (("ratio_excess", 1.0), ("missed", 0.5)):
        for row in of(quantity, found=hard):
            assert (row["count"], row["trials"], row["bound"]) == (2, 2, bound)


@pytest.mark.parametrize(
    ("plain", "own", "expected"),
    [((2, 2), (4, 6), 0), ((2, 2), (4, 12), 1), ((2, None), (4, 4), 1), ((2, 2), (None, 13), 2)],
)
def test_ratios_of_rounds(plain: Any, own: Any, expected: int) -> None:
    """More than 3.6, or not known: both count."""

    def curves(rounds: Any) -> list[Curve]:
        return [a_curve([0.0] * (t or 20) + [1.0] * bool(t)) for t in rounds]

    both = {"plain": curves(plain), "sketched": curves(own)}
    found = list(SMALL._targets(both, list(SMALL._ratios(both))))
    (excess,), (ratio,) = of("ratio_excess", "sketched", found), of("rounds_ratio", found=found)
    assert excess["count"] == expected
    assert of("missed", "sketched", found)[0]["count"] == own.count(None)
    if None not in (*plain, *own):
        ratios = np.array(own) / np.array(plain)
        assert ratio["mean"] == pytest.approx(np.mean(ratios))
        assert excess["maximum"] == pytest.approx(max(ratios) / 3.6)
    assert of("ratio_excess", "standing still", found)[0]["count"] == 2


def test_bytes_to_the_target() -> None:
    """Rounds times messages, of which those of sketched layers are half as large here; missed counts."""
    curves = {
        "plain": [a_curve([0.0] * t + [1.0]) for t in (2, 2, 2)],
        "sketched": [a_curve([0.0] * t + [end]) for t, end in ((7, 1.0), (9, 1.0), (4, 0.5))],
    }
    rows = list(SMALL._total_bytes(list(SMALL._ratios(curves)), {"plain": 1000 - 4, "sketched": 500 - 4}))
    (excess,) = of("bytes_excess", "sketched", rows)
    assert (excess["count"], excess["trials"], excess["threshold"]) == (2, 3, 2.0)
    assert excess["maximum"] == pytest.approx(4.5 * 1000 / 2000)
    assert of("bytes_excess", "standing still", rows)[0]["count"] == 3


@pytest.mark.parametrize(("rounds", "excess"), [(4, 1.5), (6, 1.0), (2, 3.0), (18, 3.0)])
def test_ratios_beside_printed_ones(rounds: int, excess: float) -> None:
    """Printed are 10 and 30 rounds with half of the clients: a factor of 2 from 3 is allowed, either way."""
    task = changed(SMALL, printed={"0.5": [10, 30], "0.1": [1, 1]})
    assert task.judging.allowed_factor == 2
    row = task._excess("sketched", [rounds / 2, 3.0])
    assert (row["maximum"], row["bound"]) == (pytest.approx(excess), 2.0)
    assert (row["count"], row["trials"]) == (int(excess > 2), 2)


@pytest.mark.parametrize("printed", [[10], [], [10, 30, 20]])
def test_printed_rounds_are_a_pair(printed: list[float]) -> None:
    """Which is asked before the trainings, since it is needed after them."""
    with pytest.raises(ValueError, match=r"printed: 0.1=.* must be two numbers of rounds, .plain, sketched."):
        changed(SMALL, printed={"0.1": printed})


def test_the_size_of_messages() -> None:
    """784 → 16 → 3 units, of which the first layer is halved."""
    plain, sketched = of("message_ratio")
    assert (plain["value"], plain["bound"]) == (1.0, 0.55)
    assert sketched["value"] == (392 * 16 + 16 + 48 + 3) / (784 * 16 + 16 + 48 + 3)


def test_two_classes_have_an_area_under_the_curve() -> None:
    faces = functools.partial(synthetic.load, train=60, test=30, classes=2, minority=0.3)
    found = changed(SMALL, dataset=faces, rounds=1).run()
    assert {row["case"] for row in of("auc", found=found)} == {"plain", "sketched"}
    assert [row["case"] for row in of("auc_loss", found=found)] == ["sketched", "standing still"]
    for case in ("plain", "sketched"):
        curve = of("roc", case, found)
        assert [row["false_positives"] for row in curve] == list(FALSE_POSITIVES)
        means = [row["mean"] for row in curve]
        assert means == sorted(means)
    assert not of("roc")


def test_the_learning_rate_is_chosen_on_held_out_training_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one that reaches the target first, else the most accurate; the test images play no part."""
    seen: list[tuple[float, str, int, int]] = []
    curves = {0.1: [0.0, 0.3, 0.9], 0.2: [0.0, 0.85, 0.85], 0.3: [0.0, 0.7, 0.79]}

    def trained(self: FedAvgExperiment) -> Curve:
        seen.append((self.rate, self.name, len(self.data.train.labels), len(self.data.test.labels)))
        if self.name == "tuning":
            return a_curve(curves[self.rate])
        raise StopIteration

    monkeypatch.setattr(FedAvgExperiment, "run", trained)
    for target, rates, best in ((0.8, [0.1, 0.2, 0.3], 0.2), (0.95, [0.3, 0.1, 0.2], 0.1)):
        seen.clear()
        with pytest.raises(StopIteration):
            changed(SMALL, rates=rates, target=target).run()
        assert seen[:6] == 2 * [(rate, "tuning", 108, 12) for rate in rates]  # plain and sketched
        assert seen[6] == (best, "trial 0", 120, 40)


def test_an_interrupted_training_goes_on_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows()  # without what follows, whichever test is the first
    monkeypatch.setattr(experiment, "SECONDS_BETWEEN", 0.0)
    task = changed(SMALL, checkpoints=str(tmp_path))
    add, calls = Curve.add, 0

    def interrupted(self: Curve, *given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls in (8, 14):
            raise KeyboardInterrupt
        add(self, *given)

    monkeypatch.setattr(Curve, "add", interrupted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            task.run()
    assert task.run() == rows()
    assert calls == 4 * 5 + 2  # every round was evaluated once, and twice where it stopped
    calls = 100
    assert task.run() == rows()  # all from the checkpoints
    assert calls == 100
    other = changed(task, batch=20)
    assert other.run() != rows()  # another training has checkpoints of its own


@pytest.mark.parametrize(
    "change",
    [
        {"code": "another"},
        {"points": 2},
        {"dataset": functools.partial(synthetic.load, train=120, test=40, classes=3, noise=0.2)},
    ],
)
def test_checkpoints_of_another_training_are_left_alone(tmp_path: Path, change: dict[str, Any]) -> None:
    """Of other code, other data of the same name, or with a client's estimates in other rounds."""
    task = changed(SMALL, checkpoints=str(tmp_path))
    task.run()
    assert len(list(tmp_path.rglob("*.pt"))) == 4
    other = changed(task, **change)
    found = other.run()
    assert len(list(tmp_path.rglob("*.pt"))) == 8
    assert found == changed(other, checkpoints=None).run()


def test_a_sketch_that_leaves_layers_as_they_are() -> None:
    """There is nothing to estimate then."""
    found = changed(SMALL, family=Identity(8, 8), rounds=2).run()
    (loss,) = of("accuracy_loss", "sketched", found)
    assert loss["mean"] == 0
    assert not of("error", found=found)


def test_two_classes_that_diverge() -> None:
    """A network that has overflown tells nothing."""
    two = functools.partial(synthetic.load, train=120, test=40, classes=2, noise=0.1)
    found = changed(SMALL, dataset=two, rates=[1e30], rounds=2).run()
    assert [row["mean"] for row in of("auc", "plain", found)][-1] == 0.5
    half = changed(SMALL, dataset=two, rounds=1, precision="bfloat16").run()
    assert of("auc", found=half)


def test_half_precision(tmp_path: Path) -> None:
    """Nearly the same training, of its own checkpoints; messages stay as large as they are."""
    model = functools.partial(cnn, filters=[4], kernel=3, pooled=[True], hidden=[16])
    full = changed(SMALL, model=model, checkpoints=str(tmp_path))
    half = changed(full, precision="bfloat16")
    found = {task.training.precision: task.run() for task in (full, half)}
    assert len(list(tmp_path.rglob("*.pt"))) == 2 * 4
    assert half.run() == found["bfloat16"]
    for quantity in ("bytes_up", "bytes_down"):
        a, b = (of(quantity, "sketched", rows) for rows in found.values())
        assert a == b
    errors = [np.array([r["mean"] for r in of("error", found=rows)]) for rows in found.values()]
    assert not np.array_equal(*errors)
    np.testing.assert_allclose(*errors, rtol=0.2, atol=1e-6)  # those of plain layers are rounding


def test_names_of_checkpoints_are_the_same_in_every_process() -> None:
    """No address of a function gets into them, whatever the data set and the model are made by."""
    for value in (
        SMALL.dataset,
        SMALL.partition,
        functools.partial(SMALL.model, family=SMALL.family),
    ):
        assert "0x" not in describe(value)
        assert "<" not in describe(value)
    assert describe(SMALL.dataset) != describe(functools.partial(SMALL.dataset, seed=1))


def test_pairs_share_their_start_and_their_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[bool, list[torch.Tensor]] = {}
    answered: dict[bool, list[int]] = {}
    run = FedAvg.run

    def spy(self: Any, model: Any, *given: Any, **options: Any) -> Any:
        plain = not list(sketched.layers(model))
        started.setdefault(plain, []).append(model.state_dict()["1.weight"].clone())
        for at in run(self, model, *given, **options):
            answered.setdefault(plain, []).extend(reply.client for reply in at.replies)
            yield at

    monkeypatch.setattr(FedAvg, "run", spy)
    changed(SMALL, rounds=1).run()
    for a, b in zip(started[True], started[False], strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(*started[True])
    assert answered[True] == answered[False]
    assert len(set(answered[True])) > 2


def test_leaked_test_images_are_refused() -> None:
    def leaked() -> Dataset:
        data = synthetic.load(train=30, test=10)
        train = Split(*(np.concatenate(pair) for pair in zip(data.train, data.test, strict=True)))
        return Dataset("leaked", 10, 255, train, data.test)

    with pytest.raises(ValueError, match="10 test images of leaked are also training images"):
        changed(SMALL, dataset=leaked).run()


@pytest.mark.parametrize(
    "study", weekly(["federated_mlp", "federated_cnn", "federated_cifar10"], lambda study: study == "federated_cifar10")
)
def test_one_round_of_the_paper_size(study: str) -> None:
    """The full configurations run, on made-up images of the same shape where the real ones aren't needed."""
    runs = whole_plan("paper").runs[study]
    config = next(iter(runs.values())).config
    like = "cifar10" if study == "federated_cifar10" else "mnist"
    task = {
        **config["task"],
        "dataset": {
            "_target_": "sketchbench.learning.dataset.synthetic.load",
            "_partial_": True,
            "like": like,
            "train": 200,
            "test": 20,
        },
        "training": {**config["task"]["training"], "epochs": 1, "participation": 0.02},
        "tuning": {**config["task"]["tuning"], "rates": [0.03]},
        "judging": {**config["task"]["judging"], "points": 1},
        "rounds": 1,
        "trials": 2,
    }
    found = execution.execute({**config, "task": task})
    (row,) = (row for row in of("bytes_up", "sketched", found))
    assert row["mean"] == row["exact"]
    assert task["partition"]["clients"] == 100
