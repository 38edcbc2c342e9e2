"""Reading tables that another command wrote, with errors of one line."""

import io
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report import seal

COLUMNS = (Column.METHOD, Column.LABEL, Column.QUANTITY)  # of every table of a study


class TableError(ValueError):
    """A file that is not the table in question; the message names it."""


def read_table(
    path: Path,
    columns: Iterable[str],
    made_by: str = "snakemake",
    *,
    kind: str = "",
    scale: str | None = None,
    texts: Iterable[str] = (),
) -> pd.DataFrame:
    """The table of a CSV file.

    Arguments:
        path: the file.
        columns: those that it must have.
        made_by: the command that makes it, for the message.
        kind, scale: what its seal must say that it is; no kind: it has no seal.
        texts: the columns that are texts even where they look like numbers.

    Raises:
        SealError: where it does not fit its seal.
        TableError: in one line, where it is not there, is no CSV, has no rows, or lacks a column.
    """
    try:
        source = io.BytesIO(seal.content(path, kind, scale)) if kind else path
        table = pd.read_csv(source, dtype=dict.fromkeys(texts, str))
    except seal.SealError:
        raise
    except FileNotFoundError:
        raise TableError(f"{path} is not there; run {made_by} first") from None
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        raise TableError(f"can't read {path}: {' '.join(str(error).split())}; run {made_by} again") from None
    if missing := sorted(set(map(str, columns)) - set(table)):
        raise TableError(f"{path} lacks the columns {', '.join(missing)}; is it another table?")
    if table.empty:
        raise TableError(f"{path} has no rows; run {made_by} again")
    return table
