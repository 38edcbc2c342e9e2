"""Trials as runs: the same rows as of one run; time limits; what one command leaves, the next one goes on with."""

import functools
import io
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import yaml
from whole_plan import whole_plan

from sketchbench.base.course import Course, Unfinished, with_time_limit
from sketchbench.base.errors import ConfigError
from sketchbench.command.main import main
from sketchbench.federated import experiment
from sketchbench.measure.column import TRIALS_THERE
from sketchbench.plan import making as planning
from sketchbench.plan.batch import Batch, Run, batches
from sketchbench.report.table.joining import join, make
from sketchbench.run import execution, job, record
from sketchbench.run.config import composition
from sketchbench.run.config.chapters import named
from sketchbench.run.signature import signature

Config = dict[str, Any]
DIGITS = ["task.attack.evaluations=3", "model@task.model=digits_cnn", "task.assessment.pictures=2"]
SIZES = ["d=2538", "b=634", "task.compressions=[4,53]", "task.examples=2"]
TASKS = {
    "training": [
        *("sketch=count_sketch", "d=8", "b=4", "task.rounds=2", "task.judging.points=2", "task.model.hidden=[8]"),
        *("task.training.participation=0.5", "task.partition.clients=4", "task.tuning.rates=[0.1,0.3]"),
        "task.tuning.rounds=1",
    ],
    "compressed_training": [
        *("task.rounds=6", "task.judging.points=3", "task.partition.clients=5", "task.tuning.rates=[0.3,1]"),
        *("task.tuning.rounds=3", "~task.compression.arms.count_sketch"),
    ],
    "sketched_inversion": ["sketch=count_sketch", *SIZES, *DIGITS],  # and the other inversions, which differ in views
}
TRIALS = 3


@pytest.fixture(autouse=True)
def one_torch_thread() -> None:
    torch.set_num_threads(1)


@functools.cache
def _config(task: str, trials: int) -> str:
    overrides = [f"task={task}", *TASKS[task], f"task.trials={trials}", "kernels=numba"]
    return json.dumps(composition.frozen(composition.compose(overrides)).config, sort_keys=True)  # as jobs get it


def config(task: str = "compressed_training", trials: int = TRIALS) -> Config:
    return dict(json.loads(_config(task, trials)))


@functools.cache
def _rows(task: str) -> list[Any]:
    return execution.execute(config(task))


def without_times(rows: Any) -> list[dict[str, Any]]:
    """Of rows or of a record, whose missing values are None."""
    present = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return [row for row in present if row["quantity"] != "seconds"]


def run_of(folder: Path, task: str = "compressed_training", minutes: float | None = None) -> tuple[Run, list[Run]]:
    whole = config(task)
    own = [{**whole, "trial": number} for number in range(TRIALS)]
    checkpoints = str(folder / "checkpoints")
    course = {"minutes": minutes, "checkpoints": checkpoints}
    trials = [
        Run("s", f"m/trial{n}", one, signature(one), {}, f"{folder}/m/trial{n}.parquet", **course)
        for n, one in enumerate(own)
    ]
    place = {"record": f"{folder}/m.parquet", "checkpoints": checkpoints}
    return Run("s", "m", whole, signature(whole), {"method": "m"}, trials=tuple(trials), **place), trials


def planned(folder: Path, minutes: float | None = None, size: int = 1) -> list[Batch]:
    run, _ = run_of(folder, minutes=minutes)
    return batches(str(folder), [run], size)


def work(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(batch.payload))
    main(["step", "job", "--receipt", batch.receipt])


def manifest(folder: Path) -> list[dict[str, Any]]:
    run, _ = run_of(folder)
    return [
        {"record": f"{folder}/m.parquet", "signature": run.signature, "columns": {"method": "m"}, "planned": TRIALS}
    ]


def table_of(entries: list[dict[str, Any]]) -> pd.DataFrame:
    return join(entries)[0]


