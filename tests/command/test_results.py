"""`results` hands its options to Snakemake as settings, and everything else as it is."""

import subprocess
from pathlib import Path

import pytest

from sketchbench.command.main import main


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []
    monkeypatch.setattr(subprocess, "call", lambda command, **_: calls.append(command) or 0)
    return calls


@pytest.mark.parametrize(
    ("given", "handed"),
    [
        ([], []),
        (["--scale", "smoke", "--cores", "1", "-n"], ["--cores", "1", "-n", "--config", "scale=smoke"]),
        (["--studies=tails", "--config", "minutes=9", "-n"], ["--config", "studies=tails", "minutes=9", "-n"]),
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
