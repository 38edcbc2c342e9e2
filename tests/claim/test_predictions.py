"""The project's claims say what was predicted of them, and when, or why nothing was."""

import re

import pytest
from all_claims import CLAIMS

from sketchbench.report.claim.claims import Claim, Prediction

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
