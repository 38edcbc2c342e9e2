"""Join printed cells with measured numbers: a row for each cell, with whether the two agree, and why.

`agreement` has the rules. A cell is open if its study has no table here, or if it is of the papers' size and the tables
are of another scale.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sketchbench.base.files import write_text
from sketchbench.base.parameters import choose
from sketchbench.base.project import CONF
from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.inputs import printed_inputs
from sketchbench.report.printed.agreement import (
    OPEN,
    UNPRINTED,
    CellOutcome,
    judge_claim,
    judge_digits,
    judge_draw,
    judge_single,
    number,
)
from sketchbench.report.printed.transcription import OF_CLAIMS, PrintedCell, PrintedError, read_printed
from sketchbench.report.table.reading import COLUMNS, read_table
from sketchbench.run.config.chapters import claims as claim_files
from sketchbench.run.config.schema import load

PAPERS = "paper"  # the scale that measures at the papers' size
SAME = 1e-9  # relative difference of numbers that count as equal
LAST = "last"  # instead of a round: the last measured round, which the reason then names
VERDICTS = ("claim", "role", "method", "verdict", "statistic", "low", "high", "bound", "trials")
MEANINGS: dict[str, str] = load(Path(__file__).with_name("columns.yaml"))  # of the columns of printed.csv


def compare(
    tables: Sequence[Path], printed: Sequence[Path], verdicts: Path, scale: str, older: Sequence[str] = (), *, csv: Path
) -> None:
    """Write the cells of the papers' tables and figures beside measured numbers, and seal the file.

    `tables` are sealed CSV files by study, `printed` are YAML files, and `verdicts` is the claims.csv of these tables;
    `scale` and `older` are as in `join`.

    Raises, in one line, ValueError for an invalid file, and FileError (an OSError) for a file that can't be written.
    """
    frames = {path.stem: read_table(path, "table", COLUMNS, scale=scale) for path in tables}
    joined = join(read_printed(printed), frames, read_table(verdicts, "claims", VERDICTS, scale=scale), scale, older)
    write_text(csv, joined.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    made_of = printed_inputs(seal.sums(tables), seal.sums([verdicts])[verdicts.stem], printed, older)
    seal.write("printed", scale, made_of, [csv])


def join(
    cells: Sequence[PrintedCell],
    tables: Mapping[str, pd.DataFrame],
    verdicts: pd.DataFrame,
    scale: str,
    older: Collection[str] = (),
) -> pd.DataFrame:
    """The cells of `read_printed`, each beside its measured number, with the columns `MEANINGS`.

    `tables` are the available studies' tables of a scale, and `verdicts` their verdicts. Tables of the `older` studies
    are partly of older code or another plan, which the reason says.

    Raises PrintedError, in one line, for a quantity that no table has, a `where` that selects several rows, or an
    unknown claim.
    """
    known = sorted({quantity for table in tables.values() for quantity in table[Column.QUANTITY].unique()})
    claims = sorted({*verdicts["claim"], *claim_files(CONF)})  # also unjudged ones
    rows = []
    for cell in cells:
        try:
            if cell.study in tables and cell.where:
                choose("quantity", cell.where[Column.QUANTITY], known)
            if cell.claim:
                choose("claim", cell.claim, claims)
            outcome = _outcome(cell, tables, verdicts, scale)
        except ValueError as error:
            raise PrintedError(f"{cell.name}: {error}") from None
        words = [cell.reason, outcome.reason] if cell.criterion == "open" else [outcome.reason, cell.reason]
        if cell.study in older and outcome.trials:
            words.append("measured by older code, or another plan")
        row = {name: getattr(cell, name) for name in ("paper", "place", "cell", "printed", "unit", "study", "claim")}
        if cell.printed is None:
            outcome = outcome._replace(agrees=UNPRINTED)
        row |= {**outcome._asdict(), "reason": "; ".join(filter(None, words)), "scale": scale}
        if not outcome.trials and math.isnan(outcome.measured):
            row["trials"] = None
        if cell.study:
            size = f"--scale {PAPERS} " if cell.size == "papers" else ""
            row["command"] = f"sketchbench results {size}--studies {cell.study}"
        rows.append({"command": "", **row})
    return pd.DataFrame(rows, columns=list(MEANINGS)).astype({"trials": "Int64"})


def _outcome(cell: PrintedCell, tables: Mapping[str, pd.DataFrame], verdicts: pd.DataFrame, scale: str) -> CellOutcome:
    """The outcome of a cell. Raises ValueError if it selects several rows."""
    if not cell.study:  # the cell has its own reason
        return CellOutcome(OPEN, "")
    if cell.size == "papers" and scale != PAPERS:
        return CellOutcome(OPEN, f"measured at the {scale} scale, but the cell is of the papers' size")
    if cell.study not in tables:
        return CellOutcome(OPEN, f"study {cell.study} has no table here")
    if cell.criterion in OF_CLAIMS:
        of_claim = verdicts[verdicts["claim"] == cell.claim]
        chosen = of_claim[Column.METHOD] == cell.method if cell.method else of_claim["role"] != "control"
        return judge_claim(cell, of_claim[chosen].to_dict("records"))
    rows = []
    for where in filter(None, (cell.where, cell.over)):
        row = _row(tables[cell.study], where)
        if row is None:
            words = ", ".join(f"{column}={value}" for column, value in where.items())
            return CellOutcome(OPEN, f"study {cell.study} has no row of {words}")
        rows.append(row)
    return _judge(cell, rows, _lenders(cell, tables)) if rows else CellOutcome(OPEN, "")


def _lenders(cell: PrintedCell, tables: Mapping[str, pd.DataFrame]) -> list[dict[Any, Any]]:
    """The rows with a spread that the cell's single trial may borrow."""
    if not cell.spread or cell.spread.study not in tables:
        return []
    rows = _rows(tables[cell.spread.study], cell.spread.where)
    return [row for row in rows.to_dict("records") if row[Column.TRIALS] > 1 and row[Column.SD] > 0]


