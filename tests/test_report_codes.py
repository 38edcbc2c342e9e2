"""Steps of the workflow refuse to run by other code than was planned, before they read or write anything."""

import io
import os
from pathlib import Path

import pytest

from sketchbench.base.errors import ConfigError
from sketchbench.command.main import main
from sketchbench.report import codes
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.figure.drawing import code_of
from sketchbench.run import digest

OTHER = "0123456789abcdef"
GROWTH, UNITS = (code_of(read_catalogue()[name]) for name in ("growth", "units"))
STEPS = {
    "table": ["one", "--csv", "x.csv"],
    "tables": ["manifests.json", "--tables", "."],
    "figure": ["growth", "growth.csv", "--svg", "x.svg", "--png", "x.png"],
    "figures": ["growth", "units", "--tables", ".", "--figures", "."],
    "claims": ["x.csv", "--claims", "claim", "--facts", "{}", "--csv", "y.csv", "--page", "y.md"],
    "printed": ["x.csv", "--printed", "printed", "--verdicts", "x.csv", "--csv", "y.csv"],
    "frontier": ["x.csv", "--csv", "y.csv"],
}
PLANNED = {"tables": codes.code_of("table"), "figure": GROWTH, "figures": f"{GROWTH},{UNITS}"}


def ending(step: str, planned: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(SystemExit) as stop:
        main(["step", step, *STEPS[step], "--code", planned])
    return str(stop.value)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_of_other_code_than_was_planned(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the planned code it goes on, and fails as there is nothing to read."""
    monkeypatch.chdir(tmp_path)
    assert ending(step, OTHER, monkeypatch) == f"sketchbench: error: {codes.CHANGED}"
    planned = PLANNED.get(step) or codes.code_of(step)
    assert codes.CHANGED not in ending(step, planned, monkeypatch)
    assert list(tmp_path.iterdir()) == []


def test_of_several_figures_each_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for planned in (f"{GROWTH},{OTHER}", f"{UNITS},{GROWTH}", GROWTH):
        assert codes.CHANGED in ending("figures", planned, monkeypatch)


def test_code_that_changes_during_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the site is made: a text on a page counts, a remark does not."""
    (tmp_path / "sketchbench").mkdir()
    path = tmp_path / "sketchbench" / "page.py"
    path.write_text('TITLE = "one"\n')
    monkeypatch.setattr(digest, "PROJECT", tmp_path)

    def edited(text: str) -> None:
        path.write_text(text)
        os.utime(path, (len(text), len(text)))  # a later time, whatever the clock's resolution

    with codes.unchanged("sketchbench.page"):
        edited('TITLE = "one"  # a remark\n')
    with pytest.raises(ConfigError, match="the code changed during this command"), codes.unchanged("sketchbench.page"):
        edited('TITLE = "three"\n')
