"""Batches of runs: all are done, each once; one that fails takes no other with it; order and company change nothing."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from whole_plan import whole_plan

from sketchbench.base.project import CONF
from sketchbench.command.main import main
from sketchbench.plan import cluster, cost
from sketchbench.plan.batch import LEAST, Batch, Run, batches, packed
from sketchbench.plan.cost import Cost, CostError, Key
from sketchbench.plan.selection import places_of, selection_of, unjudged
from sketchbench.run import job, record
from sketchbench.run.config import composition, study
from sketchbench.run.signature import signature


def run_of(name: str, target: str = "sketchbench.x") -> Run:
    return Run("s", name, {"_target_": target}, name, {}, f"{name}.parquet")


def config(**changes: Any) -> dict[str, Any]:
    settings = {"kernels": "numpy", "d": 12, "b": 4, "task.trials": 20, "task.pairs": "[random,flat]"} | changes
    return composition.frozen(composition.compose([f"{key}={value}" for key, value in settings.items()])).config


def entries(folder: Path, configs: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "record": str(folder / f"{name}.parquet"), "signature": signature(config), "config": config}
        for name, config in configs.items()
    ]


DONE = job.Outcome([], {})


Configs = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def configs() -> Configs:
    return {"one": config(sketch="srht"), "two": config(sketch="gaussian"), "three": config(sketch="srht", seed=1)}


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(1, 12))
def test_every_run_is_in_one_batch(own: list[bool], size: int) -> None:
    runs = [run_of(f"{i}", "mine.x" if mine else "sketchbench.x") for i, mine in enumerate(own)]
    found = batches("results/s", runs, size)
    assert sorted(run.name for batch in found for run in batch.runs) == sorted(run.name for run in runs)
    assert len({batch.receipt for batch in found}) == len(found)
    for batch in found:
        assert 1 <= len(batch.runs) <= size
        assert {run.needs_folder for run in batch.runs} == {batch.needs_folder}


@given(st.lists(st.lists(st.floats(0, 20), min_size=1, max_size=5), min_size=1, max_size=30), st.floats(1, 100))
def test_whole_studies_share_processes(studies: list[list[float]], seconds: float) -> None:
    runs = [
        [replace(run_of(f"{i}-{j}", "sketchbench.x"), study=f"{i}", cost=Cost(s, s, 1, 1)) for j, s in enumerate(one)]
        for i, one in enumerate(studies)
    ]
    found = packed("results/short", runs, seconds)
    assert sorted(run.name for batch in found for run in batch.runs) == sorted(run.name for one in runs for run in one)
    shared = [study for batch in found for study in {run.study for run in batch.runs}]
    assert len(shared) == len(studies)
    assert len({batch.receipt for batch in found}) == len(found)
    lengths = [batch.seconds or 0.0 for batch in found]
    assert all(batch.runs for batch in found)
    assert max(lengths) <= max(seconds, LEAST) + max(map(sum, studies)) + 1e-9
    shortest, rest = min(map(sum, studies)), sum(map(sum, studies))
    if shortest <= LEAST < rest:  # the first has no longer study than any other, and would have room for no more
        first = {int(run.study) for run in found[0].runs}
        others = [sum(one) for study, one in enumerate(studies) if study not in first]
        assert max(sum(studies[study]) for study in first) <= min(others)
        assert lengths[0] <= LEAST < lengths[0] + min(others) + 1e-9


def test_the_last_processes_are_short_so_that_no_core_is_idle_at_the_end() -> None:
    runs = [[replace(run_of(f"{i}"), cost=Cost(1, 1, 1, 1))] for i in range(1000)]
    lengths = [batch.seconds or 0.0 for batch in packed("results/short", runs, 240)]
    assert lengths == pytest.approx([30, 238, 238, 161, 106, 70, 46, 30, 27, 27, 27], abs=1)
    ends = [0.0, 0.0]
    for length in lengths:
        ends[ends.index(min(ends))] += length
    assert max(ends) - min(ends) <= LEAST


@pytest.mark.parametrize("task", ["rounds_factors", "moments", "training"])
def test_a_run_by_hand_has_its_keys_in_the_order_of_a_job(task: str) -> None:
    """A signature does not tell the two apart, and a task may go by the order, as that of factors of a design."""
    settings = composition.compose([f"task={task}", "d=64", "b=32"])
    assert list(settings["task"]) != sorted(settings["task"])
    by_hand = composition.frozen(settings).config
    assert json.dumps(by_hand) == json.dumps(by_hand, sort_keys=True)


def test_company_changes_no_number(configs: Configs, tmp_path: Path) -> None:
    together, alone = entries(tmp_path / "together", configs), entries(tmp_path / "alone", configs)
    assert job.run_batch(together) == DONE
    for entry in reversed(alone):
        assert job.run_batch([entry]) == DONE
    for one, other in zip(together, alone, strict=True):
        assert record.read(Path(one["record"])).rows == record.read(Path(other["record"])).rows


def test_records_that_are_there_are_kept(configs: Configs, tmp_path: Path) -> None:
    batch = entries(tmp_path, configs)
    job.run_batch(batch)
    first, second, third = (Path(entry["record"]) for entry in batch)
    whole = second.read_bytes()
    second.write_bytes(whole[:-20])
    before = {path: path.stat().st_mtime_ns for path in (first, third)}
    assert job.run_batch(batch) == DONE
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert record.read(second).rows


def test_one_that_fails_takes_no_other_with_it(
    configs: Configs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = entries(tmp_path, configs)
    batch[0]["config"] = {**configs["one"], "d": 0}
    batch[0]["signature"] = signature(batch[0]["config"])
    batch[1]["signature"] = "of other code"
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(batch)))
    with pytest.raises(SystemExit) as stop:
        main(["step", "job", "--receipt", str(tmp_path / "1.done")])
    first, second = str(stop.value).splitlines()
    assert first == "sketchbench: error: one: dimension d=0 must be >= 1"
    assert second.startswith("sketchbench: error: two: the code changed since this run was planned")
    assert [path.name for path in tmp_path.iterdir()] == ["three.parquet"]


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '[{"name": "a"}]', "[" * 9999, "null"])
def test_what_is_no_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    with pytest.raises(SystemExit, match="the batch"):
        main(["step", "job", "--receipt", str(tmp_path / "1.done")])
    assert list(tmp_path.iterdir()) == []


def test_the_receipt_stands_for_whole_records(
    configs: Configs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = entries(tmp_path, {"one": configs["one"]})[0]
    path, receipt = Path(entry["record"]), tmp_path / "1.done"

    def done() -> Batch:
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps([entry])))
        main(["step", "job", "--receipt", str(receipt)])
        return Batch(str(receipt), [Run("s", "one", entry["config"], entry["signature"], {}, str(path))])

    assert done().check() == []
    assert receipt.exists()
    stale = Batch(str(receipt), [Run("s", "one", entry["config"], "another", {}, str(path))])
    assert stale.check() == []
    assert (receipt.exists(), path.exists()) == (False, True)
    batch = done()
    path.unlink()
    assert batch.check() == []
    assert not receipt.exists()
    for text, lines in (("", 1), ("edited\n", 1), (f"{entry['signature']} of/another.parquet\n", 0)):
        batch = done()
        receipt.write_text(text)
        assert len(batch.check()) == lines
        assert (receipt.exists(), path.exists()) == (False, True)
    batch = done()
    path.write_bytes(b"damaged")
    (line,) = batch.check()
    assert str(path) in line
    assert "set aside, to be computed again" in line
    assert (receipt.exists(), path.exists()) == (False, False)


# Which methods run with a user's own, and what of their claims is judged


BESIDE = {"sketch": ["count_sketch", "srht"], "recovery": ["fiht"]}
OWN = {"sketch": {"first": {"embedding_constant": 2}}, "recovery": {}}
STUDIES = [study.read(CONF, name, "quick") for name in study.names(CONF)]
NAMED = {one.name: one for one in STUDIES}


def test_only_ones_own() -> None:
    """Beside the given ones, with the controls of the study and of the claims; fixed lists are left out."""
    selection = selection_of(STUDIES, CONF, OWN, BESIDE)
    chosen = {one.name: selection.methods(one) for one in STUDIES if not selection.left_out(one)}
    assert set(chosen["embedding"]) == {"first", "count_sketch", "srht", "uniform_sampling"}
    contract = {name for name in chosen["contract"] if not name.startswith("control/")}  # of all that have verdicts
    assert contract == set().union(*(chosen[name] for name in ("embedding", "moments", "norms", "growth")))
    assert set(chosen["convergence"]) == {"first", "count_sketch", "srht", "control/zero"}
    assert chosen["embedding_controls"] == ["control/uniform_sampling_quarter", "control/count_sketch_quarter"]
    assert set(chosen["hashing"]) == {"control/equal_signs", "control/tied_signs", "control/pairwise_signs"}
    assert selection.left_out(NAMED["descent"]) == "only=mine: it compares a fixed list of methods"
    assert selection.left_out(NAMED["reconstruction"]) == "only=mine: the folder has no recovery"
    reason = "only=mine: the folder has no sketch that claims tails or always under `theory`"
    assert selection.left_out(NAMED["tails"]) == reason


def test_near_misses_are_of_the_selection() -> None:
    """The studies of those of a claim on one's own, which compare a fixed list."""
    selection = selection_of(STUDIES, CONF, {"sketch": {"first": {"norm": 1}}, "recovery": {}}, BESIDE)
    study = NAMED["convergence_local_twice"]
    assert not selection.left_out(study)
    assert selection.methods(study) == ["identity"]