def _judge(cell: PrintedCell, rows: Sequence[Mapping[Any, Any]], lenders: Sequence[Mapping[Any, Any]]) -> CellOutcome:
    """The outcome for the number of one row, or of two rows, the first over the second."""
    if cell.criterion == "draw":
        single = lenders and number(rows[0], Column.TRIALS) == 1 and number(rows[0], Column.MEAN) > 0
        return judge_single(cell, rows[0], lenders) if single else judge_draw(cell, rows[0])
    value, *over = (number(row, cell.column) for row in rows)
    value = value / over[0] if over else value
    if cell.criterion == "digits":
        return judge_digits(cell, value)
    reason = f"measured after round {rows[0][Column.ROUND]:.0f}" if cell.where.get(Column.ROUND) == LAST else ""
    return CellOutcome(OPEN, reason, value, trials=int(number(rows[0], Column.TRIALS, 0.0)))


def _row(table: pd.DataFrame, where: Mapping[str, Any]) -> Mapping[Any, Any] | None:
    """The only row with these values, or None. Raises ValueError for several rows."""
    rows = _rows(table, where)
    if where.get(Column.ROUND) == LAST and len(rows):
        rows = rows[rows[Column.ROUND] == rows[Column.ROUND].max()]
    if len(rows) > 1:
        raise ValueError(f"where={dict(where)} selects {len(rows)} rows; name more columns")
    return rows.iloc[0].to_dict() if len(rows) else None


def _rows(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """All rows with these values, of any round if the last is wanted; none if a column is missing."""
    rows = table
    for column, wanted in where.items():
        if column not in rows:
            return rows[:0]
        if column != Column.ROUND or wanted != LAST:
            rows = rows[_equals(rows[column], wanted)]
    return rows


def _equals(values: "pd.Series[Any]", wanted: Any) -> np.ndarray:
    """Whether each value of a column equals the wanted value."""
    if isinstance(wanted, bool | str) or not pd.api.types.is_numeric_dtype(values):
        return (values == wanted).to_numpy()
    return np.isclose(values.to_numpy(dtype=float), wanted, rtol=SAME, atol=0)
