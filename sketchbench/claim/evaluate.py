"""Claims and tables to verdicts."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from sketchbench.claim.criteria import TESTS, Comparison, Settings, Verdict
from sketchbench.measure.row import Column
from sketchbench.schema import validate

FAMILY_WISE_ERROR = 1e-3  # over all comparisons of all claims of a run


class ClaimError(ValueError):
    """A claim that can't be evaluated as written; the message is for the user."""


@dataclass(frozen=True)
class Check:
    """One test of a claim: on the rows whose columns have the values of `where`."""

    test: str
    where: dict[str, Any]
    studies: tuple[str, ...]
    settings: Settings


@dataclass(frozen=True)
class Claim:
    """One file of conf/claim. All checks must hold for the claim to hold.

    methods: the configs (sketches, recoveries) to speak of; None: all that are not controls. left_out:
    those not to.
    expected: the verdict that we expect, by method, with `default` for the rest.
    """

    id: str
    paper: str
    place: str
    statement: str
    dataset: str
    checks: tuple[Check, ...]
    expected: dict[str, Verdict]
    reason: str
    methods: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = field(default=())

    def speaks_of(self, method: str) -> bool:
        if self.methods is not None:
            return method in self.methods
        return method not in self.left_out and not method.startswith("control/")


def read_claims(paths: Iterable[Path]) -> list[Claim]:
    """The claims of these files, in order of their ids.

    Raises SchemaError or ClaimError, in one line, for a file that does not fit the schema, or that
    names no known test.
    """
    claims = []
    for path in sorted(paths, key=lambda path: _order(path.stem)):
        text = yaml.safe_load(path.read_text())
        validate(text, "claim", str(path))
        if text["id"] != path.stem:
            raise ClaimError(f"{path}: id {text['id']} must be the file's name")
        claims.append(_claim(text, path))
    return claims


def _order(name: str) -> tuple[str, int, str]:
    """S2 before S2x before S10."""
    letters = name[0]
    digits = "".join(c for c in name[1:].partition("-")[0] if c.isdigit())
    return letters, int(digits or 0), name


def _claim(text: dict[str, Any], path: Path) -> Claim:
    checks = []
    for check in text["checks"]:
        if check["test"] not in TESTS:
            raise ClaimError(f"{path}: test {check['test']} is unknown; choose from {', '.join(TESTS)}")
        settings = {key: check[key] for key in ("margin", "over") if key in check}
        studies = tuple(check.get("studies", text["studies"]))
        checks.append(Check(check["test"], check["where"], studies, Settings(**settings)))
    expected = text["expected"]
    return Claim(
        id=text["id"],
        paper=text["paper"],
        place=text["place"],
        statement=text["statement"],
        dataset=text["dataset"],
        checks=tuple(checks),
        expected=expected if isinstance(expected, dict) else {"default": expected},
        reason=text.get(Column.REASON, ""),
        methods=tuple(text["methods"]) if "methods" in text else None,
        left_out=tuple(text.get("left_out", ())),
    )


def _select(tables: dict[str, pd.DataFrame], check: Check, study: str, method: str) -> pd.DataFrame:
    """The rows of a table that a check of one method is about."""
    table = tables[study]
    chosen = table[Column.METHOD] == method
    for column, value in check.where.items():
        if column not in table:
            raise ClaimError(f"the table of {study} has no column {column} to select by")
        chosen &= table[column].isin(value if isinstance(value, list) else [value])
    over = check.settings.over
    if check.test == "growth" and over not in table:
        raise ClaimError(f"the table of {study} has no column {over} to grow along")
    rows = table[chosen]
    missing = {name: float("nan") for name in (Column.EXACT, Column.BOUND) if name not in rows}
    return rows.assign(**missing)


def _judge(
    claim: Claim, tables: dict[str, pd.DataFrame], method: str, error: float
) -> list[tuple[str, str, Comparison]]:
    """Every comparison of a claim for one method, with its study and test."""
    return [
        (study, check.test, comparison)
        for check in claim.checks
        for study in check.studies
        for comparison in TESTS[check.test](_select(tables, check, study, method), error, check.settings)
    ]


