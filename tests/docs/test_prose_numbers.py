"""Every number of a reason, README and the pages is of a row of a table, or marked as a setting or as measured once."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import prose_numbers
import pytest
from prose_numbers import (
    NUMBER,
    NumberError,
    Prose,
    agrees,
    differing,
    fill,
    references,
    spaced,
    texts,
    unmarked,
    value,
)
from published import reports

TEXTS = {text.name: text for text in texts()}
MARKS = ("settings", "once")


def test_every_number_is_marked() -> None:
    left = {name: numbers for name, text in TEXTS.items() if (numbers := unmarked(text, reports()))}
    assert left == {}, "say in tests/docs/numbers.yaml of which row these numbers are, or that they are settings"


def test_every_number_is_that_of_its_row() -> None:
    wrong = [
        f"{name}: {phrase}, not {row:.6g}" for name in TEXTS for phrase, _, row in differing(TEXTS[name], reports())
    ]
    assert wrong == [], "`python tests/docs/prose_numbers.py --fill` writes the numbers of the rows"


def test_every_mark_is_of_a_number_that_is_there() -> None:
    assert references().keys() - TEXTS.keys() == {"awaited"}
    for name, own in references().items():
        for phrase in own if name != "awaited" else ():
            words = TEXTS[name].words
            wanted = own[phrase].split() if phrase in MARKS else [phrase]
            assert [one for one in wanted if not re.search(spaced(one), words)] == [], name
            assert phrase in MARKS or len(NUMBER.findall(phrase)) == 1, (name, phrase)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Prose]:
    """A reason with numbers of two tables, at two scales."""
    for folder, means in (("", [0.25, 0.126]), ("paper", [0.5, 0.75])):
        (tmp_path / folder / "tables").mkdir(parents=True)
        rows = {"method": ["a", "b"], "quantity": "loss", "case": "d = 2", "n": 8, "trials": 20, "mean": means}
        pd.DataFrame(rows).to_csv(tmp_path / folder / "tables" / "made.csv", index=False)
        verdicts = {"claim": ["S2"], "method": "a", "study": "made", "trials": 24, "statistic": 1250.0}
        pd.DataFrame(verdicts).to_csv(tmp_path / folder / "claims.csv", index=False)
    text = "reason: >-\n  Of 24 it loses 13\n  %, at n = 9 of 7 and d/4; see S3-x\n  and Table 1. 25 % of b."
    (tmp_path / "S2.yaml").write_text(text, encoding="utf-8")
    marks = "awaited: other\nS1:\n  13 %: made a 100*mean\nS2:\n  13 %: made b 100*mean\n  25 % of b: made a 100*mean\n"
    (tmp_path / "numbers.yaml").write_text(marks, encoding="utf-8")
    monkeypatch.setattr(prose_numbers, "MAP", tmp_path / "numbers.yaml")
    references.cache_clear()
    yield Prose("S2", tmp_path / "S2.yaml", len("reason: "), len(text), "S2")
    references.cache_clear()


def test_a_number_without_a_mark_is_found(made: Prose, tmp_path: Path) -> None:
    """But for those of names, settings and shares, of the trials, and of the claim's statement."""
    assert unmarked(made, tmp_path) == ["7"]
    assert unmarked(replace(made, settings="all 7 of them"), tmp_path) == []


def test_a_reference_selects_rows_and_joins_them(made: Prose, tmp_path: Path) -> None:
    def of(reference: str) -> list[float]:
        return value(reference, made, tmp_path)

    assert of("made loss mean") == [0.25, 0.126]
    assert of("made method=a|b 'd = 2' n=8 max mean*trials") == [5.0]
    assert of("2 * made@paper a mean - made a mean") == [0.75]
    assert of("claims statistic / made b trials") == [62.5]
    assert of("claims claim=S2 trials") == [24]
    for reference in ("made c mean", "made n=9 mean", "claims claim=S3 trials"):
        with pytest.raises(NumberError, match=reference):
            of(reference)


def test_a_stale_number_is_found_and_filled_in(made: Prose, tmp_path: Path) -> None:
    assert differing(made, tmp_path) == []
    table = tmp_path / "tables" / "made.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("0.126", "0.5"), encoding="utf-8")
    prose_numbers.table.cache_clear()
    assert differing(made, tmp_path) == [("13 %", "13", 50.0)]
    fill(made, tmp_path)
    references.cache_clear()
    assert "it loses 50 %, at n" in made.path.read_text(encoding="utf-8")
    assert references()["S2"] == {"50 %": "made b 100*mean", "25 % of b": "made a 100*mean"}
    assert "13 %" in references()["S1"]
    assert differing(made, tmp_path) == []


def test_a_table_that_is_measured_again_is_not_compared(made: Prose, tmp_path: Path) -> None:
    marks = prose_numbers.MAP.read_text(encoding="utf-8")
    marks = marks.replace("b 100", "a 100").replace("other", "made")
    prose_numbers.MAP.write_text(marks, encoding="utf-8")
    references.cache_clear()
    assert differing(made, tmp_path) == [("13 %", "13", 25.0)]
    assert differing(replace(made, scale="paper"), tmp_path) == []


@pytest.mark.parametrize(
    ("told", "number", "same"),
    [
        ("0.12", 0.1249, True),
        ("0.12", 0.1251, False),
        ("-0.2", -0.169, True),
        ("12,000", 12_400.0, True),
        ("12,000", 12_600.0, False),
        ("40", 43.0, False),
        ("100", 103.0, True),
        ("6e12", 6.3e12, True),
        ("1e-5", 1.6e-5, False),
        ("1", float("nan"), False),
    ],
)
def test_a_number_is_compared_at_its_last_digit(told: str, number: float, same: bool) -> None:
    assert agrees(told, number) == same
