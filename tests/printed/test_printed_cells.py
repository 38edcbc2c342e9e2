"""When a printed number agrees with a measured one, on made-up tables; and the page and CSV of it."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sketchbench.command.main import main
from sketchbench.measure.row import Row
from sketchbench.report import seal
from sketchbench.report.printed.agreement import judge_single
from sketchbench.report.printed.cells import MEANINGS, join
from sketchbench.report.printed.transcription import PrintedCell, PrintedError, Spread, Tolerance

NARROW = (97.0, 100.0, 103.0)  # the next one lies in 100 ± 4.30 · 3 · √(4/3) = 100 ± 14.9
NONE = Tolerance(0.0, 0.5, "none")
NO_VERDICTS = pd.DataFrame(
    columns=["claim", "role", "method", "verdict", "statistic", "low", "high", "bound", "trials"]
)


def cell(printed: str | None = "100", **changes: Any) -> PrintedCell:
    settings: dict[str, Any] = {"criterion": "draw", "study": "one", "where": {"quantity": "rounds"}, "tolerance": NONE}
    return PrintedCell("zhang2021", "Table 1", "rounds", "MLP", printed, **{**settings, **changes})


def table(*rows: Row) -> dict[str, pd.DataFrame]:
    return {"one": pd.DataFrame([{"method": "srht", "label": "SRHT", **row} for row in rows])}


def verdicts(*found: str, bound: float = 2.0) -> pd.DataFrame:
    numbers = {"statistic": 1.5, "low": 1.4, "high": 1.6, "bound": bound, "trials": 9.0}
    methods = ("srht", "gaussian", "ams")
    rows = [
        {"claim": "S2", "role": "printed", "method": method, "verdict": verdict, **numbers}
        for method, verdict in zip(methods, found, strict=False)
    ]
    return pd.DataFrame(rows)


def judged(one: PrintedCell, *rows: Row, found: pd.DataFrame = NO_VERDICTS, scale: str = "paper") -> dict[Any, Any]:
    (only,) = join([one], table(*rows) if rows else {}, found, scale).to_dict("records")
    return only


def test_inside_and_outside() -> None:
    rounds = Row("rounds").mean(NARROW)
    assert judged(cell("100"), rounds)["agrees"] == "agrees"
    assert judged(cell("114"), rounds)["agrees"] == "agrees"
    assert judged(cell("120"), rounds)["agrees"] == "differs"
    assert judged(cell("80"), rounds)["agrees"] == "differs"
    row = judged(cell("114"), rounds)
    assert (row["measured"], row["trials"]) == (100.0, 3)
    assert row["high"] - row["measured"] == pytest.approx(4.302653 * 3 * math.sqrt(4 / 3), rel=1e-6)
    assert row["command"] == "sketchbench results --scale paper --studies one"


def test_more_draws_and_more_trials_tell_more() -> None:
    assert judged(cell("112"), Row("rounds").mean(NARROW))["agrees"] == "agrees"
    assert judged(cell("112", draws=50), Row("rounds").mean(NARROW))["agrees"] == "differs"
    assert judged(cell("112"), Row("rounds").mean(np.tile(NARROW, 10)))["agrees"] == "differs"


def test_rounding_and_what_is_granted_widen() -> None:
    rounds = Row("rounds").mean(NARROW)  # normal: up to 114.9; log-normal: up to 116.1
    granted = Tolerance(2.0, 0.5, "two more")
    assert judged(cell("118.1"), rounds)["agrees"] == "differs"
    assert judged(cell("116.5", tolerance=granted), rounds)["agrees"] == "agrees"
    assert judged(cell("115", draws=1), rounds)["agrees"] == "agrees"  # 115 may have been 114.6
    assert judged(cell("115.0", draws=1), rounds)["agrees"] == "open"  # only if draws are log-normal


def test_an_interval_that_is_too_wide_says_nothing() -> None:
    rounds = Row("rounds").mean([60.0, 100.0, 140.0])
    row = judged(cell("100"), rounds)
    assert row["agrees"] == "open"
    assert "too wide" in row["reason"]
    assert judged(cell("100000"), rounds)["agrees"] == "differs"


def test_a_draw_of_the_same_distribution_seldom_differs() -> None:
    random = np.random.default_rng(1)
    values = random.normal(1000, 10, size=(400, 4))
    cells = [judged(cell(f"{one[0]:.3f}"), Row("rounds").mean(one[1:])) for one in values]
    differing = sum(row["agrees"] == "differs" for row in cells)
    assert 4 <= differing <= 38  # 20 in the mean of 400 at 5 %; 4 standard deviations either way


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([Row("rounds").mean([100.0])], "fewer than 2 trials"),
        ([Row("rounds").mean([100.0, 100.0])], "all 2 trials gave the same"),
        (
            [Row("rounds").without_number("unfinished", "700 rounds were not enough", trials=3)],
            "700 rounds were not enough",
        ),
        ([Row("rounds", case="plain").mean(NARROW)], "no row of quantity=rounds, case=sketched"),
    ],
)
def test_what_was_not_measured_is_open(rows: list[Row], reason: str) -> None:
    where = {"quantity": "rounds", **({"case": "sketched"} if "case" in rows[0] else {})}
    row = judged(cell(where=where), *rows)
    assert row["agrees"] == "open"
    assert reason in row["reason"]


def test_without_a_table_or_at_another_size_it_is_open() -> None:
    assert judged(cell())["reason"] == "study one has no table here"
    rounds = Row("rounds").mean(NARROW)
    row = judged(cell(), rounds, scale="quick")
    assert (row["agrees"], row["reason"]) == (
        "open",
        "measured at the quick scale, but the cell is of the papers' size",
    )
    assert math.isnan(row["measured"])
    assert judged(cell(size="any"), rounds, scale="quick")["agrees"] == "agrees"


def test_what_older_code_measured_is_called_so() -> None:
    rounds = table(Row("rounds").mean(NARROW))
    for older, said in ((["one"], True), (["two"], False)):
        (reason,) = join([cell()], rounds, NO_VERDICTS, "paper", older)["reason"]
        assert ("older code" in reason) == said


SPREAD = Spread("one", {"quantity": "other"}, "none")


def single(printed: str, *others: list[float]) -> dict[Any, Any]:
    lenders = [Row("other", case=str(i)).mean(values) for i, values in enumerate(others)]
    return judged(cell(printed, spread=SPREAD), Row("rounds").mean([100.0]), *lenders)


def test_a_single_trial_borrows_the_largest_spread() -> None:
    """25 trials of variation 0.1: at most 0.1 √(24/12.4) = 0.139, so within exp(± 2.24 · 0.139 √2) = exp(± 0.44)."""
    unit = np.linspace(-1, 1, 25) / np.linspace(-1, 1, 25).std(ddof=1)
    steady, varied = [*(40 + unit)], [*(400 + 40 * unit)]
    row = single("100", steady, varied, [7.0])
    assert (row["low"], row["high"], row["trials"]) == (pytest.approx(64.4, abs=0.3), pytest.approx(155.3, abs=0.7), 1)
    assert "most variable of 2 other rows" in row["reason"]
    assert [single(number, steady, varied)["agrees"] for number in ("63", "66", "154", "157")] == [
        "differs",
        "open",  # the interval is more than half as wide as the number
        "agrees",
        "differs",
    ]
    assert single("100", [7.0])["agrees"] == "open"


def test_a_single_trial_of_the_same_spread_seldom_differs() -> None:
    """Of 2,000 at most ERROR differ; the probability of more than 140, P(Bin(2000, 0.05) > 140), is below 1e-4."""
    random, differing = np.random.default_rng(5), 0
    for _ in range(2000):
        printed, own = np.exp(0.15 * random.standard_normal(2))
        lenders = [Row("other").mean(np.exp(sd * random.standard_normal(25))) for sd in (0.15, 0.07)]
        outcome = judge_single(cell(f"{100 * printed:.3f}"), Row("rounds").mean([100 * own]), lenders)
        differing += outcome.agrees == "differs"
    assert 0 < differing <= 140


def test_digits() -> None:
    sent = {"criterion": "digits", "column": "bytes_up", "where": {"quantity": "loss", "case": "plain"}}
    over = {"quantity": "loss", "case": "sketched"}
    rows = [Row("loss", case=case, bytes_up=count) for case, count in (("plain", 16384), ("sketched", 5000))]
    assert judged(cell("3.28", over=over, **sent), *rows)["agrees"] == "agrees"
    assert judged(cell("3.27", over=over, **sent), *rows)["agrees"] == "differs"
    assert judged(cell("16384", **sent), *rows)["agrees"] == "agrees"
    assert judged(cell("16385", **sent), *rows)["agrees"] == "differs"


def test_a_figure_without_a_number_is_unprinted_beside_what_was_measured() -> None:
    row = judged(cell(None, criterion="open", reason="read off a figure"), Row("rounds").mean(NARROW))
    assert (row["agrees"], row["measured"], row["reason"]) == ("unprinted", 100.0, "read off a figure")


def test_the_last_round_that_there_is() -> None:
    curve = [Row("loss", case=case, round=t).mean([t + 1.0]) for case in ("plain", "sketched") for t in (0, 20, 60)]
    last = {"quantity": "loss", "case": "plain", "round": "last"}
    figure = cell(None, criterion="open", reason="read off a figure", where=last)
    row = judged(figure, *curve[:3], Row("loss", case="sketched", round=80).mean([1.0]))
    assert (row["agrees"], row["measured"]) == ("unprinted", 61.0)
    assert row["reason"] == "read off a figure; measured after round 60"
    row = judged(figure, Row("loss", case="plain").mean([1.0]))  # of no round
    assert "no row of quantity=loss, case=plain, round=last" in row["reason"]


@pytest.mark.parametrize(
    ("found", "agrees"),
    [
        (("holds", "holds"), "agrees"),
        (("holds", "fails"), "differs"),
        (("inconclusive", "fails"), "differs"),
        (("holds", "vacuous"), "open"),
        (("holds", "does not transfer"), "open"),
        (("holds", "not run"), "open"),
        (("void",), "open"),
    ],
)
def test_words_follow_their_claim(found: tuple[str, ...], agrees: str) -> None:
    said = cell("is better", criterion="claim", claim="S2", where={})
    rounds = Row("rounds").mean(NARROW)
    assert judged(said, rounds, found=verdicts(*found))["agrees"] == agrees
    stand_in = cell("is better", criterion="claim", claim="S2", where={}, stand_in=True)
    words = {"open": "open"}.get(agrees, f"{agrees} on a stand-in")
    assert judged(stand_in, rounds, found=verdicts(*found))["agrees"] == words
    first = cell("is better", criterion="claim", claim="S2", method="srht", where={})
    assert (judged(first, rounds, found=verdicts(*found))["agrees"] == "agrees") == (found[0] == "holds")


def test_a_bound_is_that_of_its_claim() -> None:
    bound = cell("2", criterion="bound", claim="S2", method="srht", where={})
    rounds = Row("rounds").mean(NARROW)
    row = judged(bound, rounds, found=verdicts("holds"))
    assert (row["agrees"], row["measured"], row["trials"]) == ("agrees", 1.5, 9)
    row = judged(bound, rounds, found=verdicts("holds", bound=3.0))
    assert row["agrees"] == "open"
    assert "not the printed 2" in row["reason"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"where": {"quantity": "round"}}, "Table 1: MLP: quantity=round is unknown.*did you mean rounds"),
        ({"claim": "S2y", "criterion": "claim"}, "claim=S2y is unknown.*did you mean S2"),
        ({}, "selects 2 rows; name more columns"),
    ],
)
def test_what_can_not_be_joined_is_refused(changes: dict[str, Any], told: str) -> None:
    rows = [Row("rounds", case=case).mean(NARROW) for case in ("plain", "sketched")]
    with pytest.raises(PrintedError, match=told):
        judged(cell(**changes), *rows, found=verdicts("holds"))


def test_the_program_writes_the_cells(tmp_path: Path) -> None:
    tables = tmp_path / "embedding.csv"
    table(Row("embedding_constant").mean(NARROW))["one"].to_csv(tables, index=False)
    seal.write("table", "quick", {}, [tables])
    verdicts("holds", "holds", "holds").to_csv(tmp_path / "claims.csv", index=False)
    seal.write("claims", "quick", {}, [tmp_path / "claims.csv"])
    printed = tmp_path / "printed.yaml"
    printed.write_text(
        "{paper: song2023, place: Table 1, about: x, cells: [{cell: SRHT, printed: '2', criterion: bound, size: any,"
        " study: embedding, claim: S2, method: srht}]}"
    )
    arguments = ["step", "printed", str(tables), "--printed", str(printed.parent), "--scale", "quick"]
    main([*arguments, "--verdicts", str(tmp_path / "claims.csv"), "--csv", str(tmp_path / "out.csv")])
    (row,) = pd.read_csv(tmp_path / "out.csv").to_dict("records")
    assert list(row) == list(MEANINGS)
    assert (row["cell"], row["printed"], row["agrees"]) == ("SRHT", 2, "agrees")
