"""Batches of runs: all are done, each once; one that fails takes no other with it; order and company change nothing."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.command.main import main
from sketchbench.plan.batch import LEAST, Batch, Run, batches, packed
from sketchbench.plan.cost import Cost
from sketchbench.run import job, record
from sketchbench.run.config import composition
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
    """The rows of a run are the same alone, and after others in one process."""
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
