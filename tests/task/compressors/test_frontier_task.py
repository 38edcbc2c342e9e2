"""The task of the frontier: pairing, privacy, the choice of the learning rate, and what is refused."""

import dataclasses
import functools
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf
from selecting import select

from sketchbench import kernels
from sketchbench.base.course import SETTINGS, WHOLE, Course, Unfinished
from sketchbench.compressor import traits
from sketchbench.compressor.discrete import DiscreteSRHT
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.sparse import RandomK, TopK
from sketchbench.federated import paired
from sketchbench.federated.paired import PairedTrainings, Reached, RecordPrivacy, Rounds, Setting
from sketchbench.federated.rate_choice import ChosenRate, RateChoice
from sketchbench.learning.dataset import digits, partition
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.model.networks import mlp
from sketchbench.measure.row import Row
from sketchbench.privacy import discrete_gaussian
from sketchbench.privacy.accountant import epsilon
from sketchbench.privacy.mechanism import Composed, GaussianRelease, SampledGaussian
from sketchbench.privacy.sampling import Sampling
from sketchbench.run.config import composition
from sketchbench.task.compressors.frontier import Frontier, FrontierJudging

SMALL = Frontier(
    compressor=TopK,
    compression=4,
    kernels=kernels.load("numpy"),
    seed=2,
    course=WHOLE,
    dataset=functools.cache(digits.mixed),
    model=functools.partial(mlp, hidden=(6,)),
    partitions={
        "iid": functools.partial(partition.iid, clients=5),
        "one class": functools.partial(partition.one_class, clients=10, samples=110),
        "sampled": functools.partial(partition.one_class, clients=60, samples=20),
    },
    training=Rounds(
        cases=["iid", "one class"],
        taking_part={"sampled": 6},
        batch=16,
        rounds=6,
        judged=1,
        apart=1,
        every=2,
        images=1000,
        stack=4,
    ),
    privacy=RecordPrivacy(case="iid", epsilons=[8], distributed=[8], delta=1e-4, clip=1.0, accountant="pld"),
    tuning=RateChoice(rates=[0.5], first=1, trials=1),
    judging=FrontierJudging(budgets=[1, 4, 16], allowed_loss=0.01, great_loss=0.05, least_gain=0.3),
    trials=3,
)
D = 64 * 6 + 6 + 60 + 10
RECORDS = 1437 // 5


def changed(**change: Any) -> Frontier:
    """The task with other parameters, wherever they are."""
    groups = {}
    for group in ("training", "privacy", "tuning", "judging"):
        inner = {name[len(group) + 1 :]: change.pop(name) for name in list(change) if name.startswith(f"{group}_")}
        groups[group] = dataclasses.replace(getattr(SMALL, group), **inner)
    return dataclasses.replace(SMALL, **groups, **change)


@functools.cache
def rows() -> list[Row]:
    return SMALL.run()


def of(quantity: str, found: list[Row], **where: Any) -> list[Any]:
    return select(found, quantity=quantity, **where)


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """Trainings without compression are made anew in each test."""
    paired._PLAIN.clear()


def test_trainings_without_compression_are_made_once_and_the_same() -> None:
    first = changed(compressor=TopK).run()
    trained = len(paired._PLAIN)
    again = changed(compressor=TopK).run()
    assert again == first
    assert len(paired._PLAIN) == trained == 3
    changed(compressor=TopK, seed=5).run()
    assert len(paired._PLAIN) == 2 * trained


def trainings(task: Frontier = SMALL, **change: Any) -> PairedTrainings:
    return dataclasses.replace(task._trainings, **change)


def pair(make: Any, setting: Setting, **change: Any) -> Any:
    layout = trainings().clients("iid", [0]).layout
    return trainings(**change).pairs([setting], make(layout=layout, limit=500))[setting]


