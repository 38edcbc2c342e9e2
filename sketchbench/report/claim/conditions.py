"""The conditions that a claim names: values of columns. A claim holds only if each condition was measured."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report.claim.claims import Check, Claim
from sketchbench.report.claim.judging import Measured
from sketchbench.report.claim.verdict import NEEDS

REFUSED = "refused"  # the status of a row whose method can't do what the row asks, such as a size


class AskedValue(NamedTuple):
    """A value that a check asks for."""

    column: str
    value: Any

    def __str__(self) -> str:
        return f"{self.column}={self.value}"


def missing(claim: Claim, tables: Mapping[str, Measured], method: str) -> list[str]:
    """The conditions of a claim without a number of this method, as `participation=0.01`, in the order of the checks.

    A condition counts as there if the method refuses it, or if the claim's `may_lack` allows it. A check without any
    number of a method, in a study that has the method, lacks all its conditions; one that is allowed excuses it.
    """
    found = dict.fromkeys(
        str(condition)
        for check in claim.checks
        for study in check.studies
        if method in tables[study].labels
        for condition in _lacking(claim, check, tables[study], method)
    )
    return list(found)


def _lacking(claim: Claim, check: Check, table: Measured, method: str) -> list[AskedValue]:
    """The conditions of a check that a table lacks for a method, without the conditions that may be missing."""
    asked = {column: values if isinstance(values, list) else [values] for column, values in check.where.items()}
    rows, refused = table.select(check, method), _refused(table.rows(method), asked)
    rows = rows[rows[list(NEEDS[check.criterion])].notna().all(axis=1)]
    gone = [AskedValue(column, value) for column in asked for value in asked[column] if value not in set(rows[column])]
    excused = [
        one for one in gone if one.value in claim.may_lack.get(one.column, ()) or one.value in set(refused[one.column])
    ]
    return [] if rows.empty and excused else [one for one in gone if one not in excused]


def _refused(rows: pd.DataFrame, asked: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """A method's rows that refuse what is asked; the quantity of such a row tells nothing."""
    rows = rows[rows[Column.STATUS] == REFUSED] if Column.STATUS in rows else rows.iloc[:0]
    for column, values in asked.items():
        if column != Column.QUANTITY:
            rows = rows[rows[column].isna() | rows[column].isin(values)]
    return rows.assign(**{Column.QUANTITY: None})
