"""The pages of the frontier: the answers are those of the table that was measured."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from published import reports as published

from sketchbench.report import seal
from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.frontier.advise import Question, advise
from sketchbench.report.frontier.cells import read
from sketchbench.report.site import frontier
from sketchbench.report.site.page import Page

ROOT = Path(__file__).parents[2]


def made(*scales: ReportedScale) -> dict[str, Page]:
    return {item.path: item for item in frontier.pages(scales, ROOT / "conf") if isinstance(item, Page)}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return read(published() / "frontier.csv")


@pytest.fixture(scope="module")
def measured(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["accuracy"].notna()]


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    return made(ReportedScale("quick", published()))


@pytest.fixture(scope="module")
def text(pages: dict[str, Page]) -> str:
    return pages["frontier.md"].text


def settings(text: str) -> list[dict[str, Any]]:
    (content,) = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', text)
    return json.loads(content)["settings"]  # type: ignore[no-any-return]


def test_the_first_answer_is_the_best_at_a_sixteenth_of_the_bytes_both_ways(text: str, table: pd.DataFrame) -> None:
    d = int(table["d"].iloc[0])
    best = advise(Question(d / 2, d), table).choices.iloc[0]
    (shown,) = re.findall(r'id="answer" role="status">(.*?)</div>', text)
    where = f"<strong>{best['label']}</strong> at 1/{best['compression']:g} of the bytes sent: accuracy"
    assert f"<ol><li>{where} {best['accuracy']:.3f}" in shown
    assert f"{best['bytes_up']:,.0f} bytes up and {best['bytes_down']:,.0f} down" in shown
    assert "Measured on digits (a toy), 3,760 parameters" in shown


def test_answers_are_those_of_advise(text: str, table: pd.DataFrame, measured: pd.DataFrame) -> None:
    """In every setting, whatever the budget."""
    d = int(table["d"].iloc[0])
    every = {(one["case"], one["epsilon"]): one["answers"] for one in settings(text)}
    assert len(every) == len(measured[["case", "epsilon", "d"]].drop_duplicates())
    for part in (1, 3, 10, 30):
        chosen = advise(Question(8 * d / part, d), table).choices
        answer = [one for one in every["iid", "none"] if one["share"] <= 1 / part][-1]
        assert re.findall("<strong>(.*?)</strong>", answer["text"]) == list(chosen["label"])


def test_every_decision_leads_to_its_claim(text: str) -> None:
    for claim in ("F1", "F3", "F15"):
        assert f'href="claims/{claim}.html"' in text


def test_a_data_set_has_a_page_that_says_where_it_is_a_toy(pages: dict[str, Page]) -> None:
    assert list(pages) == ["frontier.md", "frontier-digits.md"]
    assert "(frontier-digits.md)" in pages["frontier.md"].text
    page = pages["frontier-digits.md"]
    assert page.title == "Compressors on digits, a toy"
    assert 'id="budget-16"' in page.text
    for name in ("frontier", "frontier_leakage", "rounds_until_visible"):
        assert f'id="{name}-quick"' in page.text


def test_what_is_not_offered_stands_with_its_reason_once_for_each_budget(
    pages: dict[str, Page], table: pd.DataFrame
) -> None:
    (part,) = re.findall("## Not offered.*", pages["frontier-digits.md"].text, re.DOTALL)
    rows = table[table["refused"].notna()]
    assert part.count("takes any budget, and compresses nothing where all bytes may be sent") == 1
    for budget, own in rows.groupby("compression"):
        (line,) = re.findall(rf"<tr><td>1/{budget:g} of the bytes sent</td>(.*?)</tr>", part)
        assert all(label in line for label in own["label"])
        assert own["label"].nunique() >= line.count("<li>") > 0


def test_two_scales_have_their_pages_and_the_real_one_answers_first(tmp_path: Path, measured: pd.DataFrame) -> None:
    path = tmp_path / "frontier.csv"
    larger = measured[measured["epsilon"].isna()].assign(d=199_210, data="MNIST")
    larger.to_csv(path, index=False)
    seal.write("frontier", "paper", {}, [path])
    both = made(ReportedScale("quick", published()), ReportedScale("paper", tmp_path))
    assert list(both) == ["frontier.md", "frontier-digits.md", "frontier-mnist.md"]
    assert both["frontier-mnist.md"].title == "Compressors on MNIST"
    assert "199,210 parameters" in both["frontier-mnist.md"].text
    assert "Measured on MNIST, 199,210 parameters" in both["frontier.md"].text.split("## Data sets")[0]
    assert {one["d"] for one in settings(both["frontier.md"].text)} == {3760, 199_210}