def test_everything() -> None:
    """`all` has the user's own, too; `mine` stands for these alone."""
    selection = selection_of(STUDIES, CONF, OWN, None)
    assert "first" in selection.methods(NAMED["embedding"])
    assert selection.methods(NAMED["spectrum"])[-1] == "first"
    alone = selection_of(STUDIES, CONF, {}, None)
    assert alone.methods(NAMED["spectrum"]) == selection.methods(NAMED["spectrum"])[:-1]
    assert not any(selection.left_out(one) for one in STUDIES)


def test_a_recovery_beside_others() -> None:
    selection = selection_of(STUDIES, CONF, {"sketch": {}, "recovery": {"first": {}}}, BESIDE)
    assert set(selection.methods(NAMED["reconstruction"])) == {"first", "fiht"}
    assert selection.left_out(NAMED["embedding"]) == "only=mine: the folder has no sketch"


def test_unknown_ones_to_run_beside() -> None:
    with pytest.raises(ValueError, match="beside: sketch=srth is unknown"):
        selection_of(STUDIES, CONF, OWN, {"sketch": ["srth"]})


def test_what_no_claim_reads() -> None:
    """The names that the page on families gives are read."""
    known = {"tails": {"own": 1, "Lemma D.23": 1}, "inner_products": {"own": 1, "derived": 1, "always": 1}}
    assert list(unjudged(CONF, known)) == []
    ((measuring, key, reason),) = unjudged(CONF, {"tails": {"mine": 1}})
    assert (measuring, key) == ("tails", "tails.mine")
    assert "own" in reason


