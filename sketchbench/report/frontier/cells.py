"""The frontier: one row for each compressor, budget and setting, with every quantity measured there."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sketchbench.files import write_text
from sketchbench.measure.column import CONTROLS, Column
from sketchbench.measure.interval import mean_interval
from sketchbench.report import seal
from sketchbench.report.frontier import CONTRACT, COST, LEAKAGE, TRAINING
from sketchbench.report.table.reading import COLUMNS, read_table

ERROR = 0.05  # probability that any interval of one quantity misses
CELL = [Column.METHOD, Column.COMPRESSION]
SETTING = [Column.CASE, Column.EPSILON]
VIEWS = {"server": "server", "sum": "sum", "another client": "client", "eavesdropper": "eavesdropper"}
# meanings of the columns of frontier.csv; columns of `MEASURED` come with the ends of their interval, _low and _high
MEANINGS = {
    "method": "compressor: its config in conf/compressor",
    "label": "label of the compressor",
    "compression": "budget: all bytes of an update in float32 over those that a client may send",
    "case": "training images of each client: iid, or of one class",
    "epsilon": "ε of each record against the server; empty without privacy",
    "d": "number of parameters of the network",
    "bytes_up": "bytes that a client sends in a round",
    "bytes_down": "bytes that a client receives in a round",
    "adds_up": "whether a server that only sees the sum of the messages can do its part",
    "trials": "number of trainings",
    "accuracy": "test accuracy at the end",
    "loss": "accuracy without compression, with the same start, batches and noise, less the accuracy",
    "leak_server": "PSNR of the best attack on one client's message over that of the mean image, dB",
    "leak_sum": "leak_server, for an attack on the sum of all clients' messages",
    "leak_client": "leak_server, for an attack by another client on what the server sends",
    "leak_eavesdropper": "leak_server, for an attack on one client's message without the key",
    "ssim_server": "structural similarity of the image that the attack on one message gives",
    "property_server": "area under the ROC curve of telling a property of a client's batch from its message",
    "client_memory": "bytes that a client keeps from round to round, over those of an update",
    "server_memory": "bytes that the server keeps, over those of an update",
    "dominated": "another compressor sends no more and is more accurate, beyond both intervals",
    "refused": "reason why the compressor has no number",
    "command": "command that makes this row's training again",
}
MEASURED = ("accuracy", "loss", *(f"leak_{name}" for name in VIEWS.values()))


def join(tables: Sequence[Path], scale: str, csv: Path) -> None:
    """Join the frontier's tables, write the frontier as CSV, and seal it.

    Arguments:
        tables: CSV by study, sealed.
        scale: the scale that they are of.
        csv: the file to write.

    Raises:
        ValueError: in one line, for a file that is not what it must be.
        FileError: (an OSError) where it can't be written.
    """
    frontier = cells({path.stem: read_table(path, "table", COLUMNS, scale=scale) for path in tables})
    write_text(csv, frontier.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    seal.write("frontier", scale, seal.sums(tables), [csv])


def cells(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The frontier of these tables by study, without controls; studies other than `TRAINING` may be missing.

    Returns:
        A row for each compressor, budget, case and ε, with the columns `MEANINGS`, and _low and _high of `MEASURED`:
        the ends of intervals that hold at once for all rows of a column, except with probability 5 %. What does not
        depend on the case or ε, such as leakage, is repeated.
    """
    trained = by_setting(_ours(tables[TRAINING]))
    keys = [*CELL, *SETTING]
    found = trained[trained[Column.QUANTITY] == "accuracy"]
    facts = [*keys, Column.LABEL, Column.D, Column.BYTES_UP, Column.BYTES_DOWN, Column.TRIALS, Column.REASON]
    frontier = found.reindex(columns=facts).rename(columns={Column.REASON.value: "refused"})
    for name, quantity in (("accuracy", "accuracy"), ("loss", "accuracy_loss")):
        rows = trained[trained[Column.QUANTITY] == quantity]
        frontier = frontier.merge(_with_interval(rows, keys, name), on=keys, how="left")
    for part in _by_cell(tables):
        frontier = frontier.merge(part, on=CELL if Column.COMPRESSION in part else Column.METHOD, how="left")
    frontier["dominated"] = _dominated(frontier)
    frontier["command"] = [_command(row) for row in frontier.to_dict("records")]
    columns = [wanted for name in MEANINGS for wanted in (name, f"{name}_low", f"{name}_high")]
    kept = [name for name in columns if name in MEANINGS or name.rpartition("_")[0] in MEASURED]
    frontier = frontier.reindex(columns=kept)
    return frontier.sort_values([Column.CASE, Column.EPSILON, Column.COMPRESSION, Column.METHOD], na_position="first")


