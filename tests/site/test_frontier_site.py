"""The page of the frontier: the answers are those of the table that was measured."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sketchbench.report.evidence.outcomes import Scale
from sketchbench.site import frontier
from sketchbench.site.page import Page

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def text() -> str:
    made = frontier.pages([Scale("quick", ROOT / "reports")], ROOT / "conf")
    (page,) = (item for item in made if isinstance(item, Page))
    return page.text


def answers(text: str) -> list[dict[str, Any]]:
    (content,) = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', text)
    return json.loads(content)["answers"]  # type: ignore[no-any-return]


def test_the_first_answer_is_the_best_at_a_sixteenth_of_the_bytes(text: str) -> None:
    table = pd.read_csv(ROOT / "reports" / "frontier.csv")
    rows = table[(table["compression"] == 16) & (table["case"] == "iid") & table["epsilon"].isna()]
    best = rows.sort_values("accuracy", ascending=False).iloc[0]
    (shown,) = re.findall(r'id="answer" role="status">(.*?)</div>', text)
    assert f"<strong>{best['label']}</strong>, accuracy {best['accuracy']:.3f}" in shown


def test_there_is_an_answer_for_every_setting_and_budget(text: str) -> None:
    table = pd.read_csv(ROOT / "reports" / "frontier.csv")
    measured = table[table["accuracy"].notna()]
    settings = measured[["case", "epsilon", "d", "compression"]].drop_duplicates()
    assert len(answers(text)) == len(settings)
    assert all(f'id="budget-{budget:g}"' in text for budget in measured["compression"].unique())


def test_every_decision_leads_to_its_claim(text: str) -> None:
    for claim in ("F1", "F3", "F15"):
        assert f'href="claims/{claim}.html"' in text
