"""By hand: one task, its table, and one clear line for whatever is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from sketchbench import kernels
from sketchbench.command.main import main
from sketchbench.run import record

ROOT = Path(__file__).parents[2]
SMALL = ["kernels=numpy", "d=12", "b=4", "task.trials=20", "task.pairs=[random,flat]"]


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "sketchbench", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_one_task() -> None:
    done = command("run", "sketch=srht", *SMALL)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "srht, d=12, b=4, numpy kernels"
    assert "embedding_constant  flat" in done.stdout
    assert "20 of 20 trials" in done.stderr


def test_a_record(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    main(["run", "--result", str(path), *SMALL])
    found = record.read(path)
    assert found.provenance["kernels"] == "numpy"
    assert found.provenance["config"]["sketch"]["name"] == "count_sketch"
    assert set(found.provenance) >= {"commit", "machine", "signature", "versions", "wall_seconds"}
    assert len(found.rows) == 6


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "--help"])
    said = capsys.readouterr().out
    for expected in ("GROUP=OPTION", "count_sketch", "smoke", "numba", "trials:", "--folder"):
        assert expected in said


def test_bad_input(tmp_path: Path) -> None:
    """As a process ends; tests/refusal has many more, in this one."""
    path = tmp_path / "one.parquet"
    done = command("run", "--result", str(path), *SMALL, "b=0")
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("sketchbench: error: ")
    assert "sketch size b=0 must satisfy 1 <= b (d=12)" in lines[0]
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(kernels.device_missing() is None, reason="there is a CUDA device")
def test_cupy_without_a_device() -> None:
    with pytest.raises(SystemExit, match="kernels=cupy can't run here"):
        main(["run", "kernels=cupy"])


def test_the_plan_lists_runs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "--runs", "--studies", "tails", "--scale", "smoke"])
    *runs, summary = capsys.readouterr().out.splitlines()
    studies = [line.split()[0] for line in runs]
    assert studies.count("tails") == 16
    assert studies.count("contract") >= 20  # which is measured with whatever is chosen, and of tables that stay
    assert summary.startswith(f"{len(runs)} runs in 2 jobs, 0 skipped: ")
