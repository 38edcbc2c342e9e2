"""The findings of README and site are those of conf/finding, and follow from the published verdicts."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml
from all_claims import CLAIMS
from prose import ROOT
from published import reports as published

from sketchbench.report.claim.claims import ClaimError
from sketchbench.report.site.findings import Finding, contradictions, read_findings, readme
from sketchbench.run.config.schema import SchemaError

FINDINGS = read_findings((ROOT / "conf" / "finding").glob("*.yaml"), CLAIMS.values())
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def verdicts() -> pd.DataFrame:
    return pd.read_csv(published() / "claims.csv")


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.id)
def test_the_verdicts_support_it(finding: Finding, verdicts: pd.DataFrame) -> None:
    assert contradictions(finding, verdicts) == []
    assert set(verdicts["claim"][verdicts["verdict"] != "not run"]) >= {rest.claim for rest in finding.claims}


def test_the_readme_has_these_findings_word_by_word() -> None:
    section = README.partition("## Findings\n\n")[2].partition("\n\nThe verdicts of the quick run")[0]
    assert section == readme(FINDINGS), f"README needs this text:\n\n{readme(FINDINGS)}"
    assert [finding.rank for finding in FINDINGS] == list(range(1, len(FINDINGS) + 1))


def test_every_picture_is_in_the_repository() -> None:
    paths = re.findall(r"\]\(([^)]*\.(?:png|svg))\)", readme(FINDINGS))
    assert len(paths) == len(FINDINGS)
    assert all((ROOT / path).is_file() for path in paths)


def test_the_bytes_that_a_finding_names() -> None:
    table = pd.read_csv(published() / "frontier.csv")
    table = table[(table["case"] == "iid") & (table["d"] == 3760) & table["refused"].isna()]
    both = (table["bytes_up"] + table["bytes_down"]).groupby([table["method"], table["compression"]]).first()
    (finding,) = (finding for finding in FINDINGS if finding.id == "bytes")
    named = [
        int(text.replace(",", "")) for text in re.findall(r"\b\d+,\d{3}\b", f"{finding.measured} {finding.conditions}")
    ]
    cells = [("none", 1), ("sign", 16), ("eden", 64), ("top_k", 16), ("power_sgd", 4), ("fiht", 4)]
    assert named == [*(int(both[cell]) for cell in cells), 199210, 3760, 668426]


def test_the_losses_that_a_finding_names_at_the_size_of_mnist() -> None:
    table = pd.read_csv(published() / "paper" / "frontier.csv")
    table = table[(table["case"] == "iid") & (table["d"] == 199210) & table["epsilon"].isna() & table["refused"].isna()]
    loss = table[table["data"] == "MNIST"].set_index(["method", "compression"])["loss"]
    (finding,) = (finding for finding in FINDINGS if finding.id == "bytes")
    named = [int(text) for text in re.findall(r"(\d+) %", finding.measured)]
    assert named == [1, round(100 * loss["fetch_sgd", 64]), round(100 * loss["fiht", 64])]
    assert loss["eden", 256] < 0.0005
    assert max(loss["srht", 64], loss["count_sketch", 64]) < 0.01


def test_another_verdict_contradicts(verdicts: pd.DataFrame) -> None:
    finding = FINDINGS[0]
    claim = finding.claims[0].claim
    other = verdicts.assign(verdict=verdicts["verdict"].where(verdicts["claim"] != claim, "holds"))
    assert contradictions(finding, other) == [f"{claim}: holds, not fails"]
    assert contradictions(finding, verdicts[verdicts["claim"] != claim]) == []
    rest = replace(finding.claims[0], trials=3, statistic=2.0)
    named = contradictions(replace(finding, claims=(rest,)), verdicts)
    assert named == [f"{claim}: not 3 trials", f"{claim}: not 2"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": "other"}, "id other must be the file's name"),
        ({"rank": 0}, "0 is less than the minimum of 1"),
        ({"claims": [{"claim": "S99", "verdict": "holds"}]}, "claim=S99 is unknown"),
        ({"claims": [{"claim": "S2", "verdict": "hold"}]}, "did you mean holds"),
        ({"claims": []}, "at claims"),
        ({"sentense": "x"}, "did you mean sentence"),
    ],
)
def test_a_finding_that_is_none(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    content = yaml.safe_load((ROOT / "conf" / "finding" / "bytes.yaml").read_text(encoding="utf-8"))
    path = tmp_path / "bytes.yaml"
    path.write_text(yaml.safe_dump({**content, **changed}), encoding="utf-8")
    with pytest.raises((ClaimError, SchemaError), match=message):
        read_findings([path], CLAIMS.values())
