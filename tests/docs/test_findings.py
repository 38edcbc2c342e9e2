"""The findings of docs/findings.md follow from the published verdicts, and the README has their sentences."""

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from all_claims import CLAIMS
from prose import ROOT
from published import reports as published

from sketchbench.attack.stacked_inversion import CLASS_MEAN, Kind
from sketchbench.report.site.findings import Finding, contradictions, read_findings

FINDINGS = read_findings(ROOT / "docs" / "findings.md", CLAIMS.values())
README = (ROOT / "README.md").read_text(encoding="utf-8")
COLUMNS = ("holds", "holds, not sharp", "fails")  # of README's table; the last column has all other verdicts


@pytest.fixture(scope="module")
def verdicts() -> pd.DataFrame:
    return pd.read_csv(published() / "claims.csv")


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.anchor)
def test_the_verdicts_support_it(finding: Finding, verdicts: pd.DataFrame) -> None:
    assert contradictions(finding, verdicts) == []
    assert set(verdicts["claim"][verdicts["verdict"] != "not run"]) >= {support.claim for support in finding.claims}


def test_the_readme_has_every_sentence() -> None:
    text = " ".join(README.split())
    missing = [one.sentence for one in FINDINGS if f"[{one.sentence}](docs/findings.md#{one.anchor})" not in text]
    assert missing == []
    assert [one.heading.partition(".")[0] for one in FINDINGS] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("paper", ["song2023", "zhang2021", "tang2021"])
def test_the_readme_counts_the_verdicts_on_printed_claims(paper: str, verdicts: pd.DataFrame) -> None:
    own = verdicts[(verdicts["paper"] == paper) & (verdicts["role"] == "printed")]
    counts = [int((own["verdict"] == word).sum()) for word in COLUMNS]
    row = " | ".join(map(str, [own["claim"].nunique(), *counts, len(own) - sum(counts)]))
    (line,) = re.findall(rf"^\| `{paper}`.*$", README, re.MULTILINE)
    assert line.endswith(f"* | {row} |"), f"README's row of {paper} needs: {row}"


def test_the_page_of_attacks_has_all_that_are_tried() -> None:
    page = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    assert [kind for kind in get_args(Kind) if kind != CLASS_MEAN and f"| {kind} |" not in page] == []


def test_the_limits_that_a_finding_names_at_the_size_of_mnist() -> None:
    """Its numbers are compared in test_prose_numbers.py."""
    table = pd.read_csv(published() / "paper" / "frontier.csv")
    table = table[(table["case"] == "iid") & (table["d"] == 199210) & table["epsilon"].isna() & table["refused"].isna()]
    loss = table[table["data"] == "MNIST"].set_index(["method", "compression"])["loss"]
    assert loss["eden", 256] < 0.0005
    assert max(loss["srht", 64], loss["count_sketch", 64]) < 0.01


def test_another_verdict_contradicts(verdicts: pd.DataFrame) -> None:
    finding = FINDINGS[0]
    claim = finding.claims[0].claim
    other = verdicts.assign(verdict=verdicts["verdict"].where(verdicts["claim"] != claim, "holds"))
    assert contradictions(finding, other) == [f"{claim}: holds, not fails"]
    assert contradictions(finding, verdicts[verdicts["claim"] != claim]) == []
    support = replace(finding.claims[0], trials=3, statistic=2.0)
    named = contradictions(replace(finding, claims=(support,)), verdicts)
    assert named == [f"{claim}: not 3 trials", f"{claim}: not 2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("**A.**\n\n- *Claims.* S99 (holds).", "claim=S99 is unknown"),
        ("**A.**\n\n- *Claims.* S2 (hold).", "did you mean holds"),
        ("**A.**\n\n- *Claims.* None.", "'1. B' needs a bold sentence, and"),
        ("A.\n\n- *Claims.* S2 (holds).", "'1. B' needs a bold sentence, and"),
    ],
)
def test_a_section_that_is_no_finding_is_refused(tmp_path: Path, text: str, message: str) -> None:
    page = tmp_path / "findings.md"
    page.write_text(f"# Findings\n\n## 1. B\n\n{text}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_findings(page, CLAIMS.values())


def test_numbers_of_a_claim_are_read(tmp_path: Path) -> None:
    page = tmp_path / "findings.md"
    page.write_text("## 1. B\n**A.**\n\n- *Claims.* S2 (holds, not sharp; 24\n  trials; 0.5).\n", encoding="utf-8")
    ((support,),) = ((*one.claims,) for one in read_findings(page, CLAIMS.values()))
    assert (support.verdict, support.trials, support.statistic) == ("holds, not sharp", 24, 0.5)
