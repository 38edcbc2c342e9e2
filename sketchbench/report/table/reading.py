"""Read tables from sealed reports."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report import seal

COLUMNS = (Column.METHOD, Column.LABEL, Column.QUANTITY)  # of every table of a study


class TableError(ValueError):
    """A file other than the expected table; the message names it."""


def read_table(
    path: Path, kind: str, columns: Iterable[str] = (), *, scale: str | None = None, texts: Iterable[str] = ()
) -> pd.DataFrame:
    """Read a CSV file with these columns by `seal.content`; columns in `texts` are strings, even of digits.

    Raises, in one line, SealError if the file does not match its seal, TableError if it is another table.
    """
    content = seal.content(path, kind, scale)
    again = seal.command(kind, scale, path)
    try:
        table = _parsed(io.BytesIO(content), texts)
    except ValueError as error:  # pandas' own errors are ValueErrors
        raise TableError(f"can't read {path}: {' '.join(str(error).split())}; run {again}") from None
    if missing := sorted(set(map(str, columns)) - set(table)):
        raise TableError(f"{path} lacks the columns {', '.join(missing)}; is it another table?")
    if table.empty:
        raise TableError(f"{path} has no rows; run {again}")
    return table


def read_unsealed(path: Path, texts: Iterable[str] = ()) -> pd.DataFrame:
    """Read this machine's verdicts on times, which have no seal, since no report is made of them."""
    return _parsed(io.BytesIO(path.read_bytes()), texts)


def _parsed(file: io.BytesIO, texts: Iterable[str]) -> pd.DataFrame:
    types: dict[str, Any] = dict.fromkeys(texts, str)
    return pd.read_csv(file, dtype=types, keep_default_na=False, na_values=[""])  # a method may be called None
