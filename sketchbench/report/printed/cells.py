"""Printed cells joined with what was measured: a row for each cell, with whether the two agree, and why.

The rule is in `agreement`. A cell is open, whatever was measured, where its text has no number, where its study has no
table here, and where it is of the papers' size and the tables are of another scale.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sketchbench.files import write_text
from sketchbench.measure.column import Column
from sketchbench.parameters import choose
from sketchbench.report import seal
from sketchbench.report.printed.agreement import OPEN, Outcome, judge_claim, judge_digits, judge_draw
from sketchbench.report.printed.transcription import OF_CLAIMS, PrintedCell, PrintedError, read_printed
from sketchbench.report.standing import printed_inputs
from sketchbench.report.table.reading import COLUMNS, read_table

PAPERS = "paper"  # the scale that measures at the papers' size
SAME = 1e-9  # relative difference of numbers in a table that count as equal
LAST = "last"  # in the place of a round: the last measured one, which the reason then names
VERDICTS = ("claim", "role", "method", "verdict", "statistic", "low", "high", "bound", "trials")
# meanings of the columns of printed.csv
MEANINGS = {
    "paper": "key of the paper",
    "place": "table or figure of the paper",
    "cell": "cell of the table, or statement about the figure",
    "printed": "number as the paper prints it; empty where its text gives no number",
    "unit": "unit of the printed and the measured number",
    "measured": "measured number; empty where a claim judges the cell, or nothing was measured",
    "low": "lower end of the interval that must contain the printed number",
    "high": "upper end of that interval",
    "trials": "trials behind the measured number; 0 for a computed number",
    "scale": "scale of the tables",
    "agrees": "agrees, differs or open",
    "reason": "reason of the outcome, in words",
    "study": "study whose table has the measured number",
    "claim": "claim that judges the cell, if one does",
    "command": "command that makes the study's table again, at the size of the cell",
}


def compare(
    tables: Sequence[Path],
    printed: Sequence[Path],
    verdicts: Path,
    scale: str,
    older: Sequence[str] = (),
    *,
    csv: Path,
) -> None:
    """Write the papers' tables and figures, cell by cell, beside what was measured, and seal the file.

    Arguments:
        tables: CSV by study, sealed; cells of other studies are open.
        printed: YAML files.
        verdicts: claims.csv, made of these tables.
        scale: that they are of.
        older: studies whose tables are of older code.
        csv: the file to write.

    Raises:
        ValueError: in one line, for a file that is not what it must be.
        FileError: (an OSError) where it can't be written.
    """
    cells = read_printed(printed)
    frames = {path.stem: read_table(path, "table", COLUMNS, scale=scale) for path in tables}
    judged = read_table(verdicts, "claims", VERDICTS, scale=scale)
    joined = join(cells, frames, judged, scale, older)
    write_text(csv, joined.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    made_of = printed_inputs(seal.sums(tables), seal.sums([verdicts])[verdicts.stem])
    seal.write("printed", scale, made_of, [csv])


def join(
    cells: Sequence[PrintedCell],
    tables: Mapping[str, pd.DataFrame],
    verdicts: pd.DataFrame,
    scale: str,
    older: Collection[str] = (),
) -> pd.DataFrame:
    """The cells, each beside its measured number, with the columns `MEANINGS`.

    Arguments:
        cells: of `read_printed`.
        tables: the tables of studies at hand, by name; others may be missing.
        verdicts: the table of all verdicts, made of the same tables.
        scale: that they are of.
        older: the studies whose tables are, at least in part, of older code or another plan, which the reason says.

    Raises:
        PrintedError: in one line, for a quantity that none of the tables has, a `where` that selects several rows, or
            an unknown claim.
    """
    known = sorted({quantity for table in tables.values() for quantity in table[Column.QUANTITY].unique()})
    rows = []
    for cell in cells:
        try:
            if cell.study in tables and cell.where:
                choose("quantity", cell.where[Column.QUANTITY], known)
            outcome = _outcome(cell, tables, verdicts, scale)
        except ValueError as error:
            raise PrintedError(f"{cell.name}: {error}") from None
        found = outcome._asdict()
        words = [cell.reason, outcome.reason] if cell.criterion == "open" else [outcome.reason, cell.reason]
        if cell.study in older and outcome.trials:
            words.append("measured by older code, or another plan")
        found["reason"] = "; ".join(filter(None, words))
        if not found["trials"] and math.isnan(outcome.measured):
            found["trials"] = None
        said = {name: getattr(cell, name) for name in ("paper", "place", "cell", "printed", "unit", "study", "claim")}
        rows.append({**said, **found, "scale": scale, "command": _command(cell)})
    return pd.DataFrame(rows, columns=list(MEANINGS)).astype({"trials": "Int64"})


def _outcome(cell: PrintedCell, tables: Mapping[str, pd.DataFrame], verdicts: pd.DataFrame, scale: str) -> Outcome:
    """The outcome of a cell; ValueError as above."""
    if cell.claim:
        choose("claim", cell.claim, sorted(verdicts["claim"].unique()))
    if not cell.study:  # whose own reason says why
        return Outcome(OPEN, "")
    if reason := _unmeasured(cell, tables, scale):
        return Outcome(OPEN, reason)
    table = tables[cell.study]
    if cell.criterion in OF_CLAIMS:
        return judge_claim(cell, _verdicts(cell, verdicts))
    rows = [_row(table, where) for where in (cell.where, cell.over) if where]
    if not rows:
        return Outcome(OPEN, "")
    if None in rows:
        words = ", ".join(f"{column}={value}" for column, value in (cell.where, cell.over)[rows.index(None)].items())
        return Outcome(OPEN, f"study {cell.study} has no row of {words}")
    found = [row for row in rows if row is not None]
    return judge_draw(cell, found[0]) if cell.criterion == "draw" else _number(cell, found)


def _unmeasured(cell: PrintedCell, tables: Mapping[str, pd.DataFrame], scale: str) -> str:
    """Why nothing here measures the cell, in words; empty where something may."""
    if cell.size == "papers" and scale != PAPERS:
        return f"measured at the {scale} scale, the cell is of the papers' size"
    return "" if cell.study in tables else f"study {cell.study} has no table here"


def _number(cell: PrintedCell, rows: Sequence[Mapping[Any, Any]]) -> Outcome:
    """The outcome for the number of one row, or of two rows, the first over the second."""
    values = [_value(row, cell.column) for row in rows]
    value = values[0] / values[1] if len(values) > 1 else values[0]
    if cell.criterion == "digits":
        return judge_digits(cell, value)
    trials = _value(rows[0], Column.TRIALS)
    reason = f"measured after round {rows[0][Column.ROUND]:.0f}" if cell.where.get(Column.ROUND) == LAST else ""
    return Outcome(OPEN, reason, value, trials=0 if math.isnan(trials) else int(trials))


def _row(table: pd.DataFrame, where: Mapping[str, Any]) -> Mapping[Any, Any] | None:
    """The only row with these values; None where there is none. ValueError where there are several."""
    chosen = np.ones(len(table), dtype=bool)
    last = where.get(Column.ROUND) == LAST
    for column, wanted in where.items():
        if not (last and column == Column.ROUND):
            chosen &= _equals(table.get(column), wanted, len(table))
    rows = table[chosen]
    if last:
        rounds = rows.get(Column.ROUND)
        rows = rows[:0] if rounds is None else rows[rounds == rounds.max()]
    if len(rows) > 1:
        raise ValueError(f"where={dict(where)} selects {len(rows)} rows; name more columns")
    return rows.iloc[0].to_dict() if len(rows) else None


def _equals(values: "pd.Series[Any] | None", wanted: Any, size: int) -> np.ndarray:
    """Which of a column's values are the wanted one; none of a column that the table lacks."""
    if values is None:
        return np.zeros(size, dtype=bool)
    if isinstance(wanted, bool | str) or not pd.api.types.is_numeric_dtype(values):
        return (values == wanted).to_numpy()
    return np.isclose(values.to_numpy(dtype=float), wanted, rtol=SAME, atol=0)


def _value(row: Mapping[Any, Any], column: str) -> float:
    value = row.get(column)
    return math.nan if value is None else float(value)


def _verdicts(cell: PrintedCell, verdicts: pd.DataFrame) -> list[dict[Any, Any]]:
    """The verdicts of the cell's claim, on its method or on all but the controls."""
    rows = verdicts[verdicts["claim"] == cell.claim]
    rows = rows[rows[Column.METHOD] == cell.method] if cell.method else rows[rows["role"] != "control"]
    return rows.to_dict("records")


def _command(cell: PrintedCell) -> str:
    """What measures the cell; nothing where no study does."""
    scale = f"scale={PAPERS} " if cell.size == "papers" else ""
    return f"snakemake --cores all --config {scale}studies={cell.study}" if cell.study else ""