def _labels(claim: Claim, tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    """The methods that a claim speaks of in these tables, with their labels."""
    labels: dict[str, str] = {}
    for study in sorted(_studies(claim)):
        pairs = tables[study][[Column.METHOD, Column.LABEL]].drop_duplicates()
        labels |= dict(zip(pairs[Column.METHOD], pairs[Column.LABEL], strict=True))
    return {s: label for s, label in sorted(labels.items()) if claim.speaks_of(s)}


def _verdict(comparisons: list[Comparison]) -> Verdict:
    """A claim holds where every comparison does, and fails where one fails."""
    verdicts = {comparison.verdict for comparison in comparisons}
    for verdict in ("fails", "inconclusive"):
        if verdict in verdicts:
            return verdict
    return "holds"


def check_studies(claims: list[Claim], known: Iterable[str]) -> None:
    """Raise ClaimError for a claim that names a study which does not exist."""
    known = sorted(known)
    for claim in claims:
        for study in sorted(_studies(claim) - set(known)):
            raise ClaimError(f"{claim.id}: study {study} is unknown; choose from {', '.join(known)}")


def _studies(claim: Claim) -> set[str]:
    return {study for check in claim.checks for study in check.studies}


def evaluate(claims: list[Claim], tables: dict[str, pd.DataFrame], scale: str) -> tuple[pd.DataFrame, int]:
    """One row per claim and method, and the number of comparisons that share the error rate: all but
    those of numbers that are computed and have no trials.

    tables: by study. A claim is judged where all its studies' tables are there; else it is `not
    run`. Raises ClaimError for a check that finds no row to judge in a table that is there.
    """
    judged = [claim for claim in claims if _studies(claim) <= tables.keys()]
    methods = [(claim, *pair) for claim in judged for pair in _labels(claim, tables).items()]
    found = {(c.id, method): _judge(c, tables, method, 0.5) for c, method, _ in methods}
    for claim in judged:
        _complain_of_nothing(claim, [f for (id, _), f in found.items() if id == claim.id])
    count = sum(entry.trials > 0 for entries in found.values() for _, _, entry in entries)
    error = FAMILY_WISE_ERROR / max(count, 1)
    rows: list[dict[str, Any]] = [_not_run(claim, scale) for claim in claims if claim not in judged]
    rows += [
        _row(claim, method, label, _judge(claim, tables, method, error), scale)
        for claim, method, label in methods
        if found[claim.id, method]
    ]
    order = {claim.id: number for number, claim in enumerate(claims)}
    rows.sort(key=lambda row: order[row["claim"]])
    return pd.DataFrame(rows), count


def _complain_of_nothing(claim: Claim, found: list[list[tuple[str, str, Comparison]]]) -> None:
    """Raise ClaimError if some check of a claim found nothing to judge, in any method."""
    seen = {(study, test) for comparisons in found for study, test, _ in comparisons}
    for check in claim.checks:
        for study in check.studies:
            if (study, check.test) not in seen:
                raise ClaimError(
                    f"{claim.id}: test {check.test} finds nothing to judge in study {study} where {check.where}"
                )


def _row(
    claim: Claim,
    method: str,
    label: str,
    found: list[tuple[str, str, Comparison]],
    scale: str,
) -> dict[str, Any]:
    verdict = _verdict([comparison for _, _, comparison in found])
    deciding = [entry for entry in found if entry[2].verdict == verdict]
    study, test, worst = min(deciding, key=lambda entry: entry[2].slack)
    return {
        **_identity(claim),
        "label": label,
        "verdict": verdict,
        "expected": claim.expected.get(method, claim.expected["default"]),
        "statistic": worst.statistic,
        "low": worst.low,
        "high": worst.high,
        "bound": worst.bound,
        "slack": worst.slack,
        "trials": worst.trials,
        "comparisons": len(found),
        "case": worst.case,
        "test": test,
        "study": study,
        "scale": scale,
        "dataset": claim.dataset,
        "method": method,
    }


def _identity(claim: Claim) -> dict[str, str]:
    return {"claim": claim.id, "paper": claim.paper, "place": claim.place}


def _not_run(claim: Claim, scale: str) -> dict[str, Any]:
    return {
        **_identity(claim),
        "label": "",
        "verdict": "not run",
        "expected": claim.expected["default"],
        "study": " ".join(sorted(_studies(claim))),
        "scale": scale,
        "dataset": claim.dataset,
    }
