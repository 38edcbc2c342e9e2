"""`results` hands its options to Snakemake as settings, and everything else as it is."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sketchbench.command.main import main


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []
    monkeypatch.setattr(subprocess, "call", lambda command, **_: calls.append(command) or 0)
    return calls


def test_the_workflow_has_the_python_that_asks_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where its environment is not activated, so that PATH has another Python, or none."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(subprocess, "call", lambda _, **options: calls.append(options) or 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        main(["results"])
    found = shutil.which("python", path=calls[0]["env"]["PATH"])
    assert found
    assert Path(found).samefile(sys.executable)


@pytest.mark.parametrize(
    ("given", "handed"),
    [
        ([], []),
        (["--scale", "smoke", "--cores", "1", "-n"], ["--cores", "1", "-n", "--config", "scale=smoke"]),
        (["--studies=tails", "--minutes", "9", "-n"], ["-n", "--config", "studies=tails", "minutes=9.0"]),
        (["--studies=tails", "--config", "device=here", "-n"], ["--config", "studies=tails", "device=here", "-n"]),
        (["--only", "mine", "--", "--quiet"], ["--quiet", "--config", "only=mine"]),
    ],
)
def test_options_become_settings(called: list[list[str]], given: list[str], handed: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["results", *given])
    assert end.value.code == 0
    assert called == [["sh", "workflow/run", *handed]]


def test_a_folder_is_the_reader_s(called: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the workflow runs in the project's folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["results", "--folder", "mine"])
    assert called[0][-1] == f"folder={tmp_path / 'mine'}"
