"""`sketchbench show`: a claim's evidence in the terminal."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from sketchbench.base.project import PROJECT
from sketchbench.command.main import main
from sketchbench.command.show import draw_interval
from sketchbench.report import seal
from sketchbench.report.table import origin

ROW = {"claim": "S2", "method": "srht", "label": "SRHT", "case": "flat, d=640, b=16", "study": "moments"}
ROW |= {"verdict": "holds", "predicted": "holds", "statistic": 1.5, "low": 1.25, "high": 1.75, "bound": 2.0}
ROW |= {"flips": 0.125, "slack": 0.125, "tightness": 1.3, "trials": 4000, "code": "older code"}
ROW |= {"negative_control": "uniform_sampling", "negative_control_verdict": "fails"}
ROW |= {"loosest": 24.0, "missing": "b=4, b=8", "negative_control_rejected": "2 of 30"}
ROW |= {"negative_control_statistic": 624.0, "criterion": "upper_bound", "role": "printed"}


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return reports_in(tmp_path / "reports")


def reports_in(place: Path, scale: str = "quick") -> Path:
    rows = [ROW, {**ROW, "method": "ams", "label": "AMS", "verdict": "fails"}]
    table = place / "tables" / "moments.csv"
    table.parent.mkdir(parents=True)
    pd.DataFrame(rows).to_csv(place / "claims.csv", index=False)
    pd.DataFrame([{**ROW, "claim": "T17-time", "predicted": "any", "negative_control_bound": None}]).to_csv(
        place / "times.csv", index=False
    )
    seal.write("claims", scale, {}, [place / "claims.csv"])
    table.write_text("method\nsrht\n")
    settings = {"seed": "7", "kernels": "numba"}
    seal.write("table", scale, {}, [table], settings=settings)
    origin.write(table, scale, [("srht", {"commit": "0123456789ab", "machine": "Linux"})])
    return place


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["show", *arguments])
    return capsys.readouterr().out


@pytest.mark.usefixtures("reports")
def test_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    said = shown(capsys, "S2", "srht", "--all")
    for words in (
        "S2: song2023, Lemmas D.12-D.16, Table 1 (printed)",
        "E[(gᵀRᵀRh)²] ≤",
        "Measured: mean over the trials: ",
        "holds if the interval lies below the bound.",
        "quick  SRHT  holds; predicted: holds, on 2026-11-21\n",
        "statistic 1.5 in [1.25, 1.75], bound 2, slack 0.125, tightness 1.3, loosest 24, 4,000 trials",
        "decided by: flat, d=640, b=16 (study moments)",
        "another seed gives another verdict with a chance of 12.5%, at the shares measured",
        "not measured, though the claim names it: b=4, b=8",
        "negative control: uniform_sampling: fails (624), in 2 of 30 comparisons",
        "made by: 0123456789ab; older code",
        "with: moments: ",
        "seed 7; arithmetic not known; machine Linux",
        "sketchbench results --scale quick --studies embedding,embedding_controls,moments --seed 7 --kernels numba\n",
        "sketchbench run task=moments sketch=srht scale=quick",
        "d=640 b=16 seed=7 kernels=numba\n",
    ):
        assert words in said, said
    assert draw_interval(1.5, 1.25, 1.75, 2.0) in said
    assert "AMS" not in said


@pytest.mark.usefixtures("reports")
def test_the_answer_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    """In a sentence; then the statement, the number line, the control and a command, and no commits or selections."""
    said = shown(capsys, "S2", "srht")
    answer, _, rest = said.partition("\n\n")
    assert " ".join(answer.split()) == (
        "At the scale quick S2 holds for SRHT: the mean measured is 1.5, the claim allows 2; the negative control"
        " (Uniform sampling) has 624 and is rejected."
    )
    order = ["S2: song2023", "●", "negative control: uniform_sampling", "sketchbench run task=moments", "Measured: "]
    assert [rest.index(words) for words in order] == sorted(rest.index(words) for words in order)
    for words in ("made by", "with: ", "comparisons", "sketchbench results", "0123456789ab"):
        assert words not in said


@pytest.mark.usefixtures("reports")
def test_all_methods(capsys: pytest.CaptureFixture[str]) -> None:
    said = shown(capsys, "S2")
    assert "SRHT  holds; predicted: holds, on 2026-11-21\n" in said
    assert "AMS   fails; predicted: holds, on 2026-11-21\n" in said
    assert "again:" not in said


@pytest.mark.usefixtures("reports")
def test_a_claim_on_times(capsys: pytest.CaptureFixture[str]) -> None:
    said = shown(capsys, "T17-time", "srht")
    assert "statistic 1.5 in [1.25, 1.75]" in said
    assert "holds; a time, without a prediction\n" in said


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["S2222"], "claim=S2222 is unknown"),
        (["S2", "srth"], "did you mean srht?"),
        (["T17tme"], "did you mean T17-time?"),
    ],
)
def test_what_is_unknown(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=words.replace("?", r"\?")):
        shown(capsys, *arguments)
    assert capsys.readouterr().out == ""


def test_a_folder_of_ones_own(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports_in(reports.parent / "mine" / "reports" / "paper", "paper")
    said = shown(capsys, "S2", "srht", "--folder", "mine", "--all")
    assert "paper  SRHT  holds; predicted: holds, on 2026-11-21\n" in said
    assert "quick" not in said
    assert "--scale paper --studies embedding,embedding_controls,moments --folder mine --only mine --seed 7" in said
    assert "sketch=srht scale=paper" in said
    assert " seed=7 kernels=numba --folder mine\n" in said


@pytest.mark.usefixtures("reports")
def test_no_reports_of_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        SystemExit, match=r"mine/reports/quick/claims\.csv does not exist; run .* --folder mine --only mine"
    ):
        shown(capsys, "S2", "--folder", "mine")


def test_both_scales_and_one(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports_in(reports / "paper", "paper")
    assert [shown(capsys, "S2").count(f"{scale}  SRHT") for scale in ("quick", "paper")] == [1, 1]
    assert "quick  SRHT" not in shown(capsys, "S2", "--scale", "paper")


@pytest.mark.parametrize(
    ("numbers", "signs"),
    [
        ((1.5, 1.0, 2.0, 3.0), "├●┤┃"),
        ((3.0, 2.0, 4.0, 1.0), "┃├●┤"),
        ((1.0, 1.0, 1.0, 2.0), "●┃"),
        ((1.0, 1.0, float("inf"), 2.0), "●┃"),
        ((1.0, 1.0, 1.0, 1.0), "●"),
    ],
)
def test_the_drawing(numbers: tuple[float, float, float, float], signs: str) -> None:
    line = draw_interval(*numbers)
    assert line.replace(" ", "").replace("─", "") == signs
    assert len(line) <= 48


def test_places_are_proportional() -> None:
    line = draw_interval(1.0, 0.0, 2.0, 4.0)
    assert [line.index(sign) for sign in "├●┤┃"] == [0, 12, 24, 47]


@pytest.mark.parametrize("name", ["s2", " S2", "S-2"])
def test_a_name_in_another_case(name: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["show", name])
    assert stop.value.code == f"sketchbench: error: claim={name} is unknown; did you mean S2?"


def test_show_computes_nothing() -> None:
    """It reads verdicts, and imports nothing that decides them, which would take longer than the rest."""
    code = "import sys; from sketchbench.command.main import main; main(['show', 'S2']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert not set(done.stdout.splitlines()[-1].split()) & {"scipy", "hydra", "torch", "numba", "matplotlib"}
