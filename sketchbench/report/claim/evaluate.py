"""Claims and tables to verdicts."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

import pandas as pd

from sketchbench.measure.column import TRIALS_THERE, Column
from sketchbench.report.claim.claims import Claim, ClaimError
from sketchbench.report.claim.control import NegativeControl
from sketchbench.report.claim.criteria import Verdict
from sketchbench.report.claim.gate import apply_gate
from sketchbench.report.claim.judging import Judgement, compare, control_selections, decide, selections, weigh

FAMILY_WISE_ERROR = 1e-3  # over all comparisons of all claims of a run, and again over those of negative controls


def evaluate(
    claims: list[Claim],
    tables: Mapping[str, pd.DataFrame],
    scale: str,
    *,
    whole: bool = True,
    kinds: Mapping[str, str] | None = None,
    older: Collection[str] = (),
    takes: Mapping[str, str] | None = None,
) -> tuple[pd.DataFrame, int]:
    """Judge all claims, with simultaneous intervals.

    Arguments:
        claims: the claims. A claim is `not run` where a table of its studies is missing, or where the trials that a
            check needs have not been made yet.
        tables: the tables, by study.
        scale: the scale of the run.
        whole: whether the tables have all that the claims speak of. Where they have not, as at the scale `smoke`, a
            claim with a check that finds nothing to judge is not run.
        kinds: of each study, what it compares; where they are not given, methods of the same name are the same.
        older: the studies whose tables are of another plan. A claim that asks for what they don't have is not run.
        takes: of each study without a table, or with one of another plan, what it would take to run it.

    Returns:
        A table of verdicts, one row for each claim and method, void for methods that break the contract; and the
        number of comparisons that share the family-wise error rate: all of the claims (or, where these are more, of
        the negative controls) but those of numbers that are computed, without trials.

    Raises:
        ClaimError: for a check that finds nothing to judge in a table that is there, if these are whole.
    """
    partly = {study for study, table in tables.items() if (table[Column.QUANTITY] == TRIALS_THERE).any()}
    tables = {study: _plain(table) for study, table in tables.items() if not (study in partly and _is_empty(table))}
    judged = [claim for claim in claims if set(claim.studies) <= tables.keys()]
    unfit = {claim.id: _unfit(claim, tables, older) for claim in judged}
    judged = [claim for claim in judged if not unfit[claim.id]]
    methods = [(claim, *pair) for claim in judged for pair in _labels(claim, tables).items()]
    # Which comparisons there are does not depend on the error rate; how many share it is known after a first pass.
    selected = {(claim.id, method): selections(claim, tables, method) for claim, method, _ in methods}
    first = {key: compare(found, 0.5) for key, found in selected.items()}
    idle = {claim.id: _idle(claim, [found for (id, _), found in first.items() if id == claim.id]) for claim in judged}
    aside = partly | set(older)  # of these, what a check asks for may be missing
    refused = [idle[claim.id] for claim in judged if idle[claim.id] and aside.isdisjoint(claim.studies)]
    if whole and refused:
        raise ClaimError(refused[0])
    judged = [claim for claim in judged if not idle[claim.id]]
    methods = [entry for entry in methods if entry[0] in judged]
    controlled = [(claim, method, control) for claim, method, _ in methods if (control := _to_judge(claim, method))]
    # The controls are judged at the level of the claims, but they take no share of the claims' error rate. They are a
    # second family, whose statements ("this control fails the checks") are others: a wrong one of them makes a verdict
    # `holds` that should be `vacuous`, and never a false statement of a claim hold. With as many comparisons as the
    # first or fewer, Bonferroni bounds the error rate of the second at the same level by the same number.
    against = {
        (claim.id, method): control_selections(claim, control, tables, method) for claim, method, control in controlled
    }
    count = max(_measured(first.values()), _measured(compare(found, 0.5) for found in against.values()))
    error = FAMILY_WISE_ERROR / max(count, 1)
    controls = {key: compare(found, error) for key, found in against.items()}
    why = {
        claim.id: [unfit.get(claim.id), idle.get(claim.id), _missing(claim, tables, older, takes or {})]
        for claim in claims
    }
    rows = [_not_run(claim, scale, "; ".join(filter(None, why[claim.id]))) for claim in claims if claim not in judged]
    rows += [
        _row(claim, method, label, compare(selected[claim.id, method], error), controls.get((claim.id, method)), scale)
        for claim, method, label in methods
        if first[claim.id, method]
    ]
    order = {claim.id: number for number, claim in enumerate(claims)}
    rows.sort(key=lambda row: order[row["claim"]])
    return pd.DataFrame(apply_gate(rows, kinds or {})), count


def _unfit(claim: Claim, tables: Mapping[str, pd.DataFrame], older: Collection[str]) -> str:
    """Why a claim can't be judged from tables of another plan, in which columns may be missing; "" where it can."""
    if not (concerned := set(claim.studies) & set(older)):
        return ""
    try:
        for method in _labels(claim, tables):
            compare(selections(claim, tables, method), 0.5)
            if control := _to_judge(claim, method):
                compare(control_selections(claim, control, tables, method), 0.5)
    except (ClaimError, LookupError) as error:
        reason = str(error) if isinstance(error, ClaimError) else f"they have no {' '.join(map(str, error.args))}"
        return (
            f"of other code, the tables of {', '.join(sorted(concerned))} can't be judged ({reason}); run these again"
        )
    return ""


