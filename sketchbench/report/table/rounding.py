"""Rounding of tables: each number keeps the digits that another processor would find, too.

Processors differ in the last bits of a float64, about 1e-15 of a number and up to 1e-12 after long sums. Records keep
all bits; a table keeps, of

- a mean over at least two trials that vary, the digits down to a thousandth of its standard error, so that rounding
  moves no end of an interval by more than a two-thousandth of that error;
- sd, skewness, minimum, maximum and the single trial of a row, 6 significant digits;
- everything else (values without randomness, bounds, exact values, settings), 10 significant digits, as criteria
  compare such numbers up to a relative 1e-9.

Whole numbers, such as counts and bytes, stay as they are. Digits below 1e-14 are dropped, as quantities are of order 1
or have bounds far above that. Trials that differ by less than 1e-12 of max(1, |mean|) differ by rounding alone: their
sd and skewness are 0.
"""

import numpy as np
import pandas as pd

from sketchbench.measure.column import Column

DIGITS, FEW = 10, 6  # significant digits
SMALLEST = -14  # the power of ten of the last digit that is kept
PART = 1e-3  # of the standard error of a mean
NOISE = 1e-12  # relative: where trials differ by less, they are the same
SPREADS = (Column.SD, Column.SKEWNESS, Column.MINIMUM, Column.MAXIMUM)


def rounded(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its floats rounded, by the rule above."""
    table = table.copy()
    error = np.zeros(len(table))
    if Column.SD in table:
        same = table[Column.SD] <= NOISE * table[Column.MEAN].abs().clip(lower=1)
        table.loc[same, [Column.SD, Column.SKEWNESS]] = 0.0
        error = (table[Column.SD] / np.sqrt(table[Column.TRIALS])).fillna(0).to_numpy(float)
    single = (table[Column.TRIALS] == 1).to_numpy() if Column.TRIALS in table else False
    for name in [column for column, kind in table.dtypes.items() if kind == np.float64]:
        values = table[name].to_numpy()
        few = single if name == Column.MEAN else name in SPREADS
        unit = _power(values) - np.where(few, FEW, DIGITS) + 1
        if name == Column.MEAN:
            unit = np.maximum(unit, _power(PART * error))
        table[name] = _round(values, np.maximum(unit, SMALLEST))
    return table


def _power(values: np.ndarray) -> np.ndarray:
    """The power of ten of the first digit of each number; -300 for 0 and for what is no number."""
    known = np.isfinite(values) & (values != 0)
    return np.floor(np.log10(np.abs(values), out=np.full(len(values), -300.0), where=known)).astype(int)


def _round(values: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Each number rounded to a multiple of its power of ten; whole ones stay."""
    result = values.copy()
    with np.errstate(invalid="ignore"):
        fractional = np.isfinite(values) & (values != np.rint(values))
    for power in np.unique(powers[fractional]):
        chosen = fractional & (powers == power)
        result[chosen] = np.round(values[chosen], -int(power)) + 0.0  # and no negative zero
    return result
