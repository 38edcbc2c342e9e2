"""Whether verdicts are the expected ones, and what differs from those of an older run."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from sketchbench import seal
from sketchbench.claim import page
from sketchbench.claim.origin import CODE, MADE
from sketchbench.measure.row import Column
from sketchbench.table.reading import read_table

NUMBERS = ("statistic", "low", "high", Column.BOUND)
VERDICTS = ("claim", Column.METHOD, Column.LABEL, "case", "verdict", "expected", *NUMBERS)  # columns of claims.csv


def read_verdicts(path: Path) -> pd.DataFrame:
    """The verdicts of a run; SealError or TableError, in one line, where they are not whole."""
    return read_table(path, (*VERDICTS, MADE, CODE), kind="claims", texts=(MADE, CODE))


def read_older(path: Path) -> pd.DataFrame:
    """The verdicts of an older run, verified where they have a seal; from before there were seals they have none."""
    if seal.beside(path).exists():
        return read_table(path, VERDICTS, kind="claims")
    verdicts = read_table(path, VERDICTS)
    print(f"{path} has no seal: its verdicts are taken as they are", file=sys.stderr)
    return verdicts


def differences(verdicts: pd.DataFrame) -> list[str]:
    """A line for each verdict that is not the expected one."""
    rows = page.surprising(verdicts)
    return [
        f"{row.claim} {row.label}: {row.verdict}, expected {row.expected} "
        f"({row.case}: {row.statistic:.4g} in [{row.low:.4g}, {row.high:.4g}], bound {row.bound:.4g})"
        for row in rows.itertuples()
    ]


def changes(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    """A line for each verdict that differs from an older run's, or that follows from other numbers.

    Numbers are the same where they agree to 6 significant digits. Where any verdict is expected, as of times, neither
    it nor its numbers are compared.
    """
    key = ["claim", Column.METHOD]
    both = old.merge(new, on=key, how="outer", suffixes=("", "_new"), indicator=True)
    lines = []
    for row in both.to_dict("records"):
        name = f"{row['claim']} {row[Column.METHOD]}"
        if row["_merge"] != "both":
            lines.append(f"{name}: only in the {'older' if row['_merge'] == 'left_only' else 'newer'}")
        elif row["expected_new"] == "any":
            continue
        elif row["verdict"] != row["verdict_new"]:
            lines.append(f"{name}: {row['verdict_new']}, was {row['verdict']}")
        else:
            lines += [
                f"{name}: {column} {row[f'{column}_new']:.8g}, was {row[column]:.8g}"
                for column in NUMBERS
                if not np.isclose(row[column], row[f"{column}_new"], 1e-6, 1e-9, equal_nan=True)
            ]
    return lines
