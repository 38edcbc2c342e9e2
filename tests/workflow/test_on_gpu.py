"""workflow/on_gpu, tried without a GPU: pieces that go on from each other."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, Project

pytestmark = pytest.mark.workflow


def _on_gpu(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # noqa: PTH120
    return subprocess.run(
        [sys.executable, "workflow/on_gpu", *arguments],
        cwd=project.path,
        env={**os.environ, "PYTHONPATH": str(project.path), "PATH": search},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_a_piece_stops_in_time_and_the_next_goes_on(finished: Project) -> None:
    trying = ("--kernels", "numpy", "--scale", "smoke", "--studies", "tiny", "trainings")
    short = _on_gpu(finished, "--minutes", "0.51", *trying)
    assert short.returncode in (0, 75), short.stderr
    whole = _on_gpu(finished, "--minutes", "3", *trying)
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
    from sketchbench.config import study
    from sketchbench.project import CONF

    for name, rounds in (("compressed_iid", 3125), ("compressed_noniid", 5000)):
        assert study.read(CONF, name, "paper", gpu=True).set["task.rounds"] == rounds
        assert study.read(CONF, name, "paper").set["task.rounds"] < rounds
