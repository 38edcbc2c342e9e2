"""The row: what a task writes, and what tables, claims and figures read.

A result is a list of rows, and a row says one thing: a quantity, where it was measured, and what came out. What may
stand in a row is listed, with its meaning and unit, in `measure.column`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from sketchbench.measure.column import check_value
from sketchbench.measure.summary import ROUNDING, summarize

Value = bool | int | float | str | None
Status = Literal["finite", "diverged", "unfinished", "accounted", "out of range", "refused"]

MEDIAN = 0.5  # the bound of a count that is about the median trial: an event of at most half of them lies beyond it


class Row(Mapping[str, Value]):
    """One row, immutable: a mapping from column names to values, columns without a value left out.

    It is made in two steps, first what it is about, then what came out:

    >>> row = Row("loss", case="srht", round=10, bound=1.0).mean([0.5, 0.7])
    >>> row["mean"], row["trials"], row.get("exact")
    (0.6, 2, None)

    Arguments:
        quantity: what the row is about.
        columns: values by the names of `Column`.

    Raises:
        ValueError: for a column that `Column` does not list.
        TypeError: for a value that is not of the column's type (an int will do for a float).
    """

    def __init__(self, quantity: str, /, **columns: Value) -> None:
        given = {name: value for name, value in columns.items() if value is not None}
        self._values: dict[str, Value] = {"quantity": quantity, **given}
        for name, value in self._values.items():
            check_value(name, value)

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        columns = [f"{name}={value!r}" for name, value in self._values.items() if name != "quantity"]
        return f"Row({', '.join([repr(self['quantity']), *columns])})"

    def but(self, **columns: Value) -> "Row":
        """The row with further columns, or other values in those that it has."""
        merged = {**self._values, **columns}
        return Row(cast(str, merged.pop("quantity")), **merged)  # where it is no text, Row refuses it

    def mean(self, values: ArrayLike) -> "Row":
        """A mean over trials, with what its interval needs. Values (trials,); a single one has no spread.

        Raises FloatingPointError for a value that is not finite.
        """
        measured = np.asarray(values, dtype=np.float64)
        if measured.size == 1:
            only = float(measured[0])
            if not np.isfinite(only):
                raise FloatingPointError(f"the only trial gave {only}; results must be finite")
            return self.but(trials=1, mean=only, minimum=only, maximum=only)
        return self.but(**summarize(measured))

    def counted(self, count: int, trials: int) -> "Row":
        """An event that happened in `count` of the trials. Raises ValueError for counts that can't be."""
        if count != int(count) or trials != int(trials) or not 0 <= count <= trials:
            raise ValueError(f"count={count} of trials={trials} must be integers with 0 <= count <= trials")
        return self.but(count=int(count), trials=int(trials))

    def exceedances(self, values: ArrayLike, bound: float) -> "Row":
        """How many of the values (trials,) exceed a bound by more than rounding, and the largest value of all."""
        measured = np.asarray(values, dtype=np.float64)
        return self.but(
            bound=float(bound),
            count=exceeding(measured, bound),
            trials=measured.size,
            maximum=float(measured.max()),
        )

    def number(self, value: float) -> "Row":
        """A number without randomness. Raises FloatingPointError for one that is not finite."""
        if not np.isfinite(value):
            raise FloatingPointError(f"value={value} must be finite; where there is no number, see `lost`")
        return self.but(value=float(value))

    def lost(self, status: Status, reason: str | None = None, trials: int | None = None) -> "Row":
        """No number: the status says what happened, the reason why."""
        return self.but(status=status, reason=reason, trials=trials)


def exceeding(values: Any, bound: float) -> int:
    """How many values, of any array kind, exceed a bound by more than rounding."""
    return int((values > bound * (1 + ROUNDING)).sum())
