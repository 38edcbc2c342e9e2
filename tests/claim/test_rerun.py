"""The chance that a rerun gives another verdict."""

import numpy as np
import pytest

from sketchbench.report.claim.criteria import Comparison, Verdict
from sketchbench.report.claim.judging import Judgement
from sketchbench.report.claim.rerun import chance_of_another


def judged(verdict: Verdict, flips: float = np.nan) -> Judgement:
    return Judgement("one", "probability", Comparison(verdict, "", 0.0, 0.0, 1.0, 0.5, 1.0, 24, flips=flips))


def test_what_holds_needs_all_of_its_comparisons_and_its_control() -> None:
    both = [judged("holds", 0.1), judged("holds", 0.2), judged("holds")]
    assert chance_of_another("holds", both, {}) == pytest.approx(1 - 0.9 * 0.8)
    control = {"negative_control": [judged("fails", 0.5), judged("fails", 0.5), judged("holds", 0.9)]}
    assert chance_of_another("holds", both, control) == pytest.approx(1 - 0.9 * 0.8 * 0.75)


def test_a_control_that_is_not_rejected_changes_nothing() -> None:
    assert chance_of_another("holds", [judged("holds", 0.1)], {"near_miss": [judged("holds", 0.9)]}) == pytest.approx(
        0.1
    )


def test_what_fails_needs_one_that_fails() -> None:
    assert chance_of_another("fails", [judged("fails", 0.1), judged("fails", 0.2), judged("holds", 0.9)], {}) == (
        pytest.approx(0.02)
    )
    assert np.isnan(chance_of_another("fails", [judged("fails", 0.1), judged("fails")], {}))  # the other stays


def test_without_counts_nothing_is_known() -> None:
    assert np.isnan(chance_of_another("holds", [judged("holds")], {}))
    assert chance_of_another("inconclusive", [judged("inconclusive", 0.3), judged("holds", 0.1)], {}) == 0.3
