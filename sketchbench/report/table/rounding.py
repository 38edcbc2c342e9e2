"""Round tables to the digits that another processor reproduces.

Processors differ in the last bits of a float64: by about 1e-15 of a number, and up to 1e-12 after long sums. Records
keep all bits. Tables keep

- means of at least two varying trials to a thousandth of the standard error, so that rounding moves an interval's ends
  by at most a two-thousandth of that error;
- sd, skewness, minimum, maximum and a row's single trial to 6 significant digits;
- all other numbers (deterministic values, bounds, exact values, settings) to 10 significant digits, since criteria
  compare them up to a relative 1e-9.

Whole numbers, such as counts and bytes, keep all digits. No number keeps digits below 1e-14, since quantities are of
order 1 or have far larger bounds. Trials within 1e-12 of max(1, |mean|) differ by rounding alone, so their sd and
skewness are 0.
"""

import numpy as np
import pandas as pd

from sketchbench.measure.column import Column

DIGITS, FEW = 10, 6  # significant digits
SMALLEST = -14  # the power of ten of the last digit that is kept
PART = 1e-3  # of the standard error of a mean
NOISE = 1e-12  # relative; trials that differ by less are equal
SPREADS = (Column.SD, Column.SKEWNESS, Column.MINIMUM, Column.MAXIMUM)


def rounded(table: pd.DataFrame) -> pd.DataFrame:
    """Round the floats of a table by the rules above."""
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
    """The power of ten of each number's first digit; -300 for 0, infinities and NaN."""
    known = np.isfinite(values) & (values != 0)
    return np.floor(np.log10(np.abs(values), out=np.full(len(values), -300.0), where=known)).astype(int)


def _round(values: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Round each number to a multiple of its power of ten; whole numbers stay."""
    result = values.copy()
    with np.errstate(invalid="ignore"):
        fractional = np.isfinite(values) & (values != np.rint(values))
    for power in np.unique(powers[fractional]):
        chosen = fractional & (powers == power)
        result[chosen] = np.round(values[chosen], -int(power)) + 0.0  # and no negative zero
    return result
