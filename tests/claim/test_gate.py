"""A method that breaks the contract has no other verdicts, and the page says why."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from writing import claim, table

from sketchbench.report.claim import gate, page
from sketchbench.report.claim.check import broken
from sketchbench.report.claim.claims import Claim, read_claims
from sketchbench.report.claim.error_rate import ErrorRate
from sketchbench.report.claim.evaluate import evaluate
from sketchbench.report.claim.state import with_code

FACTS: dict[str, Any] = {"scale": "quick", "seed": 0, "kernels": "numba", "skipped": []}
KINDS = {"contract": "sketch", "sensing": "recovery", "moments": "sketch", "reconstruction": "recovery"}


@pytest.fixture
def claims(tmp_path: Path) -> list[Claim]:
    claim(tmp_path, "C1", "contract", "contract")
    claim(tmp_path, "C2", "sensing", "contract")
    claim(tmp_path, "S1", "moments")
    claim(tmp_path, "S2", "moments", on_times=True, methods=["bad", "good", "control/bad"])
    claim(tmp_path, "T1", "reconstruction")
    return read_claims(tmp_path.glob("*.yaml"))


def verdicts(claims: list[Claim], **tables: pd.DataFrame) -> pd.DataFrame:
    return evaluate(claims, tables, "quick", kinds=KINDS)[0]


def by_claim(found: pd.DataFrame, method: str) -> dict[str, str]:
    return found[found["method"] == method].set_index("claim")["verdict"].to_dict()


def test_what_breaks_the_contract_has_no_other_verdicts(claims: list[Claim]) -> None:
    """Neither what would hold nor what is a time; the sketch `bad` is not the recovery `bad`."""
    everything = table(good=1.0, bad=1.0, **{"control/bad": 1.0})
    found = verdicts(
        claims,
        contract=table(good=1.0, bad=1.5, **{"control/bad": 1.5}),
        sensing=table(good=1.0, bad=1.0),
        moments=everything,
        reconstruction=everything,
    )
    assert by_claim(found, "good") == dict.fromkeys(("C1", "C2", "S1", "S2", "T1"), "holds")
    assert by_claim(found, "bad") == {"C1": "fails", "C2": "holds", "S1": "void", "S2": "void", "T1": "holds"}
    assert by_claim(found, "control/bad") == {"S2": "holds"}
    void = found[found["verdict"] == gate.VOID]
    assert set(void["case"]) == {"breaks the contract: C1"}
    assert [(one.claim, one.method) for one in broken(found)] == [("C1", "BAD"), ("void", "BAD")]


def test_recoveries_fall_with_their_sensing_families(claims: list[Claim]) -> None:
    found = verdicts(
        claims,
        contract=table(good=1.0),
        sensing=table(good=1.5),
        moments=table(good=1.0),
        reconstruction=table(good=1.0),
    )
    assert by_claim(found, "good") == {"C1": "holds", "C2": "fails", "S1": "holds", "S2": "holds", "T1": "void"}


def test_what_takes_none_of_the_sizes_has_no_verdicts_either(claims: list[Claim]) -> None:
    """Else a family could hide: who refuses the sizes of the contract is not measured."""
    moments = table(good=1.0, new=1.0, **{"control/bad": 1.0})
    found = verdicts(claims, contract=table(good=1.0), moments=moments, reconstruction=table(new=1.0))
    assert by_claim(found, "new") == {"S1": "void", "T1": "holds"}
    assert by_claim(found, "control/bad") == {"S2": "holds"}
    assert set(found[found["verdict"] == gate.VOID]["case"].str.partition(":")[0]) == {"the contract was not measured"}
    assert by_claim(verdicts(claims, moments=moments), "new") == {"S1": "holds"}


def test_what_is_inconclusive_does_not_count(claims: list[Claim]) -> None:
    vague = table(good=1.0).assign(trials=100)
    found = verdicts(claims, contract=vague, moments=table(good=1.0))
    assert by_claim(found, "good") == {"C1": "inconclusive", "S1": "holds", "S2": "holds"}


def rendered(claims: list[Claim], found: pd.DataFrame) -> str:
    found = with_code(found, claims, {})
    return page.render(claims, found, {**FACTS, "kinds": KINDS}, ErrorRate().levels([]))


def test_the_page_says_what_is_broken_and_what_was_not_measured(claims: list[Claim]) -> None:
    moments = table(good=1.0, bad=1.0, new=1.0)
    broken = rendered(claims, verdicts(claims, contract=table(good=1.0, bad=1.5), moments=moments))
    assert "It was not measured for NEW." in broken
    assert "- BAD (bad): C1" in broken
    kept = rendered(claims, verdicts(claims, contract=table(good=1.0, bad=1.0), moments=moments))
    assert "No method breaks it." in kept
    without = rendered(claims, verdicts(claims, moments=moments))
    assert "This run did not measure it." in without
