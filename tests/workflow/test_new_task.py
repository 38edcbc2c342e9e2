"""`sketchbench new task NAME`: what it writes is run and judged at once, without an edit."""

import os
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from conftest import ROOT, Project

pytestmark = pytest.mark.workflow


def sketchbench(project: Project, *arguments: str) -> str:
    command = [sys.executable, "-m", "sketchbench", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(project.path)}
    done = subprocess.run(command, cwd=project.path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_task_of_ones_own(project: Project) -> None:
    """By hand, by its study, and with verdicts that its negative control could have failed."""
    shutil.copy(ROOT / "conf" / "sketch" / "srht.yaml", project.path / "conf" / "sketch")
    printed = sketchbench(project, "new", "task", "own_lengths")
    files = ["sketchbench/task/own_lengths.py", *(f"conf/{kind}/own_lengths.yaml" for kind in ("task", "study"))]
    assert all(name in printed for name in [*files, "conf/claim/own-lengths.yaml"]), printed
    assert "own_lengths  flat    1      20" in sketchbench(
        project, "run", "task=own_lengths", "task.trials=20", "kernels=numpy"
    )
    project.succeed("studies=own_lengths")
    verdicts = pd.read_csv(project.path / "reports" / "smoke" / "claims.csv").set_index(["claim", "method"])
    mine = verdicts.loc["own-lengths"]
    assert dict(mine["verdict"]) == {"count_sketch": "holds", "srht": "holds"}
    assert set(mine["negative_control_verdict"]) == {"fails"}
