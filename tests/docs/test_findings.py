"""The three findings of the README are those of the verdicts in the repository."""

import re

import pandas as pd
import pytest
from prose import ROOT

FINDINGS = {  # by claim: the verdict that the text follows from, and the trials that it names
    "S19-printed": ("fails", None),
    "S19-bound": ("holds", None),
    "Z11-server": ("fails", 24),
    "Z11-client": ("fails", 24),
    "Z11-estimates": ("holds", None),
    "F3": ("holds", None),
    "F1": ("fails", None),
}


@pytest.mark.parametrize("claim", FINDINGS)
def test_a_finding(claim: str) -> None:
    verdict, trials = FINDINGS[claim]
    verdicts = pd.read_csv(ROOT / "reports" / "claims.csv")
    rows = verdicts[verdicts["claim"] == claim]
    assert set(rows["verdict"]) == {verdict}
    assert trials is None or set(rows["trials"]) == {trials}
    assert trials is None or set(rows["statistic"]) == {1}  # the share of trials in which it succeeds


def test_the_readme_names_these_and_no_others() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    told = text.partition("## Three findings")[2].partition("\n![")[0]
    assert set(re.findall(r"\b[CFKSTZ]\d+(?:-\w+)?\b", told)) == FINDINGS.keys()
