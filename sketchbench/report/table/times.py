"""Times, of which no two runs agree: rows that stand apart from their table, in a file that git does not track.

So a run of the same commit leaves what is tracked as it was. The times of `tables/STUDY.csv` are in
`tables/times/STUDY.csv`, under a seal that names the table which they belong to.
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
    """A table without its times, and its times. A time that was refused, and so has no number, stays in the table."""
    numbers = [name for name in (Column.MEAN, Column.VALUE, Column.COUNT) if name in frame]
    timed = frame[Column.QUANTITY].isin(QUANTITIES) & frame[numbers].notna().any(axis=1)
    return frame[~timed], frame[timed]


def place(table: Path) -> Path:
    """The place of the times of a table."""
    return table.parent / FOLDER / table.name


def write(table: Path, text: str, scale: str) -> None:
    """Write the times of a sealed table, as CSV; "" for none. Raises FileError (an OSError)."""
    path = place(table)
    if text:
        write_text(path, text)
        seal.write("times", scale, seal.digests([table]), [path])
    else:
        remove(path)
        seal.put(path, None)


def read(table: Path) -> pd.DataFrame | None:
    """The times of a table; None where there are none of this table, as in a checkout without a run."""
    path = place(table)
    try:
        own = dict(seal.read(path).made_of) == seal.digests([table])
        return read_table(path, "times", COLUMNS) if own else None
    except (seal.SealError, TableError, OSError):
        return None
