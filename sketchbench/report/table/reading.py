"""Reading a sealed report that is a table, with errors of one line."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report import seal

COLUMNS = (Column.METHOD, Column.LABEL, Column.QUANTITY)  # of every table of a study


class TableError(ValueError):
    """A file that is not the table in question; the message names it."""


def read_table(
    path: Path, kind: str, columns: Iterable[str] = (), *, scale: str | None = None, texts: Iterable[str] = ()
) -> pd.DataFrame:
    """The table of a CSV file that is sealed as `seal.content` says, with these columns among others; those that are
    `texts` are so even where they look like numbers.

    Raises, in one line, SealError for a file without a seal that fits, TableError for one that is no such table.
    """
    content = seal.content(path, kind, scale)
    again = seal.command(kind, scale, path)
    try:
        options: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}  # a method may be called None
        table = pd.read_csv(io.BytesIO(content), dtype=dict.fromkeys(texts, str), **options)
    except ValueError as error:  # pandas' own errors are ValueErrors
        raise TableError(f"can't read {path}: {' '.join(str(error).split())}; run {again}") from None
    if missing := sorted(set(map(str, columns)) - set(table)):
        raise TableError(f"{path} lacks the columns {', '.join(missing)}; is it another table?")
    if table.empty:
        raise TableError(f"{path} has no rows; run {again}")
    return table


def read_unsealed(path: Path, texts: Iterable[str] = ()) -> pd.DataFrame:
    """The verdicts on times of this machine, whose file has no seal, as no other report is made of them."""
    options: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
    return pd.read_csv(path, dtype=dict.fromkeys(texts, str), **options)
