"""Evaluate claims on tables: verdicts."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sketchbench.measure.column import TRIALS_THERE, Column
from sketchbench.report.claim import conditions, judging
from sketchbench.report.claim.claims import NOTHING, Claim, ClaimError
from sketchbench.report.claim.control import KINDS, NegativeControl
from sketchbench.report.claim.error_rate import ErrorLevels, ErrorRate
from sketchbench.report.claim.gate import ROLE, apply_gate
from sketchbench.report.claim.judging import CheckedRows, Judgement, Measured, compare, decide
from sketchbench.report.claim.rerun import chance_of_another
from sketchbench.report.claim.verdict import Verdict


def evaluate(
    claims: list[Claim],
    tables: Mapping[str, pd.DataFrame],
    scale: str,
    *,
    rate: ErrorRate | None = None,
    whole: bool = True,
    kinds: Mapping[str, str] | None = None,
    older: Collection[str] = (),
    takes: Mapping[str, str] | None = None,
    own: Mapping[str, Collection[str]] | None = None,
    only_own: bool = False,
) -> tuple[pd.DataFrame, ErrorLevels]:
    """Judge all claims, with simultaneous intervals.

    Arguments:
        claims: the claims. A claim is `not run` if a table of its studies, or trials for a check, are missing.
        tables: the tables, by study.
        scale: the scale of the run.
        rate: the error rate, and its shares; by default 1e-3, shared evenly.
        whole: whether the tables cover all claims. If not, as at the scale `smoke`, a claim with a check that finds
            nothing to judge is not run.
        kinds: the kind of methods that each study compares; without kinds, methods of the same name are the same.
        older: the studies whose tables are of another plan. A claim on rows that these tables lack is not run.
        takes: the cost of each study without a table of this plan.
        own: a user's own methods, by kind, which have no predictions.
        only_own: whether to leave out claims that find nothing to judge, or whose studies have no tables.

    Returns:
        A table of verdicts, one row for each claim and method, void for methods that break the contract; and the error
        rates of the comparisons. Computed numbers, without trials, take no share of the error rate. Claims on times,
        which depend on the machine, have an error rate of their own.

    Raises:
        ClaimError: for a check that finds nothing to judge in a table, if the tables are whole and the claim is run at
            this scale.
    """
    partly = {study for study, table in tables.items() if (table[Column.QUANTITY] == TRIALS_THERE).any()}
    tables = {study: _plain(table) for study, table in tables.items()}
    tables = {study: rows for study, rows in tables.items() if study not in partly or len(rows)}
    measured = {study: Measured(study, rows) for study, rows in tables.items()}
    aside = partly | set(older)  # their tables may lack rows for a check
    refusals: dict[str, str] = {}
    passes: dict[str, _FirstPass] = {}
    for claim in claims:
        if set(claim.studies) <= tables.keys():
            try:
                passes[claim.id] = first = _first_pass(claim, measured)
            except (ClaimError, LookupError) as error:
                if not (concerned := sorted(set(claim.studies) & set(older))):
                    raise
                lack = error if isinstance(error, ClaimError) else f"they have no {' '.join(map(str, error.args))}"
                old = f"of other code, the tables of {', '.join(concerned)}"
                refusals[claim.id] = f"{old} can't be judged ({lack}); run these again"
                continue
            left_out = claim.at(scale).not_run
            if first.idle and whole and not left_out and aside.isdisjoint(claim.studies):
                raise ClaimError(first.idle)
            refusals[claim.id] = first.idle
    # Negative controls and near misses are judged at the level of the claims, but take no share of the claims' error
    # rate. They are two more families with other statements ("this control fails the checks"). An error there makes a
    # verdict `holds` that should be `vacuous`, or not sharp; it never makes a false claim hold.
    shared = rate or ErrorRate()
    timed = {claim.id for claim in claims if claim.on_times}
    levels = shared.levels(_families(one for name, one in passes.items() if name not in timed))
    levels_of_times = shared.levels(_families(one for name, one in passes.items() if name in timed))
    rows: list[dict[str, Any]] = []
    for claim in claims:
        if claim.id not in passes or passes[claim.id].idle:
            if only_own and aside.isdisjoint(claim.studies):
                continue
            reasons = (refusals.get(claim.id), _missing(claim, tables, older, takes or {}))
            rows.append(_not_run(claim, scale, "; ".join(filter(None, reasons))))
            continue
        first, level = passes[claim.id], (levels_of_times if claim.id in timed else levels).of
        for method, selected in first.selected.items():
            if judgements := compare(selected, level):
                controls = {kind: compare(rows, level) for kind, rows in first.against[method].items()}
                row = _row(claim, method, first.labels[method], judgements, controls, scale, first.missing[method])
                if method in (own or {}).get((kinds or {}).get(row["study"], ""), ()) and not claim.on_times:
                    row["predicted"] = NOTHING
                rows.append(row)
    contracts = (study for claim in claims if claim.role == ROLE for study in claim.studies)
    required = {kinds[study] for study in contracts if study in kinds} if kinds else set()
    return pd.DataFrame(apply_gate(rows, kinds or {}, required)), levels


def _families(passes: Iterable["_FirstPass"]) -> list[Counter[str]]:
    """The number of comparisons of each study, for the claims and for each kind of control."""
    return [sum(family, Counter[str]()) for family in zip(*(first.sizes for first in passes), strict=True)]


class _FirstPass(NamedTuple):
    """The rows that a claim's checks apply to, and the number of comparisons, which determines the error rate."""

    labels: dict[str, str]  # of the claim's methods, in alphabetical order of the methods
    selected: dict[str, list[CheckedRows]]  # the rows for the checks, by method
    against: dict[str, dict[str, list[CheckedRows]]]  # the rows of a method's controls, by kind, if there are any
    sizes: tuple[
        Counter[str], ...
    ]  # comparisons of measured numbers by study, of the claim and of each kind of control
    missing: dict[str, list[str]]  # by method, the conditions without rows
    idle: str  # the first check that finds nothing to judge for any method, in words; "" for none