@pytest.mark.parametrize("task", list(TASKS))
def test_one_run_of_all_trials_and_a_run_of_each_give_the_same_rows(task: str, tmp_path: Path) -> None:
    """Bit for bit, whichever trial is made first."""
    run, trials = run_of(tmp_path, task)
    entries = []
    for number in random.Random(0).sample(range(TRIALS), TRIALS):
        entry = {"trial": number, "record": str(tmp_path / f"{number}"), "signature": trials[number].signature}
        job.run(with_time_limit(trials[number].config), Path(entry["record"]))
        entries.append(entry)
    job.join(run.config, tmp_path / "joined", entries)
    found = record.read(tmp_path / "joined", run.signature)
    assert without_times(found.rows) == without_times(_rows(task))
    assert found.provenance["trials"] == [0, 1, 2]


def test_how_many_others_there_are_changes_no_trial() -> None:
    few, many = ({**config(trials=trials), "trial": 1} for trials in (2, 30))
    assert signature(few) == signature(many) != signature({**few, "trial": 2})
    assert signature(config(trials=2)) != signature(config(trials=30))
    limited = with_time_limit(few, 9.0, "elsewhere")
    assert limited != few
    assert signature(limited) == signature(few)


def test_a_table_of_the_trials_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None, then two of three, then all: the same table as of one run."""
    *trials, last = planned(tmp_path)
    csv = tmp_path / "t.csv"
    work(last, monkeypatch)
    make("s", manifest(tmp_path), "smoke", csv)
    (nothing,) = table_of(manifest(tmp_path)).to_dict("records")
    assert (nothing["quantity"], nothing["status"], nothing["planned"]) == (TRIALS_THERE, "unfinished", TRIALS)
    for number in (2, 0):
        work(trials[number], monkeypatch)
    assert [batch.check() for batch in (*trials, last)] == [[]] * 4
    assert [Path(batch.receipt).exists() for batch in (*trials, last)] == [True, False, True, False]
    work(last, monkeypatch)
    table = table_of(manifest(tmp_path))
    assert set(table["trials"].dropna()) == {2}
    assert set(table["planned"]) == {TRIALS}
    both = execution.with_task(config(), lambda task: task.rows([task.trial(0), task.trial(2)]))
    stored = record.read(tmp_path / "m.parquet")
    assert without_times(stored.rows) == without_times(both)
    assert stored.provenance["trials"] == [0, 2]
    make("s", manifest(tmp_path), "smoke", csv)
    partly = csv.read_bytes()
    for batch in (trials[1], last):
        batch.check()
        work(batch, monkeypatch)
    make("s", manifest(tmp_path), "smoke", tmp_path / "tables" / "s.csv")
    assert (tmp_path / "tables" / "s.csv").read_bytes() != partly
    job.run(config(), tmp_path / "one.parquet")
    single = [{**entry, "record": str(tmp_path / "one.parquet")} for entry in manifest(tmp_path)]
    for entry in single:
        del entry["planned"]
    pd.testing.assert_frame_equal(table_of(manifest(tmp_path)), table_of(single))
    assert not (tmp_path / "checkpoints").exists()


def test_a_time_limit_and_the_same_command_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    batch, last = planned(tmp_path, minutes=1e-9, size=TRIALS)
    work(batch, monkeypatch)
    assert "3 of 3 runs are unfinished; rerun the same command to resume" in capsys.readouterr().out
    assert Path(batch.receipt).read_text().splitlines() == [f"{'-' * 16} {run.record}" for run in batch.runs]
    assert not list(tmp_path.rglob("*.parquet"))
    assert list((tmp_path / "checkpoints").rglob("*.pt"))
    times = 1
    while any("-----" in line for line in Path(batch.receipt).read_text().splitlines()):
        assert batch.check() == []
        assert not Path(batch.receipt).exists()
        work(batch, monkeypatch)
        times += 1
    # tuning with two rates for 3 rounds, 3 trials of two arms for 6: a job makes a round, but for the last of a
    # training, which lets the next one begin
    assert times >= 2 * 2 + TRIALS * 2 * 5
    left = {path.parent.name for path in (tmp_path / "checkpoints").rglob("*.pt")}
    assert left == {"tuning"}  # for further trials, until all are there
    work(last, monkeypatch)
    assert without_times(record.read(tmp_path / "m.parquet").rows) == without_times(_rows("compressed_training"))
    assert not (tmp_path / "checkpoints").exists()
    assert batch.check() + last.check() == []
    assert Path(batch.receipt).exists()
    assert Path(last.receipt).exists()


def test_attacks_stop_between_trials(tmp_path: Path) -> None:
    limited = with_time_limit(config("sketched_inversion"), 1e-9, str(tmp_path))
    for done in (1, 2):
        with pytest.raises(Unfinished, match=f"^{done} of 3 trials are done$"):
            execution.execute(limited, "code")
    assert without_times(execution.execute(limited, "code")) == without_times(_rows("sketched_inversion"))


def test_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With the exit code of what is to be tried again."""
    monkeypatch.chdir(tmp_path)
    command = [
        "run",
        "task=sketched_inversion",
        *TASKS["sketched_inversion"],
        "kernels=numba",
        "task.trials=2",
        "task.minutes=1e-9",
    ]
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 75
    assert "time limit reached; rerun the same command to resume: 1 of 2 trials are done" in capsys.readouterr().err
    main(command)
    assert "numba kernels" in capsys.readouterr().out
    assert not list(tmp_path.rglob("*.pt"))
    for wrong, words in (("task.minutes=-1", "minutes=-1 must be > 0"), ("task.minutes=long", "must be a number")):
        with pytest.raises(SystemExit, match=words):
            main([*command[:-1], wrong])


