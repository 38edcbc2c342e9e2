"""The frontier: one row for each compressor, budget and setting, with every quantity measured there."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sketchbench.files import write_text
from sketchbench.measure.column import CONTROLS, Column
from sketchbench.measure.interval import mean_interval
from sketchbench.report import seal
from sketchbench.report.frontier import CONTRACT, COST, LEAKAGE, SAMPLED, TRAINING
from sketchbench.report.table.reading import COLUMNS, read_table

ERROR = 0.05  # probability that any interval of one quantity misses
CELL = [Column.METHOD, Column.COMPRESSION]
SETTING: list[str] = [Column.CASE, Column.EPSILON]
BOTH = "bytes_both"  # up and down
VIEWS = {"server": "server", "sum": "sum", "another client": "client", "eavesdropper": "eavesdropper"}
# meanings of the columns of frontier.csv; columns of `MEASURED` come with the ends of their interval, _low and _high
MEANINGS = {
    "method": "compressor: its config in conf/compressor",
    "label": "label of the compressor",
    "compression": "budget: all bytes of an update in float32 over those that a client may send",
    "case": (
        "training images of each client: iid, or of one class; sampled: of one class, and few of many clients, without "
        "state, take part in a round; secure aggregation: the server sees sums alone, and clients share the noise"
    ),
    "epsilon": "ε of each record against the server, after all rounds of a training; empty without privacy",
    "d": "number of parameters of the network",
    "bytes_up": "bytes that a client sends in a round",
    "bytes_down": "bytes that a client receives in a round",
    "adds_up": "whether a server that only sees the sum of the messages can do its part",
    "trials": "number of trainings",
    "accuracy": "test accuracy at the end",
    "loss": "accuracy without compression, with the same start, batches and noise, less the accuracy",
    "leak_server": "PSNR of the best attack on one client's message over that of the mean image of its class, dB",
    "leak_sum": "leak_server, for an attack on the sum of all clients' messages",
    "leak_client": "leak_server, for an attack by another client on what the server sends",
    "leak_eavesdropper": "leak_server, for an attack on one client's message without the key",
    "rounds_server": "rounds until one client's messages show the median image; empty if those tried do not",
    "rounds_sum": "rounds_server, for the sums of all clients' messages",
    "ssim_server": "structural similarity of the image that the attack on one message gives",
    "property_server": "area under the ROC curve of telling a property of a client's batch from its message",
    "client_memory": "bytes that a client keeps from round to round, over those of an update",
    "server_memory": "bytes that the server keeps, over those of an update",
    "dominated": "another compressor sends no more and is more accurate, beyond both intervals",
    "refused": "reason why the compressor has no number",
    "command": "command that makes this row's training again",
}
MEASURED = ("accuracy", "loss", *(f"leak_{name}" for name in VIEWS.values()))


def join(tables: Sequence[Path], scale: str, csv: Path, command: str = "") -> None:
    """Join the sealed tables of a scale, write the frontier as CSV, and seal it; its rows are made again by `command`,
    or by one each.

    Raises, in one line, ValueError for a file that is not what it must be, FileError (an OSError) for one that can't be
    written.
    """
    frontier = cells({path.stem: read_table(path, "table", COLUMNS, scale=scale) for path in tables})
    if command:
        frontier["command"] = command
    write_text(csv, frontier.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    seal.write("frontier", scale, seal.sums(tables), [csv])


def cells(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The frontier of these tables by study, without controls; studies other than `TRAINING` may be missing.

    A row for each compressor, budget, case and ε has the columns `MEANINGS`, and _low and _high of `MEASURED`: the ends
    of intervals that hold at once for all rows of a column, except with probability 5 %. What does not depend on the
    case or ε, such as leakage, is repeated.
    """
    trained = by_setting(pd.concat([_ours(tables[study]) for study in (TRAINING, SAMPLED) if study in tables]))
    keys = [*CELL, *SETTING]
    facts = [*keys, Column.LABEL, Column.D, Column.BYTES_UP, Column.BYTES_DOWN, Column.TRIALS, Column.REASON]
    frontier = _of(trained, "accuracy").reindex(columns=facts).rename(columns={Column.REASON.value: "refused"})
    frontier = frontier.drop_duplicates(keys)  # a budget that a compressor refuses has no setting
    parts = [
        _with_interval(_of(trained, "accuracy"), keys, "accuracy"),
        _with_interval(_of(trained, "accuracy_loss"), keys, "loss"),
        *_by_cell(tables),
    ]
    for part in parts:
        frontier = frontier.merge(part, on=[key for key in keys if key in part], how="left")
    frontier["dominated"] = _dominated(frontier)
    budgets = frontier[Column.COMPRESSION].map("{:g}".format)
    run = "sketchbench run task=frontier compressor="
    frontier["command"] = run + frontier[Column.METHOD] + " task.compression=" + budgets
    alone = (
        " 'task.training.cases=[sampled]' task.training.batch=10 task.privacy.epsilons=[] task.privacy.distributed=[]"
    )
    frontier.loc[frontier[Column.CASE] == "sampled", "command"] += alone
    ends = {name: ("_low", "_high") if name in MEASURED else () for name in MEANINGS}
    frontier = frontier.reindex(columns=[name + end for name in MEANINGS for end in ("", *ends[name])])
    return frontier.sort_values([Column.CASE, Column.EPSILON, Column.COMPRESSION, Column.METHOD], na_position="first")


