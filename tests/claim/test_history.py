"""The history of verdicts: what a run adds to it, and that it adds nothing where nothing changed."""

import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sketchbench.base.project import DIRTY
from sketchbench.report.claim import history
from sketchbench.report.claim.history import COLUMNS, append, extend, read

NAN = float("nan")


def verdicts(**found: tuple[str, float]) -> pd.DataFrame:
    rows = [
        {"claim": "S1", "method": name, "verdict": verdict, "predicted": "holds", "tightness": tightness}
        for name, (verdict, tightness) in found.items()
    ]
    return pd.DataFrame(rows)


def grown(*runs: tuple[str, pd.DataFrame]) -> pd.DataFrame:
    found = pd.DataFrame(columns=list(COLUMNS))
    for commit, table in runs:
        found = extend(found, table, "quick", commit, "2026-01-01")
    return found


def said(found: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(found[["commit", "method", "verdict"]].itertuples(index=False, name=None))


def test_only_what_changed_has_a_row() -> None:
    first, second = (
        verdicts(ams=("holds", 2.0), srht=("holds", NAN)),
        verdicts(ams=("holds", 2.0001), srht=("fails", 1)),
    )
    assert said(grown(("a", first), ("b", first))) == [("a", "ams", "holds"), ("a", "srht", "holds")]
    assert said(grown(("a", first), ("b", second)))[2:] == [("b", "srht", "fails")]
    third = verdicts(ams=("holds", 2.01), srht=("holds", NAN))  # a tightness by half a percent larger
    assert said(grown(("a", first), ("b", third)))[2:] == [("b", "ams", "holds")]


def test_the_same_commit_twice_changes_nothing_and_uncommitted_code_leaves_no_trace() -> None:
    first, second = verdicts(ams=("holds", 2.0)), verdicts(ams=("holds", 3.0))
    once = grown(("a", first), ("b", second))
    pd.testing.assert_frame_equal(once, grown(("a", first), ("b", second), ("b", second)))
    pd.testing.assert_frame_equal(once, grown(("a", first), (f"a{DIRTY}", second), ("b", second)))


def test_times_and_what_is_not_run_are_left_out() -> None:
    table = pd.concat([verdicts(ams=("not run", NAN)), verdicts(srht=("fails", 1.0)).assign(predicted="any")])
    assert grown(("a", table)).empty


@pytest.mark.git
def test_a_run_adds_to_the_history_of_its_checkout(tmp_path: Path) -> None:
    """Reports elsewhere have none, nor has another scale; the same commit again, or one of reports, changes nothing."""

    def commit(message: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", message]):
            subprocess.run(["git", "-C", str(tmp_path), *who, *command], check=True, capture_output=True)

    (tmp_path / "code.py").touch()
    commit("code")
    place = tmp_path / history.PLACES["quick"]
    place.parent.mkdir()
    assert append(place, verdicts(ams=("fails", 0.5)), "quick", tmp_path) == []
    before = (tmp_path / history.FILE).read_bytes()
    commit("reports of it")
    for csv, tightness, scale in (
        (place, 0.5, "quick"),
        (tmp_path / "claims.csv", 7.0, "quick"),
        (place, 7.0, "smoke"),
    ):
        assert append(csv, verdicts(ams=("fails", tightness)), scale, tmp_path) == []
        assert (tmp_path / history.FILE).read_bytes() == before
    (tmp_path / "code.py").write_text("1")
    commit("other code")
    append(place, verdicts(ams=("holds", 7)), "quick", tmp_path)
    assert list(read(tmp_path / history.FILE)["verdict"]) == ["fails", "holds"]

    (tmp_path / history.FILE).write_bytes(before)
    (line,) = append(place, verdicts(ams=("holds", 9)), "quick", tmp_path)
    assert "history.csv: it does not match its seal" in line
    assert "git restore" in line
    assert (tmp_path / history.FILE).read_bytes() == before


def test_no_history_is_an_empty_one(tmp_path: Path) -> None:
    assert read(tmp_path / "none.csv").empty