def test_where_it_goes(tmp_path: Path) -> None:
    assert places_of("quick", None, apart=False) == ("results/quick", "logs/quick", "reports")
    assert places_of("paper", None, apart=False).reports == "reports/paper"
    assert places_of("quick", tmp_path, apart=False) == ("results/quick", "logs/quick", f"{tmp_path}/reports/quick")
    assert places_of("quick", tmp_path, apart=True).results == f"{tmp_path}/results/quick"


# Which batches share a job of a cluster, and what a job asks for


PROFILES = Path(__file__).parents[2] / "workflow" / "profiles"


def batch(seconds: float | None, mebibytes: int = 100) -> Batch:
    cost = None if seconds is None else Cost(seconds, seconds, mebibytes, 1)
    return Batch("1.done", [Run("study", "1", {}, "", {}, "1.parquet", cost)])


@given(st.lists(st.none() | st.floats(0, 1e3), min_size=1, max_size=20))
def test_a_table_is_with_all_of_its_batches_or_after_them(seconds: list[float | None]) -> None:
    batches = [batch(value) for value in seconds]
    groups = {cluster.group_of_batch(one) for one in batches}
    assert cluster.group_of_table(batches) == cluster.TABLES or groups == {cluster.SHORT}
    long = any((value or 0) > cluster.LIMIT for value in seconds)
    assert (None in groups) >= long


