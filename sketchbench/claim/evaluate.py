"""Claims and tables to verdicts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from sketchbench import schema
from sketchbench.claim.control import NegativeControl, held_against, read_controls
from sketchbench.claim.criteria import CRITERIA, Comparison, Settings, Verdict
from sketchbench.claim.gate import gated
from sketchbench.measure.row import COLUMNS, CONTROLS, Column
from sketchbench.parameters import choose

FAMILY_WISE_ERROR = 1e-3  # over all comparisons of all claims of a run, and again over those of negative controls

Role = Literal["printed", "corrected", "ours", "control", "contract"]
Expected = Verdict | Literal["any"]  # any: of times, which differ from machine to machine


class ClaimError(ValueError):
    """A claim that can't be evaluated as written; the message is for the user."""


@dataclass(frozen=True)
class Check:
    """One criterion of a claim, applied to rows of some studies.

    Attributes:
        criterion: a name in CRITERIA.
        where: the rows that it is applied to: those whose columns have one of these values.
        studies: the studies that they are from.
        settings: the settings of the criterion.
    """

    criterion: str
    where: Mapping[str, Any]
    studies: tuple[str, ...]
    settings: Settings


@dataclass(frozen=True)
class Claim:
    """One file of conf/claim; it holds where all its checks do.

    Attributes:
        id: its name, also that of the file.
        paper, place: where it is stated.
        statement: what is claimed, in words.
        dataset: what the studies compute with, in words.
        checks: what must hold.
        expected: the expected verdict by method, `default` for all others; `any` where none can be, as of times.
        reason: why that verdict, and what was chosen where the paper leaves a choice.
        role: `printed`: in the words of the paper; `corrected`: what is true instead, or where it is; `ours`: beyond
            the papers; `control`: what no paper claims, and is measured for comparison; `contract`: what a method must
            keep, or it has no other verdicts (see `gate`).
        methods: the methods (sketches, recoveries) that it is about; None: all but the controls.
        left_out: methods that it is not about.
        controls: the negative controls by method, `default` for all others; a method without one has none yet.
    """

    id: str
    paper: str
    place: str
    statement: str
    dataset: str
    checks: tuple[Check, ...]
    expected: dict[str, Expected]
    reason: str
    role: Role
    methods: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = field(default=())
    controls: Mapping[str, NegativeControl] = field(default_factory=dict)

    @property
    def studies(self) -> list[str]:
        """The studies of all checks and of the negative controls, in alphabetical order."""
        controls = {study for control in self.controls.values() for study in control.studies}
        return sorted(controls | {study for check in self.checks for study in check.studies})

    def is_about(self, method: str) -> bool:
        """Whether there is to be a verdict on this method."""
        if self.methods is not None:
            return method in self.methods
        return method not in self.left_out and not method.startswith(CONTROLS)

    def role_of(self, method: str) -> Role:
        """The role of the verdict on a method."""
        return "control" if method.startswith(CONTROLS) else self.role

    def control_of(self, method: str) -> NegativeControl | None:
        """The negative control of a method; None where there is none yet, and for what is a control itself."""
        control = self.controls.get(method, self.controls.get("default"))
        if self.role_of(method) == "control" or control is None or control.selects_only(method):
            return None
        return control


class Judgement(NamedTuple):
    """A comparison that a claim asks for: the study of its rows, the name of the criterion, and what came out."""

    study: str
    criterion: str
    comparison: Comparison


def read_claims(paths: Iterable[Path]) -> list[Claim]:
    """The claims of these files, in order of their ids.

    Raises:
        SchemaError: in one line, for a file that does not fit the schema.
        ClaimError: in one line, for an unknown criterion or column, or a file that has not the name of its claim.
    """
    claims = []
    for path in sorted(paths, key=lambda path: _order(path.stem)):
        content = schema.read(path, "claim")
        if content["id"] != path.stem:
            raise ClaimError(f"{path}: id {content['id']} must be the file's name")
        try:
            claims.append(_claim(content))
        except ValueError as error:
            raise ClaimError(f"{path}: {error}") from None
    return claims


def _order(name: str) -> tuple[str, int, str]:
    """S2 before S2x before S10."""
    letters = name[0]
    digits = "".join(c for c in name[1:].partition("-")[0] if c.isdigit())
    return letters, int(digits or 0), name


def _claim(content: dict[str, Any]) -> Claim:
    """The claim of a file's content; ValueError for an unknown criterion or column."""
    expected = content["expected"]
    return Claim(
        id=content["id"],
        paper=content["paper"],
        place=content["place"],
        statement=content["statement"],
        dataset=content["dataset"],
        checks=tuple(_check(check, content["studies"]) for check in content["checks"]),
        expected=expected if isinstance(expected, dict) else {"default": expected},
        reason=content.get("reason", ""),
        role=content["role"],
        controls=read_controls(content["negative_control"]) if "negative_control" in content else {},
        methods=tuple(content["methods"]) if "methods" in content else None,
        left_out=tuple(content.get("left_out", ())),
    )


