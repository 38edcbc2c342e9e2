"""The project's very claims, read from conf/claim, judged on rows of a sound or a broken task."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from all_claims import CLAIMS
from levels import QUICK

from sketchbench import kernels
from sketchbench.measure.column import Column
from sketchbench.report.claim.claims import Claim
from sketchbench.report.claim.judging import Judgement, Measured, compare, decide, selections
from sketchbench.report.claim.verdict import Verdict
from sketchbench.sketch.family import Family

METHOD = "mutant"


def verdicts(claim: str, rows: Iterable[Mapping[str, Any]], criterion: str | None = None) -> set[Verdict]:
    """The verdicts of all comparisons of a claim on these rows, at the level of a quick run.

    Arguments:
        claim: the id of the claim. Whatever studies its checks are about, they are given these rows.
        rows: rows of one method, as a task returns them.
        criterion: judge by the checks with this criterion only; None: by all.
    """
    return {judgement.comparison.verdict for judgement in _judged(claim, rows, criterion)}


def verdict(claim: str, rows: Iterable[Mapping[str, Any]], criterion: str | None = None) -> Verdict:
    """The verdict of a claim on these rows, of which it must compare at least one; arguments as of `verdicts`."""
    judgements = _judged(claim, rows, criterion)
    assert judgements, f"{claim} compares nothing"
    return decide(judgement.comparison for judgement in judgements)


def _judged(claim: str, rows: Iterable[Mapping[str, Any]], criterion: str | None) -> list[Judgement]:
    chosen = _with_criterion(CLAIMS[claim], criterion)
    table = pd.DataFrame(list(rows)).assign(**{Column.METHOD: METHOD})
    measured = dict.fromkeys(chosen.studies, Measured(claim, table))
    return compare(selections(chosen, measured, METHOD), QUICK.of)


def _with_criterion(claim: Claim, criterion: str | None) -> Claim:
    """The claim with the checks of one criterion only."""
    if criterion is None:
        return claim
    return replace(claim, checks=tuple(check for check in claim.checks if check.criterion == criterion))


def shared(family: Family, trials: int) -> dict[str, Any]:
    return {"family": family, "kernels": kernels.load("numba"), "seed": 2, "trials": trials}