def test_rows() -> None:
    settings = [("iid", None), ("one class", None), ("iid, private", 8.0)]
    for quantity in ("accuracy_loss", "lost", "gain", "diverged", "rate"):
        assert [(row["case"], row.get("epsilon")) for row in of(quantity, rows())] == settings
    assert [row["epsilon"] for row in of("over_noise", rows())] == [8.0]
    assert all((row["compression"], row["d"], row["rounds"]) == (4, D, 6) for row in rows())
    *accuracies, refused = of("accuracy", rows())
    assert [(row["case"], row.get("epsilon")) for row in accuracies] == settings
    assert (refused["case"], refused["epsilon"]) == ("iid, secure aggregation", 8.0)
    assert "TopK is not linear" in refused["reason"]
    assert all((row["accountant"], row["neighbours"]) == ("pld", "add_remove") for row in rows() if "epsilon" in row)
    for row in accuracies:
        assert D - 6 <= row["bytes_up"] <= D + 8  # a fourth of 4 D bytes, with the allowance
        assert row["trials"] == 3


def test_without_compression_nothing_is_lost() -> None:
    """All trials are paired, whatever is compared: the same trainings twice."""
    found = changed(compressor=Plain, compression=1).run()
    assert all((row["minimum"], row["maximum"]) == (0, 0) for row in of("accuracy_loss", found))
    plain = of("accuracy", found, case="iid")[0]
    for way in ("private", "secure aggregation"):
        (private,) = of("accuracy", found, case=f"iid, {way}")
        (over,) = of("over_noise", found, case=f"iid, {way}")
        assert over["mean"] == pytest.approx(private["mean"] - plain["mean"])


def test_what_is_lost_counts() -> None:
    """Where the compressor is of no use: one entry of a message, and no memory."""
    found = changed(compressor=RandomK, compression=200, training_rounds=25, judging_budgets=[200]).run()
    (loss,) = of("accuracy_loss", found, case="one class")
    assert loss["minimum"] > 0.05
    assert of("lost", found, case="one class")[0]["count"] == 3
    gain = of("gain", found, case="one class")[0]
    assert gain["maximum"] < 0.3
    assert gain["count"] == 3


def test_rounds_to_a_target() -> None:
    """The first of the points at which it is reached, also where it is lost again; infinity for never."""
    course = np.array([[0.1, 0.3, 0.1], [0.5, 0.2, 0.1], [0.4, 0.6, 0.2]])
    reached = Reached(course[0], course[-1], course, 0, 1, 1.0, 0.1)
    np.testing.assert_array_equal(reached.rounds_to(np.array([0.5, 0.3, 0.3]), 4), [8, 4, np.inf])
    empty = reached._replace(course=course[:0])
    assert np.isinf(empty.rounds_to(np.zeros(3), 4)).all()


def test_rounds_to_the_target_of_the_training_beside() -> None:
    """That without compression, less the loss that is allowed; where it is never reached there is no number."""
    found = changed(
        compressor=Plain, compression=1, training_rounds=20, privacy_epsilons=[], privacy_distributed=[]
    ).run()
    assert [row["count"] for row in of("reached", found)] == [3, 3]
    assert all(row["value"] in (10, 12, 14, 16, 18, 20) for row in of("rounds_to_target", found))
    useless = changed(compressor=RandomK, compression=200, training_rounds=20, judging_budgets=[200]).run()
    assert of("reached", useless, case="one class")[0]["count"] == 0
    assert of("rounds_to_target", useless, case="one class")[0]["status"] == "unfinished"


def test_accuracies_are_of_so_many_test_images() -> None:
    """The same ones for all methods; the task's data set stays whole."""
    few, all_ = trainings(training=dataclasses.replace(SMALL.training, images=100)), trainings()
    kept = few.clients("iid", [0]).test[0]
    assert (len(kept), len(all_.clients("iid", [0]).test[0])) == (100, 360)
    whole = {image.tobytes() for image in all_.clients("iid", [0]).test[0]}
    assert all(image.tobytes() in whole for image in kept)
    np.testing.assert_array_equal(kept, few.clients("one class", [1]).test[0])
    assert len(few._held_out.test.labels) == 100


@pytest.mark.parametrize("setting", [Setting("iid"), Setting("iid", 8.0)])
def test_what_is_beside_does_not_depend_on_the_compressor(setting: Setting) -> None:
    first, second = pair(TopK, setting), pair(RandomK, setting)
    np.testing.assert_array_equal(first.plain.end, second.plain.end)
    assert not np.array_equal(first.compressed.end, second.compressed.end)


def test_noise_is_what_the_accountant_asks_for() -> None:
    """The σ of the rows, for a client's mean, gives the ε of the rows after all rounds."""
    row = of("accuracy", rows(), case="iid, private")[0]
    sampling = Sampling("poisson", 16, RECORDS)
    step = SampledGaussian(GaussianRelease(1.0 / 16, row["sigma"]), sampling, "add_remove")
    spent = epsilon("pld", Composed(step, 6), row["delta"])
    assert spent == pytest.approx(8, rel=1e-3)