def _check(content: dict[str, Any], studies: list[str]) -> Check:
    """The check of a part of a file, whose claim has these studies; ValueError as above."""
    choose("criterion", content["criterion"], CRITERIA)
    for column in content["where"]:
        choose("column", column, COLUMNS)
    if "over" in content:
        choose("over", content["over"], COLUMNS)
    settings = {name: content[name] for name in ("margin", "over") if name in content}
    return Check(
        criterion=content["criterion"],
        where=content["where"],
        studies=tuple(content.get("studies", studies)),
        settings=Settings(**settings),
    )


def check_studies(claims: list[Claim], known: Iterable[str]) -> None:
    """Raise ClaimError for a claim that names a study which does not exist."""
    names = sorted(known)
    for claim in claims:
        for study in claim.studies:
            try:
                choose("study", study, names)
            except ValueError as error:
                raise ClaimError(f"{claim.id}: {error}") from None


def judge(claim: Claim, tables: Mapping[str, pd.DataFrame], method: str, error: float) -> list[Judgement]:
    """Every comparison of a claim for one method: each criterion on the rows that its check selects.

    Arguments:
        claim: the claim; whether it is about the method is not asked.
        tables: the tables of its studies, by their names.
        method: the method, as in the tables' column `method`.
        error: error rate of a single comparison.

    Returns:
        The judgements, check by check and study by study; none for a check that selects no row with a reference.

    Raises:
        ClaimError: for a table without a column that a check selects by, or measures growth along.
    """
    return [
        Judgement(study, check.criterion, comparison)
        for check in claim.checks
        for study in check.studies
        for comparison in CRITERIA[check.criterion](_select(tables[study], check, study, method), error, check.settings)
    ]


def judge_control(
    claim: Claim, control: NegativeControl, tables: Mapping[str, pd.DataFrame], method: str, error: float
) -> list[Judgement]:
    """Every comparison of a claim for the negative control of one method, as `judge` makes them for the method.

    The checks are those that have rows of the method. Arguments, result and errors are those of `judge`; there are no
    judgements where the tables have no rows of the control.
    """
    judgements = []
    for check in claim.checks:
        claimed = pd.concat([_select(tables[study], check, study, method) for study in check.studies])
        if claimed.empty:
            continue
        changed = replace(check, where={**check.where, **control.where}, studies=control.studies or check.studies)
        for study in changed.studies:
            rows = _select(tables[study], changed, study, control.method or method)
            if control.reference == "claim":
                rows = held_against(rows, claimed, list(control.where))
            found = CRITERIA[check.criterion](rows, error, check.settings)
            judgements += [Judgement(study, check.criterion, comparison) for comparison in found]
    return judgements


def _select(table: pd.DataFrame, check: Check, study: str, method: str) -> pd.DataFrame:
    """The rows of a study's table that a check is applied to for one method, with columns `exact` and `bound`."""
    chosen = table[Column.METHOD] == method
    for column, value in check.where.items():
        if column not in table:
            raise ClaimError(f"the table of {study} has no column {column} to select by")
        chosen &= table[column].isin(value if isinstance(value, list) else [value])
    over = check.settings.over
    if check.criterion == "growth" and over not in table:
        raise ClaimError(f"the table of {study} has no column {over} to grow along")
    rows = table[chosen]
    missing = {name: float("nan") for name in (Column.EXACT, Column.BOUND, Column.VALUE) if name not in rows}
    return rows.assign(**missing)


def decide(comparisons: Iterable[Comparison]) -> Verdict:
    """The verdict of several comparisons together: it holds where each does, and fails where one does."""
    verdicts = {comparison.verdict for comparison in comparisons}
    for verdict in ("fails", "inconclusive"):
        if verdict in verdicts:
            return verdict
    return "holds"


def weigh(verdict: Verdict, control: Verdict | None) -> Verdict:
    """The verdict on a method, given that on its negative control (None: there is none).

    What holds says something only where the control fails the same checks. Where it passes them, too, the measurement
    is vacuous; where that remains open, so does the claim. The control changes no other verdict.
    """
    if verdict != "holds" or control is None or control == "fails":
        return verdict
    return "vacuous" if control == "holds" else "inconclusive"


