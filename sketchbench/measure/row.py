"""The row: tasks write it; tables, claims and figures read it. A row states one thing: a quantity, the setting of its
measurement, and the outcome. `measure.column` lists the columns, with meanings and units."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from sketchbench.measure.column import check_value
from sketchbench.measure.numbers import check_real, check_some
from sketchbench.measure.summary import ROUNDING, summarize

Value = bool | int | float | str | None
Status = Literal["finite", "diverged", "unfinished", "accounted", "out of range", "refused"]

MEDIAN = 0.5  # bound of a count, for claims about the median trial: the event happens in at most half of the trials


class Row(Mapping[str, Value]):
    """One row, immutable: a mapping from names of columns to values, without the columns that have no value. It is made
    in two steps, first the quantity and its setting, then the outcome. Raises ValueError for a column that `Column`
    does not list, TypeError for a value of another type than the column's (an int will do for a float).

    >>> row = Row("loss", case="srht", round=10, bound=1.0).mean([0.5, 0.7])
    >>> row["mean"], row["trials"], row.get("exact")
    (0.6, 2, None)
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

    def replace(self, **columns: Value) -> "Row":
        """The row with these columns added or replaced."""
        merged = {**self._values, **columns}
        return Row(cast(str, merged.pop("quantity")), **merged)  # Row refuses it unless it is a string

    def mean(self, values: ArrayLike) -> "Row":
        """The row with mean, sd, skewness, minimum and maximum of values (trials,); a single value has no sd. Raises
        FloatingPointError for a non-finite value."""
        check_real("values", values)
        measured = np.asarray(values, dtype=np.float64)
        if measured.size == 1:
            only = float(measured[0])
            if not np.isfinite(only):
                raise FloatingPointError(f"the only trial gave {only}; results must be finite")
            return self.replace(trials=1, mean=only, minimum=only, maximum=only)
        return self.replace(**summarize(measured, scale=1.0))  # quantities are of order 1, as in tables

    def counted(self, count: int, trials: int) -> "Row":
        """The row with the number of trials in which an event happened; ValueError unless 0 <= count <= trials."""
        if count != int(count) or trials != int(trials) or not 0 <= count <= trials:
            raise ValueError(f"count={count} of trials={trials} must be integers with 0 <= count <= trials")
        return self.replace(count=int(count), trials=int(trials))

    def exceedances(self, values: ArrayLike, bound: float) -> "Row":
        """The row with a bound, the number of values (trials,) above it by more than rounding, and their maximum."""
        check_some("values", values)
        check_real("values", values)
        measured = np.asarray(values, dtype=np.float64)
        if np.isnan(measured).any() or np.isnan(bound):
            raise FloatingPointError(f"values and bound={bound} must be numbers; one is nan")
        return self.replace(
            bound=float(bound), count=exceeding(measured, bound), trials=measured.size, maximum=float(measured.max())
        )

    def number(self, value: float) -> "Row":
        """The row with a number without randomness. Raises FloatingPointError if it is not finite."""
        if not np.isfinite(value):
            raise FloatingPointError(f"value={value} must be finite; use `without_number` if there is no number")
        return self.replace(value=float(value))

    def without_number(self, status: Status, reason: str | None = None, trials: int | None = None) -> "Row":
        """The row with a status and a reason instead of a number."""
        return self.replace(status=status, reason=reason, trials=trials)


def exceeding(values: Any, bound: float) -> int:
    """The number of values (an array of any backend) that exceed a bound by more than rounding."""
    return int((values > bound * (1 + ROUNDING)).sum())