def test_the_noise_and_clip_of_the_rows_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    train = paired.train

    def watched(clients: Any, gradients: Any, arms: Any, seed: int, *, rounds: int, **others: Any) -> Any:
        seen.append((gradients.sampling.kind, gradients.clip, [arm.sigma for arm in arms], rounds))
        return train(clients, gradients, arms, seed, rounds=rounds, **others)

    monkeypatch.setattr(paired, "train", watched)
    found = changed(compressor=RandomK, training_cases=["iid"]).run()
    (sigma,) = {row["sigma"] for row in found if "sigma" in row}
    plain, local = ("without_replacement", None, [0], 6), ("poisson", 1.0, [sigma], 6)
    distributed = ("poisson", 1.0, [sigma * 5**-0.5], 6)  # the sum of five clients' noise is all of it
    assert seen == [plain, plain, local, local, distributed, distributed]


def test_a_modular_compressor_adds_the_noise_to_its_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """All noise that integer orders ask for, and none before it; rounding to 16 bits enlarges a change by less than
    1 %, which is less than 3 % of ε. Trainings without compression have the noise of any other compressor's."""
    seen = []
    train = paired.train

    def watched(clients: Any, gradients: Any, arms: Any, seed: int, **others: Any) -> Any:
        seen.extend((arm.sigma, traits.grid(arm.compressor) is not None) for arm in arms)
        return train(clients, gradients, arms, seed, **others)

    monkeypatch.setattr(paired, "train", watched)
    found = changed(compressor=DiscreteSRHT, training_cases=["iid"], privacy_epsilons=[], tuning_rates=[0.5])
    private = of("accuracy", found.run(), case="iid, secure aggregation")[0]
    assert seen[:2] == [(0.0, False), (0.0, False)]  # without privacy
    (before, none), integers = seen[2:]
    assert (before > 0, none, *integers) == (True, False, 0.0, True)
    assert private["accountant"] == "rdp"
    assert 0.97 * 8 < discrete_gaussian.epsilon(6, 16 / RECORDS, 16 * private["sigma"], private["delta"]) <= 8


def test_distributed_noise_takes_a_linear_compressor() -> None:
    with pytest.raises(ValueError, match="TopK is not linear, so that the sum of its messages is no function of the"):
        pair(TopK, Setting("iid", 8.0, True))