def evaluate(
    claims: list[Claim], tables: Mapping[str, pd.DataFrame], scale: str, kinds: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, int]:
    """Judge all claims, with simultaneous intervals.

    Arguments:
        claims: the claims. One is judged where all tables of its studies are there; else its verdict is `not run`.
        tables: the tables, by study.
        scale: the scale of the run.
        kinds: of each study, what it compares; where they are not given, methods of the same name are the same.

    Returns:
        A table of verdicts, one row for each claim and method, void for methods that break the contract; and the
        number of comparisons that share the family-wise error rate: all of the claims (or, where these are more, of
        the negative controls) but those of numbers that are computed, without trials.

    Raises:
        ClaimError: for a check that finds nothing to judge in a table that is there.
    """
    judged = [claim for claim in claims if set(claim.studies) <= tables.keys()]
    methods = [(claim, *pair) for claim in judged for pair in _labels(claim, tables).items()]
    # Which comparisons there are does not depend on the error rate; how many share it is known after a first pass.
    first = {(claim.id, method): judge(claim, tables, method, 0.5) for claim, method, _ in methods}
    for claim in judged:
        _refuse_idle_checks(claim, [judgements for (id, _), judgements in first.items() if id == claim.id])
    controlled = [(claim, method, control) for claim, method, _ in methods if (control := _to_judge(claim, method))]
    # The controls are judged at the level of the claims, but they take no share of the claims' error rate. They are a
    # second family, whose statements ("this control fails the checks") are others: a wrong one of them makes a verdict
    # `holds` that should be `vacuous`, and never a false statement of a claim hold. With as many comparisons as the
    # first or fewer, Bonferroni bounds the error rate of the second at the same level by the same number.
    sizes = [
        _measured(first.values()),
        _measured(judge_control(claim, control, tables, method, 0.5) for claim, method, control in controlled),
    ]
    count = max(sizes)
    error = FAMILY_WISE_ERROR / max(count, 1)
    controls = {
        (claim.id, method): judge_control(claim, control, tables, method, error)
        for claim, method, control in controlled
    }
    rows: list[dict[str, Any]] = [_not_run(claim, scale) for claim in claims if claim not in judged]
    rows += [
        _row(claim, method, label, judge(claim, tables, method, error), controls.get((claim.id, method)), scale)
        for claim, method, label in methods
        if first[claim.id, method]
    ]
    order = {claim.id: number for number, claim in enumerate(claims)}
    rows.sort(key=lambda row: order[row["claim"]])
    return pd.DataFrame(gated(rows, kinds or {})), count


def _to_judge(claim: Claim, method: str) -> NegativeControl | None:
    """The negative control of a method, if there is one that has rows."""
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


def _refuse_idle_checks(claim: Claim, judgements: list[list[Judgement]]) -> None:
    """Raise ClaimError if a check of a claim finds nothing to judge, whatever the method."""
    judged = {(judgement.study, judgement.criterion) for group in judgements for judgement in group}
    for check in claim.checks:
        for study in check.studies:
            if (study, check.criterion) not in judged:
                raise ClaimError(
                    f"{claim.id}: criterion {check.criterion} finds nothing to judge in study {study} "
                    f"where {dict(check.where)}"
                )


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
    return {
        **_identity(claim),
        "role": claim.role_of(method),
        Column.LABEL: label,
        "verdict": weigh(verdict, columns["negative_control_verdict"] if control is not None else None),
        "expected": claim.expected.get(method, claim.expected["default"]),
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
    """The verdict that follows, and the judgement that decides it: of those with this verdict that of least slack."""
    verdict = decide(judgement.comparison for judgement in judgements)
    deciding = [judgement for judgement in judgements if judgement.comparison.verdict == verdict]
    return verdict, min(deciding, key=lambda judgement: judgement.comparison.slack)


def _tightest(judgements: list[Judgement]) -> float:
    """The least tightness of all comparisons that have one; NaN where none has."""
    return float(pd.Series([judgement.comparison.tightness for judgement in judgements], dtype=float).min())


def _control_columns(control: NegativeControl | None, judgements: list[Judgement] | None) -> dict[str, Any]:
    """The columns about the negative control of a method: its name, its verdict, and the statistic that decides it.

    Arguments:
        control: the control; None where there is none yet.
        judgements: its comparisons; None where it has no rows, for a reason.
    """
    name = control.name if control else ""
    verdict: Verdict | Literal[""] = ""
    statistic = float("nan")
    if judgements is not None:
        verdict = "not run"
        if judgements:
            verdict, (_, _, worst) = _decided(judgements)
            statistic = worst.statistic
    return {"negative_control": name, "negative_control_verdict": verdict, "negative_control_statistic": statistic}


def _identity(claim: Claim) -> dict[str, str]:
    """The columns of the table of verdicts that say which claim a row is about."""
    return {"claim": claim.id, "paper": claim.paper, "place": claim.place}


def _not_run(claim: Claim, scale: str) -> dict[str, Any]:
    """The row of a claim that was not judged."""
    return {
        **_identity(claim),
        "role": claim.role,
        Column.LABEL: "",
        "verdict": "not run",
        "expected": claim.expected["default"],
        "study": " ".join(claim.studies),
        "scale": scale,
        "dataset": claim.dataset,
    }
