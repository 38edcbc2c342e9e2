"""workflow/on_gpu, tried without a GPU: pieces that go on from each other."""

import dataclasses
import fcntl
import json
import os
import platform
import runpy
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest
import yaml
from conftest import ROOT, Project

from sketchbench.base.project import CONF
from sketchbench.run import record
from sketchbench.run.config import study

pytestmark = pytest.mark.workflow


def _on_gpu(project: Project, *arguments: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    packages = os.pathsep.join(map(str, [project.path, *project.packages]))
    return subprocess.run(
        [*before, sys.executable, "workflow/on_gpu", *arguments],
        cwd=project.path,
        env={**os.environ, "PYTHONPATH": packages},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def _when_free(project: Project, *arguments: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run a piece once what the one before began has ended, as the message says; on a busy machine that takes time."""
    for _ in range(60):
        done = _on_gpu(project, *arguments, before=before)
        if "another piece is under way" not in done.stderr:
            break
        time.sleep(1)
    return done


def test_a_piece_stops_in_time_and_the_next_goes_on(finished: Project) -> None:
    trying = ("--kernels", "numpy", "--scale", "smoke", "--studies", "tiny", "trainings")
    short = _on_gpu(finished, "--minutes", "0.51", *trying)
    assert short.returncode in (0, 75), short.stderr
    whole = _when_free(finished, "--minutes", "3", *trying)
    assert (whole.returncode, whole.stdout.splitlines()[-1]) == (0, "on_gpu: all is done"), whole.stdout + whole.stderr
    again = _on_gpu(finished, *trying)
    assert again.stdout == "on_gpu: all is done\n"


def test_one_file_has_the_results(finished: Project) -> None:
    done = _on_gpu(finished, "--kernels", "numpy", "--scale", "smoke", "--minutes", "3", "speed")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "on_gpu: all is done"), done.stdout + done.stderr
    result = json.loads((finished.path / "results" / "on_gpu" / "result.json").read_text())
    assert result["kernels"] == "numpy"
    assert result["steps"]["speed"]["outcome"] == "done"
    assert {one["name"] for one in result["speeds"]} == {"copy", "walsh_hadamard", "count_sketch", "fiht"}
    assert all(one["seconds"] > 0 for one in result["speeds"])


def test_two_pieces_are_not_under_way_at_once(finished: Project) -> None:
    """Nor one beside what a killed one has begun, which holds the lock."""
    state = finished.path / "results" / "on_gpu"
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = _on_gpu(finished, "--kernels", "numpy", "speed")
    assert done.returncode == 1
    assert "another piece is under way" in done.stderr


MARKED = """
import cupy
import pytest


@pytest.mark.gpu
def test_the_device():
    assert cupy.arange(3).sum() == 3


def test_another():
    raise AssertionError("it is not marked")
"""


def test_tests_that_are_not_found_are_no_success(finished: Project) -> None:
    (finished.path / "tests").mkdir()
    (finished.path / "tests" / "test_marked.py").write_text("import what_is_not_there\n")
    done = _on_gpu(finished, "--kernels", "numpy", "--minutes", "3", "tests")
    assert done.returncode == 1
    assert "tests failed: see logs/on_gpu/tests.log" in done.stdout
    assert "what_is_not_there" in (finished.path / "logs" / "on_gpu" / "tests.log").read_text()


@pytest.mark.cuda
@pytest.mark.skipif(shutil.which("g++") is None or platform.machine() != "x86_64", reason="needs the emulated device")
def test_a_rehearsal_on_the_emulated_device(finished: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network, where Linux can take it away; the trainings in pieces, of which the first is short."""
    monkeypatch.setenv("EMULATED_CUDA", "fast")
    project = dataclasses.replace(finished, packages=(ROOT / "tests" / "cuda" / "emulated",))
    alone = ["unshare", "--map-root-user", "--net"]
    possible = shutil.which("unshare") and subprocess.run([*alone, "true"], check=False).returncode == 0
    settings = ("--scale", "smoke", "--studies", "tiny")
    (project.path / "tests").mkdir()
    (project.path / "tests" / "test_marked.py").write_text(MARKED)
    shutil.copy(ROOT / "pyproject.toml", project.path)
    for minutes, steps in (("0.51", ["trainings"]), ("9", ["tests", "speed"]), ("9", ["frontier", "trainings"])):
        done = _when_free(project, "--minutes", minutes, *settings, *steps, before=alone if possible else [])
        assert done.returncode in (0, 75), done.stdout + done.stderr
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "on_gpu: all is done"), done.stdout + done.stderr
    result = json.loads((project.path / "results" / "on_gpu" / "result.json").read_text())
    assert (result["kernels"], result["device"]) == ("cupy-emulated", "emulated on a CPU")
    assert {name: step["outcome"] for name, step in result["steps"].items()} == dict.fromkeys(
        ("tests", "tests-marked", "speed", "frontier", "trainings"), "done"
    )
    training = record.read(project.path / "results" / "on_gpu" / "frontier.parquet")
    assert training.provenance["kernels"] == "cupy-emulated"


def test_the_training_of_the_frontier_has_the_sizes_of_its_study() -> None:
    own = dict(setting.split("=", 1) for setting in runpy.run_path(str(ROOT / "workflow" / "on_gpu"))["FRONTIER"])
    paper = study.read(CONF, "frontier", "paper").set
    sizes = ["training.batch", "training.rounds", "training.apart", "privacy.delta", "model.hidden"]
    sizes += ["tuning.first", "tuning.rounds"]
    for name in (*(f"task.{size}" for size in sizes), "task.judging.budgets"):
        assert yaml.safe_load(own[name]) == paper[name]
    assert f"samples: {paper['task.partitions.one class.samples']}}}" in own["task.partitions"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["training"], "STEP=training is unknown"), (["--minutes", "0"], "--minutes 0 is too short")],
)
def test_a_wrong_call_is_told(arguments: list[str], told: str) -> None:
    command = [sys.executable, str(ROOT / "workflow" / "on_gpu"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_gpu_gets_the_figures_as_printed() -> None:
    for name, rounds in (("compressed_iid", 3125), ("compressed_noniid", 5000)):
        assert study.read(CONF, name, "paper", gpu=True).set["task.rounds"] == rounds
        assert study.read(CONF, name, "paper").set["task.rounds"] < rounds
