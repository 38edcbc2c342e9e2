"""The claims of conf/claim on the published tables: nothing reads `holds` that could not have failed."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from all_claims import CLAIMS
from published import reports as published

from sketchbench.measure.column import Column
from sketchbench.report.claim.check import read_verdicts
from sketchbench.report.claim.claims import Claim, Prediction
from sketchbench.report.claim.control import KINDS
from sketchbench.report.claim.evaluate import evaluate
from sketchbench.run.config.chapters import named

ROOT = Path(__file__).parents[2]
CONTROLS = ["S14", "S16-gossip", "S21-small", "S22-halved", "S22-noiseless", "S23-network", "S29-weak"]
CONTROLS += ["S33-largest", "T6-starved"]


def read(study: str) -> pd.DataFrame:
    return pd.read_csv(published() / "tables" / f"{study}.csv")


def reported(claims: list[Claim], **replaced: pd.DataFrame) -> pd.DataFrame:
    studies = {study for claim in claims for study in claim.studies}
    present = {path.stem for path in (published() / "tables").glob("*.csv")}
    tables: Mapping[str, pd.DataFrame] = {study: read(study) for study in studies & present} | replaced
    return evaluate(claims, tables, "quick")[0]


@pytest.fixture(scope="module")
def verdicts() -> pd.DataFrame:
    """Those of claims.csv, which tests/test_rounding.py finds in the tables again; no tracked table has times."""
    texts = [f"{kind}{end}" for kind in KINDS for end in ("", "_verdict")]
    found: pd.DataFrame = read_verdicts(published() / "claims.csv").fillna(dict.fromkeys(texts, ""))
    return found


def test_nothing_whose_control_passes_holds(verdicts: pd.DataFrame) -> None:
    said = verdicts[verdicts["role"].isin(["printed", "corrected"])]
    assert len(said) > 200
    holding = said[said["verdict"] == "holds"]
    assert set(holding["negative_control_verdict"]) <= {"", "fails"}
    assert set(holding["near_miss_verdict"]) <= {"", "fails"}
    assert "vacuous" in set(said["verdict"])


def test_few_say_nothing(verdicts: pd.DataFrame) -> None:
    said = verdicts[verdicts["role"].isin(["printed", "corrected"]) & (verdicts["verdict"] != "not run")]
    assert (said["verdict"] == "vacuous").mean() <= 0.1


def test_every_claim_has_a_control_or_a_reason(verdicts: pd.DataFrame) -> None:
    assert [claim.id for claim in CLAIMS.values() if claim.role != "control" and not claim.controls] == []
    judged = verdicts[(verdicts["role"] != "control") & verdicts["verdict"].isin(["holds", "inconclusive"])]
    assert judged.loc[judged["negative_control"] == "", ["claim", "method"]].to_numpy().tolist() == []


def test_every_control_has_rows(verdicts: pd.DataFrame) -> None:
    found = verdicts[verdicts["verdict"] != "not run"]
    for kind in ("negative_control", "near_miss"):
        assert not found.loc[found[f"{kind}_verdict"] == "not run", "claim"].tolist()


def test_every_control_is_of_a_study_and_method_that_exist() -> None:
    studies = set(named(ROOT / "conf", "study"))
    methods = {
        str(path.relative_to(ROOT / "conf" / kind).with_suffix(""))
        for kind in ("sketch", "recovery", "compressor")
        for path in (ROOT / "conf" / kind).rglob("*.yaml")
    }
    for claim in CLAIMS.values():
        for control in (*claim.controls.values(), *claim.near_misses.values()):
            assert set(control.studies) <= studies, claim.id
            assert control.method is None or control.method in methods, claim.id


def test_what_no_paper_claims_is_counted_against_none() -> None:
    assert [claim.id for claim in CLAIMS.values() if claim.role == "control"] == CONTROLS
    assert all(claim.role in ("ours", "control", "contract") for claim in CLAIMS.values() if claim.paper == "ours")


def test_a_control_of_methods_that_is_made_sound() -> None:
    """With rows of distinct measurements in the place of repeating ones, T10 says nothing any more."""
    claim = CLAIMS["T10-distinct"]
    assert set(reported([claim])["verdict"]) == {"holds"}
    table = read("feedback_identity")
    sound = table[table[Column.METHOD] == "fiht"].assign(**{Column.METHOD: "fiht_replacement"})
    others = table[table[Column.METHOD] != "fiht_replacement"]
    found = reported([claim], feedback_identity=pd.concat([others, sound]))
    assert set(found["verdict"]) == {"vacuous"}


@pytest.mark.parametrize(("claim", "near_miss"), [("S8", "convergence_twice"), ("S9", "convergence_flat_twice")])
def test_a_near_miss_that_stands_still_is_rejected(claim: str, near_miss: str) -> None:
    """With the weights at the start in the place of twice the step, the claim would be sharp."""
    if not (published() / "tables" / f"{near_miss}.csv").is_file():
        pytest.skip(f"{near_miss} has not been run")
    table = read(near_miss)
    start = table.groupby(Column.METHOD)[Column.MEAN].transform("max")
    still = table.assign(**{Column.MEAN: start, Column.SD: 0.0, Column.SKEWNESS: 0.0})
    assert set(reported([CLAIMS[claim]])["verdict"]) == {"holds, not sharp"}
    assert set(reported([CLAIMS[claim]], **{near_miss: still})["verdict"]) == {"holds"}


def test_a_control_of_privacy_that_is_made_sound() -> None:
    """With all of the noise in the place of half, S22 says nothing any more."""
    claim = CLAIMS["S22"]
    assert set(reported([claim])["verdict"]) == {"holds"}
    table = read("privacy_audit")
    whole = table[table[Column.NOISE] == 1]
    found = reported([claim], privacy_audit=pd.concat([whole, whole.assign(**{Column.NOISE: 0.5})]))
    assert set(found["verdict"]) == {"vacuous"}


def two_sided(claim: Claim) -> bool:
    """Whether all its checks are equalities, which anything off by a factor fails on either side."""
    return all(check.criterion == "equality" for check in claim.checks)


def test_every_bound_that_holds_has_a_near_miss_or_a_reason(verdicts: pd.DataFrame) -> None:
    bounds = {claim.id for claim in CLAIMS.values() if claim.paper != "ours" and not two_sided(claim)}
    said = verdicts[verdicts["claim"].isin(bounds) & (verdicts["role"] != "control")]
    holding = said[said["verdict"].str.startswith("holds")]
    assert len(holding) > 200
    assert holding.loc[holding["near_miss"] == "", ["claim", "method"]].to_numpy().tolist() == []
    paper = read_verdicts(ROOT / "reports" / "paper" / "claims.csv")
    holding = paper[paper["verdict"].str.startswith("holds") & (paper["role"] != "control")]
    there_alone = bounds & set(holding["claim"]) & set(said["claim"][said["verdict"] == "not run"])
    assert len(there_alone) > 5
    assert {id for id in there_alone if not CLAIMS[id].near_misses} == set()


# The project's claims say what was predicted of them, and when, or why nothing was


WRITTEN_AFTER = re.compile(r"Written after (the|a) (first )?runs?\b")


def predictions(claim: Claim) -> list[Prediction]:
    return [claim.at(scale) for scale in ("smoke", "quick", "paper")]


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_a_claim_has_a_prediction_or_says_why_not(claim: Claim) -> None:
    told = [bool(one.predicted) for one in predictions(claim)]
    if claim.on_times or WRITTEN_AFTER.search(claim.reason):
        assert not any(told)
    else:
        assert all(told) or any(WRITTEN_AFTER.search(one.reason) for one in claim.scales.values())


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_each_prediction_has_a_day(claim: Claim) -> None:
    for one in predictions(claim):
        assert ("default" in one.predicted_on) is bool(one.predicted)
        assert all(re.fullmatch(r"2\d{3}-[01]\d-[0-3]\d", day) for day in one.predicted_on.values())
        later = [day for method, day in one.predicted_on.items() if method != "default"]
        assert all(day > one.predicted_on["default"] for day in later)  # a method that came later
