"""Times, which differ between runs, in files that git ignores, so that a run changes no tracked file.

`tables/times/STUDY.csv` has the times of `tables/STUDY.csv`; its seal names the table's checksum.
"""

from pathlib import Path

import pandas as pd

from sketchbench.base.files import remove, write_text
from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.table.reading import COLUMNS, TableError, read_table

QUANTITIES = ("seconds", "seconds_exponent", "slower", "client_time", "server_time", "round_time")
FOLDER = "times"


def split(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a table into all other rows and times. A refused time, which has no number, is not a time."""
    numbers = [name for name in (Column.MEAN, Column.VALUE, Column.COUNT) if name in frame]
    timed = frame[Column.QUANTITY].isin(QUANTITIES) & frame[numbers].notna().any(axis=1)
    return frame[~timed], frame[timed]


def place(table: Path) -> Path:
    """The path of a table's times."""
    return table.parent / FOLDER / table.name


def write(table: Path, text: str, scale: str) -> None:
    """Write the times of a sealed table as CSV; "" removes them. Raises FileError (an OSError)."""
    path = place(table)
    if text:
        write_text(path, text)
        seal.write("times", scale, seal.digests([table]), [path])
    else:
        remove(path)
        seal.put(path, None)


def read(table: Path) -> pd.DataFrame | None:
    """Read the times of this table; None if there are none, as in a checkout without a run."""
    path = place(table)
    try:
        own = dict(seal.read(path).made_of) == seal.digests([table])
        return read_table(path, "times", COLUMNS) if own else None
    except (seal.SealError, TableError, OSError):
        return None
