"""Advice keeps to what was measured, and says how it read the question."""

from pathlib import Path

import made_up
import pytest

from sketchbench.command.main import main
from sketchbench.report import seal
from sketchbench.report.frontier import advise
from sketchbench.report.frontier.advise import AdviceError, Question
from sketchbench.report.frontier.cells import cells

FRONTIER = cells(made_up.tables())


def methods(question: Question) -> list[tuple[str, float]]:
    measured = advise.advise(question, FRONTIER).measured
    return list(zip(measured["method"], measured["compression"], strict=True))


def test_the_budget_is_the_largest_measured_one_that_fits() -> None:
    assert methods(Question(1000, made_up.D)) == [("top_k", 16), ("srht", 16)]  # 1/15 of all bytes
    assert methods(Question(940, made_up.D)) == [("top_k", 16), ("srht", 16)]
    assert methods(Question(939, made_up.D)) == [("top_k", 64), ("srht", 64)]
    assert methods(Question(4 * made_up.D, made_up.D))[0] == ("none", 1)


def test_privacy_is_the_strongest_measured_one_that_is_needed() -> None:
    found = advise.advise(Question(1000, made_up.D, epsilon=3.0), FRONTIER).measured
    assert set(found["epsilon"]) == {1.0}


def test_sums_leave_out_what_does_not_add_up() -> None:
    assert methods(Question(1000, made_up.D, sums=True)) == [("srht", 16)]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (Question(10, made_up.D), "the least that was measured is 1/64: at least 235 bytes"),
        (Question(1000, made_up.D, epsilon=0.5), "epsilon=0.5 is below 1"),
        (Question(1000, made_up.D, epsilon=8.0, case="one class"), "privacy was not measured for clients like these"),
        (Question(1e6, 10**7), "add --any-size"),
    ],
)
def test_it_does_not_go_beyond_what_was_measured(question: Question, said: str) -> None:
    frontier = FRONTIER[FRONTIER["epsilon"].isna() | (FRONTIER["case"] == "iid")]
    with pytest.raises(AdviceError, match=said):
        advise.advise(question, frontier)


def test_the_command_prints_what_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "frontier.csv"
    FRONTIER.to_csv(path, index=False)
    seal.write("frontier", "quick", {}, [path])
    main(["advise", "--bytes", "1000000", "--parameters", "10000000", "--any-size", "--frontier", str(path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1e+06 bytes are 1/40 of an update in float32."
    assert lines[-2].startswith("Top_K")
    assert "0.875 to 0.885" in lines[-2]
