"""`sketchbench check`: words, a summary, annotations on GitHub's runners, and how it ends."""

import subprocess
from pathlib import Path

import pandas as pd
import pytest

from sketchbench.command.main import main
from sketchbench.report import seal
from sketchbench.report.codes import code_of
from sketchbench.report.inputs import CODE

ROW = {"claim": "X1", "role": "ours", "method": "good", "label": "GOOD", "case": "c|d", "verdict": "holds"}
ROW |= {"predicted": "holds", "statistic": 1.0, "low": 0.5, "high": 1.5, "bound": 2.0, "slack": 0.5, "trials": 9}
ROW |= {"criterion": "upper_bound", "study": "one", "code": ""}
FAILS: dict[str, object] = {"verdict": "fails", "low": 2.5, "high": 3.5, "statistic": 3.0}


def written(folder: Path, name: str, *rows: dict[str, object]) -> str:
    path = folder / f"{name}.csv"
    pd.DataFrame([{**ROW, **row} for row in rows]).to_csv(path, index=False)
    seal.write("claims", "quick", {CODE: code_of("claims")}, [path])
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    broken: dict[str, object] = {**FAILS, "claim": "X3", "role": "contract"}
    old = written(tmp_path, "old", {}, {"claim": "X2"}, broken, {"claim": "X4"})
    weaker: dict[str, object] = {"claim": "X2", "verdict": "inconclusive", "high": 2.5}
    older: dict[str, object] = {"claim": "X4", "code": "older code"}
    return old, written(tmp_path, "new", FAILS, weaker, broken, older)


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["check", *arguments])
    return int(str(stop.value.code))