def test_a_job_asks_for_what_was_measured_and_then_for_twice_as_much() -> None:
    measured = batch(56.0, 1000)
    assert [cluster.minutes(measured, attempt) for attempt in (1, 2, 3)] == [3, 6, 12]
    assert [cluster.megabytes(measured, attempt) for attempt in (1, 2)] == [2012, 4024]
    assert cluster.minutes(batch(None), 1) > 5
    assert cluster.megabytes(batch(None), 1) > 2000


def test_the_profile_has_the_groups_and_kernels_that_nodes_share() -> None:
    """Groups that a profile does not list would be a job for each study."""
    slurm = PROFILES / "slurm"
    listed = [
        text.partition("=")[0] for text in yaml.safe_load((slurm / "config.yaml").read_text())["group-components"]
    ]
    assert listed == [cluster.SHORT, cluster.TABLES, cluster.LAST]
    assert yaml.safe_load((slurm / "settings.yaml").read_text()) == {"kernels": "numba", "device": "elsewhere"}


# What runs cost: taken from records, kept in a file, and told in a plan


def _record(path: Path, seconds: object, peak: object) -> None:
    record.write(path, record.Record([{"x": 1}], {"signature": "0", "cpu_seconds": seconds, "peak_mebibytes": peak}))


def test_costs_are_those_of_the_records(tmp_path: Path) -> None:
    _record(tmp_path / "moments" / "srht" / "d8.parquet", 1.0, 200)
    _record(tmp_path / "moments" / "control" / "zero" / "d8.parquet", 3.0, 100)
    _record(tmp_path / "tails" / "srht" / "d8.parquet", 5.0, 300)
    _record(tmp_path / "older" / "srht" / "d8.parquet", None, None)
    (tmp_path / "tails" / "srht" / "damaged.parquet").write_bytes(b"PAR1")
    assert cost.measured(tmp_path) == {"moments": Cost(2.0, 3.0, 200, 2), "tails": Cost(5.0, 5.0, 300, 1)}


def test_the_file_says_what_was_written_and_keeps_other_scales(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "costs.csv"
    file.write_text(cost.text({Key("paper", "tails"): Cost(7200.0, 9000.0, 500, 3)}))
    monkeypatch.setattr(cost, "FILE", file)
    _record(tmp_path / "results" / "tails" / "srht" / "d8.parquet", 5.0, 300)
    main(["costs", "smoke", "--results", str(tmp_path / "results")])
    assert cost.read(file) == {
        Key("paper", "tails"): Cost(7200.0, 9000.0, 500, 3),
        Key("smoke", "tails"): Cost(5.0, 5.0, 300, 1),
    }
    assert "1 studies at smoke: 5 seconds of a core" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "",
        "scale,study\n",
        ",".join(cost.COLUMNS) + "\nquick,tails,1,2,1,100\n",
        "\x00",
        ",".join(cost.COLUMNS) + "\nquick\n",
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "costs.csv"
    file.write_text(text)
    with pytest.raises(CostError, match=r"costs\.csv: .*restore it") as refused:
        cost.read(file)
    assert "\n" not in str(refused.value)


def test_every_study_of_the_quick_scale_has_a_cost() -> None:
    planned = whole_plan("quick")
    unknown = {run.study for runs in planned.runs.values() for run in runs.values() if run.cost is None}
    assert not unknown, "run `make results`, then `sketchbench costs quick`"
    assert "never measured" not in planned.summary


def test_a_batch_is_as_long_as_its_runs_together_and_unknown_where_one_is() -> None:
    known = Run("one", "a", {}, "0", {}, "a.parquet", Cost(2.0, 3.0, 100, 1))
    unknown = Run("one", "b", {}, "0", {}, "b.parquet")
    both = Batch("x.done", [known, known])
    assert (both.seconds, both.mebibytes) == (4.0, 100)
    mixed = Batch("x.done", [known, unknown])
    assert mixed.seconds is mixed.mebibytes is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 seconds"), (119, "119 seconds"), (120, "2 minutes"), (7199, "120 minutes"), (9000, "2.5 hours")],
)
def test_durations_are_told_in_the_unit_that_reads_best(seconds: float, words: str) -> None:
    assert cost.format_duration(seconds) == words
