"""Rows: their dictionary of columns, and each of their constructors."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.measure.column import AXES, Column
from sketchbench.measure.row import MEDIAN, Row, exceeding
from sketchbench.measure.summary import summarize

Values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


# The dictionary of columns


@pytest.mark.parametrize("column", Column)
def test_a_column_is_documented(column: Column) -> None:
    """Its name is the text itself; it has a meaning, and a number has one of the types that tables know."""
    assert column == column.value == column.name.lower()
    assert " " in column.meaning
    assert isinstance(column.unit, str)
    assert column.kind in (str, int, float)
    assert not (column.unit and column.kind is str)


def test_axes() -> None:
    """From case to share, in the order in which comparisons are named; nothing that is measured is among them."""
    assert AXES[0] is Column.CASE
    assert AXES[-1] is Column.SHARE
    assert list(Column)[2:5] == [Column.QUANTITY, Column.CASE, Column.LEMMA]
    assert [Column.D, Column.B, Column.S, Column.K] == [axis for axis in AXES if len(axis) == 1]
    assert not {Column.QUANTITY, Column.METHOD, Column.BOUND, Column.MEAN, Column.STATUS} & set(AXES)
    assert sorted(AXES, key=list(Column).index) == AXES


# The row itself


def test_a_row_is_a_mapping() -> None:
    row = Row("loss", case="srht", round=3, bound=None)
    assert isinstance(row, Mapping)
    assert dict(row) == {"quantity": "loss", "case": "srht", "round": 3}
    assert row[Column.CASE] == row["case"] == "srht"
    assert Column.BOUND not in row
    assert row.get(Column.BOUND) is None
    assert len(row) == 3
    assert row == {"quantity": "loss", "case": "srht", "round": 3}
    assert eval(repr(row)) == row  # repr is how it is made


def test_a_row_is_immutable() -> None:
    row = Row("loss")
    with pytest.raises(TypeError, match="does not support item assignment"):
        row["case"] = "srht"  # type: ignore[index]
    with pytest.raises(TypeError, match="deletion"):
        del row["quantity"]  # type: ignore[attr-defined]
    assert not hasattr(row, "pop")
    assert not hasattr(row, "update")


@pytest.mark.parametrize("name", ["means", "Mean", "", "b "])
def test_unknown_column(name: str) -> None:
    message = re.escape(f"column {name} is unknown; add it, with its meaning, to sketchbench.measure.column.Column")
    with pytest.raises(ValueError, match=message):
        Row("loss", **{name: 1})
    with pytest.raises(ValueError, match=message):
        Row("loss").replace(**{name: 1})


WRONG = [
    ("round", 3.0, "int"),
    ("round", True, "int"),
    ("round", np.int64(3), "int"),
    ("mean", True, "float"),
    ("mean", "0.5", "float"),
    ("mean", np.float64(0.5), "float"),
    ("mean", np.ones(2), "float"),
    ("case", 1, "str"),
    ("case", Column.CASE, "str"),
    ("status", ["finite"], "str"),
]


@pytest.mark.parametrize(("name", "value", "kind"), WRONG, ids=repr)
def test_wrong_type(name: str, value: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"column {name} must hold {kind}, not .* \\({type(value).__name__}\\)"):
        Row("loss", **{name: value})


@pytest.mark.parametrize("quantity", [1, 0.5, True, None])
def test_the_quantity_is_a_text(quantity: Any) -> None:
    with pytest.raises(TypeError, match="column quantity must hold str"):
        Row(quantity)
    with pytest.raises(TypeError, match="column quantity must hold str"):
        Row("loss").replace(quantity=quantity)


# What came out


@given(Values)
def test_mean(values: list[float]) -> None:
    row = Row("loss", case="srht", exact=1.0).mean(values)
    assert dict(row) == {"quantity": "loss", "case": "srht", "exact": 1.0, **summarize(values)}
    assert Row("loss", case="srht", exact=1.0).mean(np.array(values)) == row


def test_mean_of_one() -> None:
    row = Row("loss").mean([0.5])
    assert dict(row) == {"quantity": "loss", "trials": 1, "mean": 0.5, "minimum": 0.5, "maximum": 0.5}


def test_counted() -> None:
    row = Row("survives", bound=MEDIAN).counted(np.int64(3), np.int64(5))  # type: ignore[arg-type]
    assert dict(row) == {"quantity": "survives", "bound": 0.5, "count": 3, "trials": 5}
    assert type(row["count"]) is type(row["trials"]) is int


def test_exceedances() -> None:
    row = Row("error").exceedances([0.5, 1.0, 1.0 + 1e-12, 1.0 + 1e-6, 2], 1)
    assert dict(row) == {"quantity": "error", "bound": 1.0, "count": 2, "trials": 5, "maximum": 2.0}


@given(Values, st.floats(0, 1e6))
def test_exceeding(values: list[float], bound: float) -> None:
    assert exceeding(np.array(values), bound) == sum(value > bound * (1 + 1e-9) for value in values)


def test_number() -> None:
    assert dict(Row("bytes").number(np.float64(3))) == {"quantity": "bytes", "value": 3.0}
    assert type(Row("bytes").number(3)["value"]) is float


def test_lost() -> None:
    row = Row("loss", case="srht").without_number("diverged", "at round 3", trials=4)
    assert dict(row) == {"quantity": "loss", "case": "srht", "status": "diverged", "reason": "at round 3", "trials": 4}
    assert dict(Row("loss").without_number("refused")) == {"quantity": "loss", "status": "refused"}


def test_but() -> None:
    row = Row("loss", case="srht", round=3)
    assert row.replace(case="ams", bound=1.0) == Row("loss", case="ams", round=3, bound=1.0)
    assert row.replace(round=None) == Row("loss", case="srht")
    assert row.replace(quantity="accuracy") == Row("accuracy", case="srht", round=3)
    assert row.replace() == row