def by_setting(trained: pd.DataFrame) -> pd.DataFrame:
    """Rows of trainings whose case is that of the clients alone, with and without privacy: ε tells which."""
    return trained.assign(**{Column.CASE: trained[Column.CASE].str.removesuffix(", private")})


def _ours(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table that are not about controls, with all columns that are used here."""
    rows = table[~table[Column.METHOD].str.startswith(CONTROLS)]
    used = [*SETTING, Column.ROUND, Column.MEAN, Column.SD, Column.SKEWNESS, Column.TRIALS, Column.VALUE, Column.REASON]
    return rows.reindex(columns=list(dict.fromkeys([*rows.columns, *map(str, used)])))


def _of(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    return table[table[Column.QUANTITY] == quantity]


def _by_cell(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Quantities of a compressor, at one budget or at all, that depend on no setting: a table of one column each."""
    if LEAKAGE in tables:
        leaked = _ours(tables[LEAKAGE])
        leaked = leaked[leaked[Column.ROUND].isna() | (leaked[Column.ROUND] == 1)]
        by_view = dict(iter(leaked.groupby(Column.CASE)))
        for view, short in VIEWS.items():
            yield _with_interval(_of(by_view.get(view, leaked[:0]), "lead"), CELL, f"leak_{short}")
        for view in ("server", "sum"):
            until = _of(by_view.get(view, leaked[:0]), "until")
            yield _named(until, Column.VALUE, CELL, f"rounds_{view}")
        for quantity, name in (("ssim", "ssim_server"), ("property_auc", "property_server")):
            yield _named(_of(by_view.get("server", leaked[:0]), quantity), Column.MEAN, CELL, name)
    if COST in tables:
        costs = _ours(tables[COST])
        costs = costs.assign(both=costs[Column.MEAN].fillna(costs[Column.VALUE]))
        for name in ("client_memory", "server_memory"):
            yield _named(_of(costs, name), "both", CELL, name)
    if CONTRACT in tables:
        rows = _ours(tables[CONTRACT])
        rows = rows[rows[Column.QUANTITY].isin(["summed", "not_summed"])]
        sums = (rows[Column.QUANTITY] == "summed") & (rows[Column.COUNT] == 0)
        yield _named(rows.assign(sums=sums), "sums", [Column.METHOD], "adds_up")


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
    ends_of: dict[str, Any] = {f"{name}_low": low, f"{name}_high": high}
    return rows[keys].assign(**{name: rows[Column.MEAN], **ends_of})


def dominated(rows: pd.DataFrame, by: str) -> NDArray[np.bool_]:
    """Whether another row of the same setting has no more bytes in the column `by`, and lies above: its `low` above
    this one's `high`. O(rows²)."""
    settings = rows.groupby(SETTING, dropna=False).ngroup().to_numpy()
    nbytes, low, high = (rows[name].to_numpy(dtype=float) for name in (by, "low", "high"))
    beaten = (settings[:, None] == settings) & (nbytes <= nbytes[:, None]) & (low > high[:, None])
    return np.asarray(beaten.any(axis=1))