def _missing(claim: Claim, tables: Collection[str], older: Collection[str], takes: Mapping[str, str]) -> str:
    """What it would take to make the tables of a claim that are missing or of another plan, where it is known."""
    missing = [name for name in claim.studies if name in takes and (name not in tables or name in older)]
    return "; ".join(f"{name}: {takes[name]}" for name in missing)


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with trials, with texts as Python objects, since rows of Arrow texts are selected at half the speed."""
    rows = table[table[Column.QUANTITY] != TRIALS_THERE]
    return rows.astype({name: object for name in rows if rows[name].dtype == "str"})


def _is_empty(table: pd.DataFrame) -> bool:
    """Whether no run of a table has a trial yet."""
    return bool((table[Column.QUANTITY] == TRIALS_THERE).all())


def _to_judge(claim: Claim, method: str) -> NegativeControl | None:
    """The negative control of a method; None where it has none with rows."""
    control = claim.control_of(method)
    return None if control is None or control.reason else control


def _measured(groups: Iterable[list[Judgement]]) -> int:
    """How many comparisons are of measured numbers, and may err."""
    return sum(judgement.comparison.trials > 0 for judgements in groups for judgement in judgements)


def _labels(claim: Claim, tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """The methods in these tables that a claim is about, with their labels, in alphabetical order."""
    labels: dict[str, str] = {}
    for study in claim.studies:
        pairs = tables[study][[Column.METHOD, Column.LABEL]].drop_duplicates()
        labels |= dict(zip(pairs[Column.METHOD], pairs[Column.LABEL], strict=True))
    return {method: label for method, label in sorted(labels.items()) if claim.is_about(method)}


def _idle(claim: Claim, judgements: list[list[Judgement]]) -> str:
    """The first check of a claim that finds nothing to judge, whatever the method, in words; empty for none."""
    judged = {(judgement.study, judgement.criterion) for group in judgements for judgement in group}
    for check in claim.checks:
        for study in check.studies:
            if (study, check.criterion) not in judged:
                place = f"in study {study} where {dict(check.where)}"
                return f"{claim.id}: criterion {check.criterion} finds nothing to judge {place}"
    return ""


def _row(
    claim: Claim,
    method: str,
    label: str,
    judgements: list[Judgement],
    control: list[Judgement] | None,
    scale: str,
) -> dict[str, Any]:
    """The verdict on a method, with the comparison that decides it, and with that on its negative control."""
    verdict, (study, criterion, worst) = _decided(judgements)
    columns = _control_columns(claim.control_of(method), control)
    expected = claim.at(scale).expected
    return {
        **_identity(claim),
        "role": claim.role_of(method),
        Column.LABEL: label,
        "verdict": weigh(verdict, columns["negative_control_verdict"] if control is not None else None),
        "expected": expected.get(method, expected["default"]),
        "statistic": worst.statistic,
        "low": worst.low,
        "high": worst.high,
        Column.BOUND: worst.bound,
        "slack": worst.slack,
        "tightness": _tightest(judgements),
        Column.TRIALS: worst.trials,
        "comparisons": len(judgements),
        Column.CASE: worst.case,
        "criterion": criterion,
        "study": study,
        **columns,
        "scale": scale,
        "dataset": claim.dataset,
        Column.METHOD: method,
    }


def _decided(judgements: list[Judgement]) -> tuple[Verdict, Judgement]:
    """The verdict of all judgements, and the judgement that decides it: the one of least slack with that verdict."""
    verdict = decide(judgement.comparison for judgement in judgements)
    deciding = [judgement for judgement in judgements if judgement.comparison.verdict == verdict]
    return verdict, min(deciding, key=lambda judgement: judgement.comparison.slack)


def _tightest(judgements: list[Judgement]) -> float:
    """The least tightness of all comparisons that have one; NaN where none has."""
    return float(pd.Series([judgement.comparison.tightness for judgement in judgements], dtype=float).min())


def _control_columns(control: NegativeControl | None, judgements: list[Judgement] | None) -> dict[str, Any]:
    """The columns about the negative control of a method: its name, its verdict, the statistic that decides it, and
    the bound and criterion of that.

    Arguments:
        control: the control; None where there is none yet.
        judgements: its comparisons; None where it has no rows, for a reason.
    """
    name = control.name if control else ""
    verdict: Verdict | Literal[""] = ""
    statistic = bound = float("nan")
    criterion = ""
    if judgements is not None:
        verdict = "not run"
        if judgements:
            verdict, (_, criterion, worst) = _decided(judgements)
            statistic, bound = worst.statistic, worst.bound
    columns = {"": name, "_verdict": verdict, "_statistic": statistic, "_bound": bound, "_criterion": criterion}
    return {f"negative_control{end}": value for end, value in columns.items()}


def _identity(claim: Claim) -> dict[str, str]:
    """The columns of the table of verdicts that say which claim a row is about."""
    return {"claim": claim.id, "paper": claim.paper, "place": claim.place}


def _not_run(claim: Claim, scale: str, reason: str) -> dict[str, Any]:
    """The row of a claim that was not judged, with the reason if it is not that tables are missing."""
    return {
        **_identity(claim),
        "role": claim.role,
        Column.LABEL: "",
        "verdict": "not run",
        "expected": claim.at(scale).expected["default"],
        Column.CASE: reason,
        "study": " ".join(claim.studies),
        "scale": scale,
        "dataset": claim.dataset,
    }
