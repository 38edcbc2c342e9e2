"""Claims and tables to verdicts."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import yaml

from sketchbench.claim.tests import TESTS, Comparison, Settings, Verdict

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

    subjects: sketches to speak of (None: all that are not controls); left_out: sketches not to.
    expected: the verdict that we expect, by sketch, with `default` for the rest.
    """

    id: str
    paper: str
    place: str
    statement: str
    dataset: str
    checks: tuple[Check, ...]
    expected: dict[str, Verdict]
    reason: str
    subjects: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = field(default=())

    def speaks_of(self, sketch: str) -> bool:
        if self.subjects is not None:
            return sketch in self.subjects
        return sketch not in self.left_out and not sketch.startswith("control/")


def read_claims(paths: Iterable[Path], schema: Path) -> list[Claim]:
    """The claims of these files, in order of their ids.

    Raises ClaimError, in one line, for a file that does not fit the schema or names no known test.
    """
    rules = yaml.safe_load(schema.read_text())
    claims = []
    for path in sorted(paths, key=lambda path: _order(path.stem)):
        text = yaml.safe_load(path.read_text())
        try:
            jsonschema.validate(text, rules)
        except jsonschema.ValidationError as error:
            place = "/".join(str(step) for step in error.absolute_path) or "the top"
            raise ClaimError(f"{path}: at {place}: {error.message}") from None
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
            raise ClaimError(
                f"{path}: test {check['test']} is unknown; choose from {', '.join(TESTS)}"
            )
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
        reason=text.get("reason", ""),
        subjects=tuple(text["subjects"]) if "subjects" in text else None,
        left_out=tuple(text.get("left_out", ())),
    )


def _select(tables: dict[str, pd.DataFrame], check: Check, study: str, sketch: str) -> pd.DataFrame:
    """The rows of a table that a check of one sketch is about."""
    table = tables[study]
    chosen = table["sketch"] == sketch
    for column, value in check.where.items():
        if column not in table:
            raise ClaimError(f"the table of {study} has no column {column} to select by")
        chosen &= table[column].isin(value if isinstance(value, list) else [value])
    rows = table[chosen]
    missing = {name: float("nan") for name in ("exact", "bound") if name not in rows}
    return rows.assign(**missing)


def _judge(
    claim: Claim, tables: dict[str, pd.DataFrame], sketch: str, error: float
) -> list[tuple[str, str, Comparison]]:
    """Every comparison of a claim for one sketch, with its study and test."""
    return [
        (study, check.test, comparison)
        for check in claim.checks
        for study in check.studies
        if study in tables
        for comparison in TESTS[check.test](
            _select(tables, check, study, sketch), error, check.settings
        )
    ]


def _labels(claim: Claim, tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    """The sketches that a claim speaks of in these tables, with their labels."""
    studies = {study for check in claim.checks for study in check.studies if study in tables}
    labels: dict[str, str] = {}
    for study in sorted(studies):
        pairs = tables[study][["sketch", "label"]].drop_duplicates()
        labels |= dict(pairs.itertuples(index=False, name=None))
    return {s: label for s, label in sorted(labels.items()) if claim.speaks_of(s)}


def _verdict(comparisons: list[Comparison]) -> Verdict:
    """A claim holds where every comparison does, and fails where one fails."""
    verdicts = {comparison.verdict for comparison in comparisons}
    for verdict in ("fails", "inconclusive"):
        if verdict in verdicts:
            return verdict
    return "holds"


def evaluate(
    claims: list[Claim], tables: dict[str, pd.DataFrame], scale: str
) -> tuple[pd.DataFrame, int]:
    """One row per claim and subject, and the number of comparisons that share the error rate.

    tables: by study. A claim without any table is `not run`.
    """
    subjects = [
        (claim, sketch, label)
        for claim in claims
        for sketch, label in _labels(claim, tables).items()
    ]
    count = sum(len(_judge(claim, tables, sketch, 0.5)) for claim, sketch, _ in subjects)
    error = FAMILY_WISE_ERROR / max(count, 1)
    rows = []
    for claim in claims:
        judged = False
        for _, sketch, label in (entry for entry in subjects if entry[0] is claim):
            found = _judge(claim, tables, sketch, error)
            if found:
                judged = True
                rows.append(_row(claim, sketch, label, found, scale))
        if not judged:
            rows.append(_not_run(claim, scale))
    return pd.DataFrame(rows), count


def _row(
    claim: Claim,
    sketch: str,
    label: str,
    found: list[tuple[str, str, Comparison]],
    scale: str,
) -> dict[str, Any]:
    verdict = _verdict([comparison for _, _, comparison in found])
    deciding = [entry for entry in found if entry[2].verdict == verdict]
    study, test, worst = min(deciding, key=lambda entry: entry[2].slack)
    return {
        **_identity(claim),
        "subject": label,
        "verdict": verdict,
        "expected": claim.expected.get(sketch, claim.expected["default"]),
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
        "sketch": sketch,
    }


def _identity(claim: Claim) -> dict[str, str]:
    return {"claim": claim.id, "paper": claim.paper, "place": claim.place}


def _not_run(claim: Claim, scale: str) -> dict[str, Any]:
    studies = sorted({study for check in claim.checks for study in check.studies})
    return {
        **_identity(claim),
        "subject": "",
        "verdict": "not run",
        "expected": claim.expected["default"],
        "study": " ".join(studies),
        "scale": scale,
        "dataset": claim.dataset,
    }