def by_setting(trained: pd.DataFrame) -> pd.DataFrame:
    """Rows of trainings whose case is that of the clients alone, with and without privacy: ε tells which."""
    return trained.assign(**{Column.CASE: trained[Column.CASE].str.removesuffix(", private")})


def _ours(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table that are not about controls, with all columns that are used here."""
    rows = table[~table[Column.METHOD].str.startswith(CONTROLS)]
    wanted = [*SETTING, Column.MEAN, Column.SD, Column.SKEWNESS, Column.TRIALS, Column.VALUE, Column.REASON]
    return rows.reindex(columns=[*rows.columns, *(name for name in map(str, wanted) if name not in rows)])


def _by_cell(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Quantities of a compressor, at one budget or at all, that depend on no setting: a table of one column each."""
    if LEAKAGE in tables:
        leaked = _ours(tables[LEAKAGE])
        for view, short in VIEWS.items():
            seen = leaked[leaked[Column.CASE] == view]
            yield _with_interval(seen[seen[Column.QUANTITY] == "lead"], CELL, f"leak_{short}")
        seen = leaked[leaked[Column.CASE] == "server"]
        for quantity, name in (("ssim", "ssim_server"), ("property_auc", "property_server")):
            yield _named(seen[seen[Column.QUANTITY] == quantity], Column.MEAN, CELL, name)
    if COST in tables:
        costs = _ours(tables[COST])
        for name in ("client_memory", "server_memory"):
            rows = costs[costs[Column.QUANTITY] == name]
            yield _named(rows.assign(both=rows[Column.MEAN].fillna(rows[Column.VALUE])), "both", CELL, name)
    if CONTRACT in tables:
        said = _ours(tables[CONTRACT])
        said = said[said[Column.QUANTITY].isin(["summed", "not_summed"])]
        sums = (said[Column.QUANTITY] == "summed") & (said["count"] == 0)
        yield _named(said.assign(sums=sums), "sums", [Column.METHOD], "adds_up")


def _named(rows: pd.DataFrame, column: str, keys: list[Column], name: str) -> pd.DataFrame:
    return rows[[*keys, column]].drop_duplicates(keys).rename(columns={str(column): name})


def _with_interval(rows: pd.DataFrame, keys: list[Column], name: str) -> pd.DataFrame:
    """The means of these rows under a name, with the ends of intervals that hold at once."""
    rows = rows[rows[Column.MEAN].notna()].drop_duplicates(keys)
    error = ERROR / max(1, len(rows))
    ends = [
        mean_interval(row[Column.MEAN], row[Column.SD], row[Column.SKEWNESS], int(row[Column.TRIALS]), error=error)
        if row[Column.TRIALS] > 1
        else (np.nan, np.nan)
        for row in rows.to_dict("records")
    ]
    low, high = np.array(ends).reshape(-1, 2).T
    found = rows[keys].copy()
    found[name], found[f"{name}_low"], found[f"{name}_high"] = rows[Column.MEAN], low, high
    return found


def _dominated(frontier: pd.DataFrame) -> list[bool]:
    """Whether another row of the same setting sends no more bytes and lies above, interval beyond interval."""
    found = []
    for row in frontier.to_dict("records"):
        same = frontier[_same(frontier, row, Column.CASE) & _same(frontier, row, Column.EPSILON)]
        cheaper = same[same[Column.BYTES_UP] <= row[Column.BYTES_UP]]
        found.append(bool((cheaper["accuracy_low"] > row["accuracy_high"]).any()))
    return found


def _same(frontier: pd.DataFrame, row: Mapping[Any, Any], column: str) -> "pd.Series[bool]":
    return (frontier[column] == row[column]) | (frontier[column].isna() & pd.isna(row[column]))


def _command(row: Mapping[Any, Any]) -> str:
    """What trains this cell again, by hand."""
    method, compression = row[Column.METHOD], f"{row[Column.COMPRESSION]:g}"
    return f"sketchbench run task=frontier compressor={method} task.compression={compression}"
