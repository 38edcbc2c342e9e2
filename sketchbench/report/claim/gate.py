"""The gate: a method that breaks the contract has no other verdicts."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from sketchbench.measure.column import CONTROLS, Column

ROLE = "contract"  # the role of claims that are the contract
VOID = "void"
Row = dict[str, Any]
Method = tuple[str, str]  # its kind and its name, since a sketch and a recovery are called `count_sketch`


def apply_gate(rows: Iterable[Row], kinds: Mapping[str, str], required: Collection[str] = ()) -> list[Row]:
    """Void the verdicts of methods that break the contract; the case then lists the broken claims.

    The verdicts of a method whose contract was not measured become void, too, if its kind's contract was measured or
    is `required`: the contract's table is missing, or the method takes none of the contract's sizes. Controls, which
    are broken on purpose, keep their verdicts. An inconclusive claim of the contract changes nothing. `rows` is a table
    of verdicts; `kinds` has the kind of the methods by study.
    """
    rows = list(rows)
    broken: dict[Method, list[str]] = {}
    for row in filter(_breaks, rows):
        broken.setdefault(_method(row, kinds), []).append(row["claim"])
    measured = measured_methods(rows, kinds)
    of_kinds = {kind for kind in _contracts(rows, lambda row: kinds.get(row["study"], "")) if kind}
    gated = []
    for row in rows:
        method, reason = _method(row, kinds), ""
        if method in broken:
            reason = f"breaks the contract: {', '.join(broken[method])}"
        elif method not in measured and method[0] in of_kinds:
            reason = "the contract was not measured: it takes none of the sizes of the contract's study"
        elif method not in measured and method[0] in required:
            reason = "the contract was not measured: its table is missing"
        spared = row["role"] == ROLE or row["verdict"] == "not run" or method[1].startswith(CONTROLS)
        gated.append({**row, "verdict": VOID, Column.CASE: reason} if reason and not spared else row)
    return gated


def _method(row: Mapping[Any, Any], kinds: Mapping[str, str]) -> Method:
    return kinds.get(row["study"], ""), row.get(Column.METHOD, "")


def _breaks(row: Mapping[Any, Any]) -> bool:
    return bool(row["role"] == ROLE and row["verdict"] == "fails")


def broken_contracts(verdicts: pd.DataFrame) -> list[dict[Any, Any]]:
    """The verdicts that say that a method breaks the contract."""
    return [row for row in verdicts.to_dict("records") if _breaks(row)]


def measured_methods(rows: Iterable[Mapping[Any, Any]], kinds: Mapping[str, str]) -> set[Method]:
    """The methods whose contract was measured, by every study with a contract of their kind in a table of verdicts."""
    rows = list(rows)
    wanted = _contracts(rows, lambda row: kinds.get(row["study"], ""))
    return {
        method
        for method, studies in _contracts(rows, lambda row: _method(row, kinds)).items()
        if studies == wanted[method[0]]
    }


def _contracts(rows: Iterable[Mapping[Any, Any]], of: Callable[[Mapping[Any, Any]], Any]) -> dict[Any, set[str]]:
    """The studies that measured a contract, by a value of their rows."""
    found: dict[Any, set[str]] = {}
    for row in rows:
        if row["role"] == ROLE and row["verdict"] != "not run":
            found.setdefault(of(row), set()).add(row["study"])
    return found


def unmeasured_methods(verdicts: pd.DataFrame, kinds: Mapping[str, str]) -> list[str]:
    """The labels of methods with other verdicts but no measured contract, in alphabetical order."""
    judged = [row for row in verdicts.to_dict("records") if row["verdict"] != "not run"]
    labels = {_method(row, kinds): str(row[Column.LABEL]) for row in judged if row["role"] != ROLE}
    compared = {(kind, name) for kind, name in labels if kind and not name.startswith(CONTROLS)}
    return sorted({labels[method] for method in compared - measured_methods(judged, kinds)})
