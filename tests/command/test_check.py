"""`sketchbench check`: a summary, annotations on GitHub's runners, and how it ends."""

from pathlib import Path

import pandas as pd
import pytest

from sketchbench.command.main import main
from sketchbench.report import seal

ROW = {"claim": "X1", "method": "good", "label": "GOOD", "case": "c|d", "verdict": "holds", "expected": "holds"}
ROW |= {"statistic": 1.0, "low": 1.0, "high": 1.0, "bound": 1.0, "code": ""}


def written(folder: Path, name: str, *rows: dict[str, object]) -> str:
    path = folder / f"{name}.csv"
    pd.DataFrame([{**ROW, **row} for row in rows]).to_csv(path, index=False)
    seal.write("claims", "quick", {}, [path])
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Of X1 the verdict differs, of X2 a number; X3 is a surprise, and as before; X4 is of older code."""
    fails: dict[str, object] = {"claim": "X3", "verdict": "fails"}
    old = written(tmp_path, "old", {}, {"claim": "X2", "high": 1.5}, fails, {"claim": "X4"})
    changed: dict[str, object] = {"expected": "any or fails", "verdict": "fails"}
    older: dict[str, object] = {"claim": "X4", "code": "older code"}
    return old, written(tmp_path, "new", {**changed, "expected": "fails"}, {"claim": "X2"}, fails, older)


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
    assert text.startswith("## 4 verdicts, 1 surprises, 0 not run, 1 of older code, 2 changes\n")
    surprises, _, rest = text.partition("### Changed")
    assert "| X3 | GOOD | fails, expected holds (c/d: " in surprises
    assert "X1" not in surprises
    assert "| X1 | good | fails, was holds |" in rest
    assert "| X2 | good | high 1, was 1.5 |" in rest
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
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert [line.split("::")[1] for line in lines] == [
        "error title=X3 GOOD",
        "error title=X1 good",
        "warning title=X2 good",
        "warning title=not current",
    ]


def test_nothing_to_say(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert ended(written(tmp_path, "new", {}), "--summary", str(page)) == 0
    assert "Everything is as expected." in page.read_text()


@pytest.mark.parametrize(("options", "code"), [([], 1), (["--list"], 0)])
def test_a_surprise_that_is_only_listed(
    tmp_path: Path, options: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "new", {"verdict": "fails"})
    assert ended(path, *options) == code
    assert "X1 GOOD: fails, expected holds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("older", "code"),
    [
        ({"low": 0.5, "statistic": 0.9}, 0),  # intervals that overlap
        ({"low": 0.5, "statistic": 0.9, "high": 0.99}, 1),
        ({"low": 1.01, "statistic": 1.1, "high": 1.2}, 1),
        ({"bound": 1.1}, 1),
        ({"verdict": "inconclusive"}, 1),
        ({"claim": "X2"}, 1),
    ],
)
def test_what_another_processor_may_change(tmp_path: Path, older: dict[str, object], code: int) -> None:
    """Numbers, so long as they may be those of the same quantity; not a verdict, a bound or a row."""
    old, new = written(tmp_path, "old", older), written(tmp_path, "new", {})
    assert ended(new, "--against", old) == 1
    assert ended(new, "--against", old, "--other-processor") == code


def test_what_has_no_value_is_said_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A claim with one comparison has no case, a claim that was not run no method, a time no number; a method or a
    label may be called None; a computed number's interval has no end."""
    one = {"case": None, "verdict": "fails", "label": "None", "high": float("inf")}
    times = {"claim": "X3", "statistic": None, "bound": None}
    idle = {"claim": "X2", "method": None, "label": None, "verdict": "not run"}
    old = written(tmp_path, "old", {}, times)
    assert ended(written(tmp_path, "new", one, idle, {"claim": "X3"}), "--against", old) == 1
    out = capsys.readouterr().out
    assert "X1 None: fails, expected holds (its only comparison: 1 in [1, ∞], bound 1)" in out
    assert "X2 all methods: only in the newer" in out
    assert "X3 good: statistic 1, was none" in out
    assert "nan" not in out