def test_a_killed_job_goes_on(tmp_path: Path) -> None:
    """Killed while it trains: the same command makes what an undisturbed one does."""
    batch, last = planned(tmp_path, size=TRIALS)
    code = (
        "import sys; from sketchbench.command.main import main; from sketchbench.federated import experiment;"
        "experiment.SECONDS_BETWEEN = 0.0; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "step", "job", "--receipt", batch.receipt]
    # As many threads as here, which the workflow says, too: by default Numba starts one for each core, torch takes them
    # over, and sums round otherwise.
    threads = os.environ | {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=threads, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdin is not None
    process.stdin.write(batch.payload)
    process.stdin.close()
    limit = time.monotonic() + 120
    while not list((tmp_path / "checkpoints").rglob("trial0/*.pt")) and process.poll() is None:
        assert time.monotonic() < limit
        time.sleep(0.01)
    process.kill()
    process.wait()
    for one in (batch, last):
        one.check()
        assert job.run_batch(json.loads(one.payload)) == job.Outcome([], {})
    assert without_times(record.read(tmp_path / "m.parquet").rows) == without_times(_rows("compressed_training"))


def test_two_trials_do_not_tune_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes second waits, until its own time limit, and finds the checkpoints of the first."""
    from sketchbench.federated import checkpoint

    course = Course(checkpoints=str(tmp_path), until=time.monotonic())
    busy = pytest.raises(Unfinished, match="is worked on by another run")
    with checkpoint.lock_folder(tmp_path, course), busy, checkpoint.lock_folder(tmp_path, course):
        pass
    with checkpoint.lock_folder(tmp_path, course):
        pass
    trained: list[str] = []
    run = experiment.Experiment._run

    def spy(self: Any, path: Path | None) -> Any:
        if path and not path.exists():
            trained.append(self.name)
        return run(self, path)

    monkeypatch.setattr(experiment.Experiment, "_run", spy)
    for batch in planned(tmp_path / "here")[:2]:
        work(batch, monkeypatch)
    assert sum("tuning" in name for name in trained) == 2  # each of two rates once, for two trials


def test_a_study_says_it() -> None:
    plan = replace(whole_plan("paper"))
    for run in plan.runs["inversion_double_blind"].values():
        assert len(run.trials) == run.config["task"]["trials"] == 25
        assert [trial.config["trial"] for trial in run.trials] == list(range(25))
    found = plan.batches["federated_mlp"]
    *trials_of, last = found.values()
    assert set(last.needs) == {batch.receipt for batch in trials_of}
    assert len(trials_of) == sum(len(run.trials) for run in plan.runs["federated_mlp"].values())
    firsts = [batch.runs[0].config["trial"] for batch in trials_of]
    assert firsts == sorted(firsts)  # so that those that are made at once tune different things
    (only,) = replace(plan, reuse_trials_only=True).batches["federated_mlp"].values()
    assert only.needs == ()
    assert only.payload == replace(last, receipt=only.receipt).payload
    assert not any(run.trials for run in whole_plan("quick").runs["federated_mlp"].values())


def test_what_is_planned_in_trials_can_be_run() -> None:
    planned = [run for run in whole_plan("paper").all_runs if run.trials]
    assert len({run.study for run in planned}) > 5
    for run in planned:
        execution.with_task(run.config, lambda task: task)


def test_settings_of_some_combinations(tmp_path: Path) -> None:
    """A combination with 0 trials is left out, with the reason; the first variation that matches counts."""
    conf = tmp_path / "conf"
    (conf / "study").mkdir(parents=True)
    for entry in planning.CONF.iterdir():
        if entry.name != "study":
            (conf / entry.name).symlink_to(entry)
    path = conf / "study" / "federated_mlp.yaml"
    study = yaml.safe_load(named(planning.CONF, "study")[path.stem].read_text())
    study["scales"]["paper"] |= {
        "set": study["scales"]["paper"]["set"] | {"task.trials": 4},
        "variations": [
            {"where": {"method": ["count_sketch"], "participation": [0.5, 1]}, "set": {"task.trials": 0}},
            {"where": {"participation": [1, 0.01]}, "set": {"task.trials": 2}},
            {"where": {"method": ["count_sketch"], "participation": [0.01, 0.1]}, "set": {"task.rounds": 7}},
        ],
    }
    path.write_text(yaml.safe_dump(study))
    plan = planning.expand("paper", "numba", studies="federated_mlp", conf=conf)
    trials = {name: len(run.trials) for name, run in plan.runs["federated_mlp"].items()}
    balanced, plain = (
        {name.partition("participation")[2]: count for name, count in trials.items() if name.startswith(f"{method}/")}
        for method in ("balanced_count_sketch", "count_sketch")
    )
    assert balanced == {"0.01": 2, "0.1": 4, "0.2": 4, "0.5": 4, "1": 2}
    assert plain == {"0.01": 2, "0.1": 4, "0.2": 4}
    assert all(run.config["task"]["trials"] == len(run.trials) for run in plan.runs["federated_mlp"].values())
    assert sum("sets no trials" in skipped.reason for skipped in plan.skipped) == 2
    shorter = [name for name, run in plan.runs["federated_mlp"].items() if run.config["task"]["rounds"] == 7]
    assert [name.partition("participation")[2] for name in shorter] == ["0.1"]
    assert shorter[0].startswith("count_sketch/")
    study["scales"]["paper"]["variations"][1]["where"] = {"share": [1]}
    path.write_text(yaml.safe_dump(study))
    with pytest.raises(ConfigError, match=r"federated_mlp.yaml: variations: where=share is unknown"):
        planning.expand("paper", "numba", studies="federated_mlp", conf=conf)
    share = "task.training.participation"  # a row would stand beside another share than that of its training
    study["scales"]["paper"]["variations"][1] = {"where": {"participation": [1]}, "set": {share: 0.5}}
    path.write_text(yaml.safe_dump(study))
    with pytest.raises(ConfigError, match=rf"federated_mlp.yaml: variations: set: {share} is an axis"):
        planning.expand("paper", "numba", studies="federated_mlp", conf=conf)