def _first_pass(claim: Claim, tables: Mapping[str, Measured]) -> _FirstPass:
    """The rows for a claim and their comparisons; without controls if a check finds nothing to judge."""
    pairs = (pair for study in claim.studies for pair in tables[study].labels.items())
    labels = {method: label for method, label in pairs if claim.is_about(method)}
    selected = {method: judging.selections(claim, tables, method) for method in sorted(labels)}
    judgements = [judgement for rows in selected.values() for judgement in compare(rows, _any_level)]
    idle = _idle(claim, {(judgement.study, judgement.criterion) for judgement in judgements})
    against = {
        method: {
            kind: judging.control_selections(claim, control, tables, method)
            for kind, control in claim.controls_of(method).items()
            if control and not control.reason
        }
        for method in ([] if idle else selected)
    }
    families = [judgements]
    for kind in KINDS:
        families.append([one for rows in against.values() for one in compare(rows.get(kind, []), _any_level)])
    sizes = tuple(Counter(one.study for one in family if one.comparison.trials > 0) for family in families)
    missing = {method: conditions.missing(claim, tables, method) for method in selected}
    return _FirstPass(labels, selected, against, sizes, missing, idle)


def _any_level(study: str) -> float:
    """A level for comparisons that are only counted."""
    return 0.25


def _idle(claim: Claim, judged: Collection[tuple[str, str]]) -> str:
    """The first check of a claim that finds nothing to judge, in words, given the judged studies and criteria."""
    for check in claim.checks:
        for study in check.studies:
            if (study, check.criterion) not in judged:
                place = f"in study {study} for {dict(check.where)}"
                return f"{claim.id}: criterion {check.criterion} finds nothing to judge {place}"
    return ""