def test_the_summary(files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = files
    page, step = tmp_path / "page.md", tmp_path / "step.md"
    step.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    assert ended(new, "--against", old, "--current", "--summary", str(page)) == 1
    text = page.read_text()
    assert step.read_text() == f"before\n{text}"
    assert text.startswith(
        "## 4 verdicts, 1 as predicted, 3 otherwise, 1 of older code\n\nreproduced: 2 of 4 verdicts;"
    )
    failures, _, rest = text.partition("### Also")
    assert "| X3 | GOOD | the contract is broken (c/d: 3 in [2.5, 3.5], bound 2) |" in failures
    assert "| X1 | GOOD | differs: fails, published holds: " in failures
    assert "X2" not in failures.partition("###")[2]
    assert "| X2 | GOOD | weaker: inconclusive, published holds: " in rest
    assert "### Not current\n\n- X4: 1 of older code" in rest


def test_annotations(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = files
    assert ended(new, "--against", old, "--current") == 1
    assert "::" not in capsys.readouterr().out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert ended(new, "--against", old, "--current") == 1
    out = capsys.readouterr().out.splitlines()
    assert [line.split("::")[1] for line in out if line.startswith("::")] == [
        "error title=X3 GOOD",
        "error title=X1 GOOD",
        "warning title=X2 GOOD",
        "warning title=not current",
    ]
    assert out[-1].startswith("reproduced: 2 of 4 verdicts; weaker: X2 GOOD, ")


@pytest.mark.parametrize(
    ("rows", "code", "strict"),
    [
        ([{}], 0, 0),
        ([{"predicted": "fails"}], 0, 0),
        ([{"high": 1.50001}], 0, 1),  # a number
        ([{"verdict": "inconclusive", "high": 2.5}], 0, 1),
        ([FAILS], 1, 1),
        ([{}, {"claim": "X2"}], 1, 1),
        ([{"role": "contract"}], 0, 0),
        ([{"role": "contract", "verdict": "inconclusive", "high": 2.5}], 0, 1),
        ([{"verdict": "not run", "method": "", "label": ""}], 1, 1),
        ([{"comparisons": 9, "negative_control_rejected": "2 of 9"}], 0, 0),  # the older table has no such columns
    ],
)
def test_how_it_ends(tmp_path: Path, rows: list[dict[str, object]], code: int, strict: int) -> None:
    old, new = written(tmp_path, "old", {}), written(tmp_path, "new", *rows)
    assert ended(new, "--against", old) == code
    assert ended(new, "--against", old, "--strict") == strict
    assert ended(new, "--against", old, "--strict", "--list") == 0


@pytest.mark.parametrize("row", [{**FAILS, "role": "contract"}, {"verdict": "void"}])
def test_a_broken_contract_is_a_failure_wherever_nothing_else_is(
    tmp_path: Path, row: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    """As where it was published so; a control's is none, which has another role."""
    new = written(tmp_path, "new", row)
    assert ended(new) == ended(new, "--against", new) == 1
    assert "X1 GOOD: the contract is broken" in (out := capsys.readouterr().out) or "void GOOD: 1 verdicts" in out
    assert ended(written(tmp_path, "control", {**FAILS, "role": "control"})) == 0


def git(root: Path, *command: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *who, *command], check=True, capture_output=True)


def reports(root: Path, *rows: dict[str, object], made_of: str = "1") -> str:
    (root / "tables").mkdir(exist_ok=True)
    (root / "claims.md").write_text("page\n")
    path = written(root, "claims", *rows)
    seal.write("claims", "quick", {}, [root / "claims.csv", root / "claims.md"])
    (root / "tables" / "one.csv").write_text("method\ngood\n")
    seal.write("table", "quick", {"records": made_of}, [root / "tables" / "one.csv"])
    return path


@pytest.mark.git
def test_what_is_published_is_what_git_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Verdicts by default, tables with --committed, and each number and the page with --strict."""

    def all_three() -> list[int]:
        return [ended(path), ended(path, "--committed"), ended(path, "--strict")]

    def said(*arguments: str) -> list[str]:
        capsys.readouterr()
        ended(path, *arguments)
        return capsys.readouterr().out.splitlines()

    path = reports(tmp_path, {}, {"claim": "X2"})
    git(tmp_path, "init", "-q")
    assert said()[-1] == f"nothing is published to compare with: git's HEAD has no {path}"
    assert ended(path) == 0
    with pytest.raises(SystemExit, match="commit them first"):
        main(["check", path, "--committed"])
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "reports")
    assert all_three() == [0, 0, 0]
    assert said()[-1] == "reproduced: 2 of 2 verdicts"
    reports(tmp_path, {"high": 1.4}, {"claim": "X2"})
    assert all_three() == [0, 0, 1]
    assert "X1 good: high 1.4, was 1.5" in said("--strict")
    reports(tmp_path, FAILS, {"claim": "X2"})
    assert all_three() == [1, 1, 1]
    reports(tmp_path, {}, {"claim": "X2"}, made_of="2")
    assert all_three() == [0, 1, 1]
    assert any("tables/one.csv: differs from the commit's" in line for line in said("--committed"))
    reports(tmp_path, {}, {"claim": "X2"})
    (tmp_path / "claims.md").write_text("another page\n")
    seal.write("claims", "quick", {}, [tmp_path / "claims.csv", tmp_path / "claims.md"])
    assert all_three() == [0, 0, 1]
    (tmp_path / "tables" / "seals.jsonl").unlink()
    assert all_three() == [0, 1, 1]


def test_what_has_no_value_is_said_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No case, no method, no number, no end of an interval; a method or a label may be called None."""
    one = {**FAILS, "case": None, "label": "None", "high": float("inf"), "role": "contract"}
    times = {"claim": "X3", "statistic": None, "bound": None}
    idle = {"claim": "X2", "method": None, "label": None, "verdict": "not run"}
    old = written(tmp_path, "old", {}, times)
    assert ended(written(tmp_path, "new", one, idle, {"claim": "X3"}), "--against", old, "--strict") == 1
    out = capsys.readouterr().out
    assert "X1 None: the contract is broken (its only comparison: 3 in [2.5, ∞], bound 2)" in out
    assert "X2 all methods: only in the newer" in out
    assert "X3 good: statistic 1, was none" in out
    assert "nan" not in out