def test_shared_noise_beside_local_noise_without_compression(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same trial and the same ε: no row without one of them, and equal accuracies are not above."""
    made = changed(compressor=RandomK, training_cases=["iid"], privacy_epsilons=[8, 1], privacy_distributed=[8])
    start = np.array([0.1, 0.1, 0.1])
    ends = {None: [0.9, 0.9, 0.9], 8.0: [0.3, 0.4, 0.5], 1.0: [0.2, 0.2, 0.2]}

    def pairs(self: PairedTrainings, settings: Any, compressor: Any) -> dict[Setting, paired.Pair]:
        def reached(end: list[float]) -> Reached:
            return Reached(start, np.array(end), np.array([end]), 0, 1, 1.0, ChosenRate(0.1))

        shared = reached([0.6, 0.4, 0.1])
        plain = {setting: reached(ends[setting.epsilon]) for setting in settings}
        return {one: paired.Pair(plain[one], shared if one.distributed else plain[one], 1.0, 9.0) for one in settings}

    monkeypatch.setattr(PairedTrainings, "pairs", pairs)
    (row,) = of("below_local", made.run())
    assert (row["case"], row["epsilon"], row["count"], row["trials"]) == ("iid, secure aggregation", 8.0, 2, 3)
    alone = changed(compressor=RandomK, privacy_epsilons=[], privacy_distributed=[8]).run()
    assert not of("below_local", alone)


def test_the_choice_of_the_rate_spends_privacy() -> None:
    """At most 11 rates for 2 rounds and 9 for 6, twice each, are 152 rounds more; held-out images make clients
    smaller."""
    choice = RateChoice(rates=[0.1, 0.2, 0.4], first=2, trials=2, finest=1.5)
    chosen = pair(RandomK, Setting("iid", 8.0), tuning=choice)
    records = (1437 - 143) // 5
    step = SampledGaussian(GaussianRelease(1.0 / 16, chosen.sigma), Sampling("poisson", 16, records), "add_remove")
    assert chosen.spent == pytest.approx(epsilon("pld", Composed(step, 6 + 152), 1e-4), rel=1e-3)
    assert chosen.spent > 8


def test_clients_that_are_drawn_keep_no_state() -> None:
    """Six of sixty: what needs a memory at each client is refused there, and nowhere else."""
    task = changed(training_cases=["iid", "sampled"], privacy_epsilons=[], privacy_distributed=[])
    first, second = of("accuracy", task.run())
    assert first["case"] == "iid"
    assert "mean" in first
    assert (second["case"], second["status"]) == ("sampled", "refused")
    assert "TopK keeps a memory at each client, and 6 of 60 clients take part" in second["reason"]
    found = of("accuracy", dataclasses.replace(task, compressor=RandomK).run(), case="sampled")
    assert [row["trials"] for row in found] == [3]


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same rows, from the checkpoints of its trainings, those that choose rates among them; a damaged one is
    set aside."""
    task = changed(training_cases=["iid"], tuning_rates=[0.2, 0.5], tuning_finest=3)
    train, lengths = paired.train, list[int]()

    def counted(*arguments: Any, rounds: int, **named: Any) -> Any:
        lengths.append(rounds)
        return train(*arguments, rounds=rounds, **named)

    with monkeypatch.context() as patched:
        patched.setattr(paired, "train", counted)
        whole = task.run()
    assert {1, 6} == set(lengths)  # the grid of rates takes a round
    assert lengths.count(6) >= 2 * 4  # two methods, and two settings, after the choice of a rate
    stopped = 0
    course = Course("code", "config", str(tmp_path), until=time.monotonic())  # a round at a time
    for _ in range(200):
        paired._PLAIN.clear()
        try:
            found = dataclasses.replace(task, course=course).run()
            break
        except Unfinished:
            stopped += 1
    assert found == whole
    assert stopped == lengths.count(6) * (6 - 1)
    checkpoints = sorted(tmp_path.glob("*.pt"))
    assert len(checkpoints) == len(lengths)
    checkpoints[0].write_bytes(checkpoints[0].read_bytes()[:-1])
    paired._PLAIN.clear()
    assert dataclasses.replace(task, course=Course("code", "config", str(tmp_path))).run() == whole
    assert len(list(tmp_path.iterdir())) == len(lengths) + 1


def test_the_rate_is_the_best_one() -> None:
    """For either method; a rate that hardly moves the weights is not, nor one that diverges. Neighbours are worse."""
    choice = RateChoice(rates=[1e-6, 1.0, 1e6], first=5, trials=2, finest=4)
    chosen = pair(TopK, Setting("iid"), tuning=choice, training=dataclasses.replace(SMALL.training, rounds=15))
    for found in (chosen.plain.rate, chosen.compressed.rate):
        assert 0.1 < found.rate < 4
        assert max(found.below, found.above) <= found.accuracy


def test_the_rate_is_chosen_without_the_test_images() -> None:
    """Rates are the same where the test labels are all wrong, and the accuracies are not."""
    data = digits.mixed()
    wrong = Dataset("wrong", 10, 16, data.train, Split(data.test.images, (data.test.labels + 1) % 10))
    choice = RateChoice(rates=[0.02, 0.1, 0.5], first=5, trials=2, finest=3)
    right, other = (pair(TopK, Setting("iid"), tuning=choice, data=found) for found in (data, wrong))
    assert right.plain.rate == other.plain.rate
    assert 0.1 < right.plain.rate.rate < 2.5
    assert (right.plain.end > other.plain.end).all()


@dataclasses.dataclass(frozen=True)
class Shortened(Plain):
    """Steps of a twelfth of the update, which change the best rate and nothing else."""

    def decode(self, message: Any, at: Any, replies: Any) -> Any:
        return super().decode(message, at, replies) / 12


def test_a_method_whose_best_rate_lies_between_those_of_the_grid_loses_nothing() -> None:
    """The grid has 0.125 and 2, and shortened steps are best at some twelve times the rate of whole ones."""
    choice = RateChoice(rates=[0.125, 2.0], first=15, trials=3)
    how = dataclasses.replace(SMALL.training, rounds=15)
    limit = 4 * D
    chosen = trainings(tuning=choice, training=how, trials=8).pairs(
        [Setting("iid")], Shortened(layout=trainings().clients("iid", [0]).layout, limit=limit)
    )[Setting("iid")]
    factor = chosen.compressed.rate.rate / chosen.plain.rate.rate
    assert 12 / 1.5 < factor < 12 * 1.5
    assert abs((chosen.plain.end - chosen.compressed.end).mean()) < 0.03


def test_rows_of_the_rate() -> None:
    found = changed(training_cases=["iid"], tuning_rates=[0.1, 0.4], tuning_finest=2).run()
    alone = {"case": "iid"}
    (rate,), (plain,) = of("rate", found, **alone), of("rate_plain", found, **alone)
    assert min(rate["value"], plain["value"]) > 0
    chosen, *beside = (of(f"held_out{end}", found, **alone)[0] for end in ("", "_below", "_above"))
    assert all(row.get("value", 0) <= chosen["value"] <= 1 for row in beside)
    assert not of("held_out", rows())  # a single rate is taken without a training


def test_trials_in_several_stacks() -> None:
    """All trials are there, each with a partition and a start of its own."""
    together = pair(TopK, Setting("iid"))
    apart = pair(TopK, Setting("iid"), training=dataclasses.replace(SMALL.training, stack=2))
    np.testing.assert_array_equal(apart.plain.start, together.plain.start)
    assert len(apart.compressed.end) == len(together.compressed.end) == 3


def test_a_training_that_diverges_has_no_accuracy() -> None:
    found = changed(tuning_rates=[1e9], privacy_epsilons=[], privacy_distributed=[]).run()
    assert {row["maximum"] for row in of("accuracy", found)} == {0}
    assert [row["count"] for row in of("diverged", found)] == [3, 3]


@pytest.mark.parametrize(
    ("make", "compression", "compressions", "reason"),
    [
        (Plain, 4, [1, 4], f"Plain needs {4 * D} bytes .* and may send {D + 8}"),
        (Plain, 0.5, [0.5, 1, 4], f"Plain sends {4 * D} bytes, which fit into 1/1 of the dense update, too; see there"),
    ],
)
def test_refused(make: Any, compression: float, compressions: list[float], reason: str) -> None:
    (row,) = changed(compressor=make, compression=compression, judging_budgets=compressions).run()
    assert (row["quantity"], row["status"], row["compression"]) == ("accuracy", "refused", compression)
    assert "mean" not in row
    assert re.search(reason, str(row["reason"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"privacy_delta": 0.01}, r"privacy.delta=0.01 must be < 0.00348, 1 over the 287 records"),
        ({"privacy_case": "idd"}, "privacy.case=idd is unknown; choose one of iid, one class; did you mean iid"),
        (
            {"training_cases": ["iid", "one clas"]},
            "training.cases=one clas is unknown; choose one of iid, one class, sampled",
        ),
        ({"training_cases": ["one class"]}, "privacy.case=iid is unknown; choose one of one class"),
        (
            {"training_cases": ["sampled"], "privacy_case": "sampled"},
            "privacy.case=sampled must be one in which all clients",
        ),
        ({"training_taking_part": {"idd": 3}}, "training.taking_part=idd is unknown"),
        (
            {"training_taking_part": {"sampled": 61}, "training_cases": ["iid", "sampled"]},
            "taking_part=61 must be from 1 to 60",
        ),
        ({"training_apart": 9, "training_judged": 2}, "judged=2 rounds, apart=9, must be among the 6"),
        ({"training_batch": 300}, "batch=300 must satisfy"),
    ],
)
def test_wrong_parameters(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        changed(**change).run()


def test_the_config_makes_the_task() -> None:
    """That of conf/task, with a compressor, kernels and a seed as a run gives them."""
    config = OmegaConf.to_container(composition.compose(["task=frontier"])["task"], resolve=True)
    described = {key: value for key, value in config.items() if key not in SETTINGS}
    make = instantiate(described, _partial_=True, _convert_="all")
    task = make(compressor=TopK, kernels=SMALL.kernels, seed=1, course=WHOLE)
    assert isinstance(task, Frontier)
    assert task._trainings.clients("one class", [0]).layout.d == 3760