def _missing(claim: Claim, tables: Collection[str], older: Collection[str], takes: Mapping[str, str]) -> str:
    """The estimated cost of a claim's missing or outdated tables, if known."""
    missing = [name for name in claim.studies if name in takes and (name not in tables or name in older)]
    return "; ".join(f"{name}: {takes[name]}" for name in missing)


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with trials, with strings as Python objects: rows of Arrow strings are selected at half the speed."""
    rows = table[table[Column.QUANTITY] != TRIALS_THERE]
    return rows.astype({name: object for name in rows if rows[name].dtype == "str"})


def _row(
    claim: Claim,
    method: str,
    label: str,
    judgements: list[Judgement],
    made: dict[str, list[Judgement]],
    scale: str,
    missing: Sequence[str],
) -> dict[str, Any]:
    """The verdict on a method, with the comparison that decides it, and the verdicts on its controls, by kind."""
    verdict, (study, criterion, worst) = _decided(judgements)
    columns, near = (_control_columns(*each, made.get(each[0])) for each in claim.controls_of(method).items())
    stand_in = scale in claim.stand_ins
    passed = columns["negative_control_verdict"], near["near_miss_verdict"]
    tightness = pd.Series([judgement.comparison.tightness for judgement in judgements], dtype=float)
    return {
        **_identity(claim),
        "role": claim.role_of(method),
        Column.LABEL: label,
        "verdict": judging.weigh(verdict, *passed, stand_in, complete=not missing, by_attacks=bool(claim.attacks)),
        "predicted": claim.predicted_of(method, scale),
        "statistic": worst.statistic,
        "low": worst.low,
        "high": worst.high,
        Column.BOUND: worst.bound,
        "slack": worst.slack,
        "flips": chance_of_another(verdict, judgements, made),
        "tightness": tightness.min(),  # NaN where no comparison has one
        "loosest": tightness.max(),
        Column.TRIALS: worst.trials,
        "comparisons": len(judgements),
        "missing": ", ".join(missing),
        Column.CASE: worst.case,
        "criterion": criterion,
        "study": study,
        **columns,
        **near,
        "scale": scale,
        "dataset": claim.dataset,
        Column.METHOD: method,
    }


def _decided(judgements: list[Judgement]) -> tuple[Verdict, Judgement]:
    """The verdict of all judgements, and the judgement with that verdict and the least slack, which decides it."""
    verdict = decide(judgement.comparison for judgement in judgements)
    deciding = [judgement for judgement in judgements if judgement.comparison.verdict == verdict]
    return verdict, min(deciding, key=lambda judgement: judgement.comparison.slack)


def _control_columns(kind: str, control: NegativeControl | None, judgements: list[Judgement] | None) -> dict[str, Any]:
    """The columns about a method's control, which may be missing. `judgements` are its comparisons, None if it has no
    rows for a stated reason."""
    name = control.name if control else ""
    values: tuple[Any, ...] = (name, "" if judgements is None else "not run", np.nan, np.nan, "", "")
    if judgements:
        verdict, (_, criterion, worst) = _decided(judgements)
        rejected = sum(judgement.comparison.verdict == "fails" for judgement in judgements)
        values = (name, verdict, worst.statistic, worst.bound, criterion, f"{rejected} of {len(judgements)}")
    ends = ("", "_verdict", "_statistic", "_bound", "_criterion", "_rejected")
    return {f"{kind}{end}": value for end, value in zip(ends, values, strict=True)}


def _identity(claim: Claim) -> dict[str, str]:
    """The columns that identify a verdict's claim."""
    return {"claim": claim.id, "paper": claim.paper, "place": claim.place}


def _not_run(claim: Claim, scale: str, reason: str) -> dict[str, Any]:
    """The row of a claim that was not judged, with the reason, unless tables are missing."""
    return {
        **_identity(claim),
        "role": claim.role,
        Column.LABEL: "",
        "verdict": "not run",
        "predicted": claim.predicted_of("", scale),
        Column.CASE: reason,
        "study": " ".join(claim.studies),
        "scale": scale,
        "dataset": claim.dataset,
    }
