"""The frontier: one row for each compressor, budget and setting, with every quantity measured there."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sketchbench.base.files import write_text
from sketchbench.measure.column import CONTROLS, Column
from sketchbench.measure.interval import mean_interval
from sketchbench.report import seal
from sketchbench.report.frontier import CONTRACT, COST, LEAKAGE, TRAINING, TRAININGS
from sketchbench.report.inputs import frontier_inputs
from sketchbench.report.table.reading import COLUMNS as FROM
from sketchbench.report.table.reading import read_table
from sketchbench.run.config.schema import load

ERROR = 0.05  # probability that any interval of one quantity misses
CELL: list[str] = [Column.METHOD, Column.COMPRESSION, Column.D]
SETTING: list[str] = [Column.CASE, Column.EPSILON, Column.D]
SUMS = ", secure aggregation"  # at the end of a case
BOTH = "bytes_both"
WAYS = {"up": Column.BYTES_UP.value, "down": Column.BYTES_DOWN.value, "both": BOTH}
VIEWS = {"server": "server", "sum": "sum", "another client": "client", "eavesdropper": "eavesdropper"}
MEANINGS: dict[str, str] = load(Path(__file__).with_name("columns.yaml"))  # of the columns of frontier.csv
MEASURED = ("accuracy", "loss", *(f"leak_{name}" for name in VIEWS.values()))
COLUMNS = [name + end for name in MEANINGS for end in ("", *(("_low", "_high") if name in MEASURED else ()))]
COUNTS = ["d", "clients", "taking_part", *WAYS.values(), "rounds", "trials", "diverged", "reached", "rounds_to_target"]
COUNTS += [f"target_{way}" for way in WAYS]
# quantities of a setting that are single numbers
SINGLE = ("rounds_to_target", "spent", "rate", "rate_plain", "held_out", "held_out_below", "held_out_above")


class TrainedStudy(NamedTuple):
    """Facts about the trainings of a study that its table lacks."""

    data: str  # the data set, in words
    clients: Mapping[str, int]  # the number of clients, by case
    taking_part: Mapping[str, int]  # the number of clients in a round, by case; all clients if a case has no entry
    command: Callable[[str, float], str]  # the command that repeats the training of a method at a compression
    commands: str = ""  # identifies `command`: functions that give other commands have other strings

    @property
    def words(self) -> str:
        """All facts of these trainings in the frontier, as one string."""
        return json.dumps([self.data, dict(self.clients), dict(self.taking_part), self.commands], sort_keys=True)


NOTHING: Mapping[str, TrainedStudy] = MappingProxyType({})


def join(tables: Sequence[Path], scale: str, csv: Path, trained: Mapping[str, TrainedStudy] = NOTHING) -> None:
    """Join the sealed tables of a scale, write the frontier as CSV, and seal it; `trained` is by study.

    Raises, in one line, ValueError for an invalid file, and FileError (an OSError) for a file that can't be written.
    """
    frontier = cells({path.stem: read_table(path, "table", FROM, scale=scale) for path in tables}, trained)
    frontier = frontier.astype(dict.fromkeys(COUNTS, "Int64"))  # else large ones are rounded
    write_text(csv, frontier.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    words = {study: one.words for study, one in trained.items()}
    seal.write("frontier", scale, frontier_inputs(seal.sums(tables), words), [csv])


def read(path: Path, scale: str | None = None) -> pd.DataFrame:
    """Read a sealed frontier with all `COLUMNS`; columns that a frontier of older code lacks are empty.

    Raises, in one line, SealError or TableError, as `read_table`.
    """
    needed = ("compression", "case", "epsilon", "d", "accuracy")
    return _counted(read_table(path, "frontier", needed, scale=scale).reindex(columns=COLUMNS))


def cells(tables: Mapping[str, pd.DataFrame], trained: Mapping[str, TrainedStudy] = NOTHING) -> pd.DataFrame:
    """The frontier of these tables by study, without controls; studies other than `TRAINING` may be missing.

    Each compressor, budget, case, ε and network has a row with the columns `COLUMNS`. Columns _low and _high are the
    ends of intervals that hold at once for all rows of a column, except with probability 5 %. Quantities that depend on
    neither case nor ε, such as leakage, are repeated for the network of `TRAINING`.
    """
    rows = by_setting(pd.concat([_described(tables[one], trained.get(one)) for one in TRAININGS if one in tables]))
    keys = [*CELL, Column.CASE, Column.EPSILON]
    facts = [*keys, Column.LABEL, "data", Column.CLIENTS, "taking_part", Column.BYTES_UP, Column.BYTES_DOWN]
    facts += [Column.ROUNDS, Column.TRIALS, Column.REASON, "command"]
    frontier = _of(rows, "accuracy").reindex(columns=facts).rename(columns={Column.REASON.value: "refused"})
    frontier = frontier.drop_duplicates(keys)  # a budget that a compressor refuses has no setting
    parts = [
        _with_interval(_of(rows, "accuracy"), keys, "accuracy"),
        _with_interval(_of(rows, "accuracy_loss"), keys, "loss"),
        *(_named(_of(rows, name), Column.COUNT, keys, name) for name in ("reached", "diverged")),
        *(_named(_of(rows, name), Column.VALUE, keys, name) for name in SINGLE),
        *_by_cell(tables, int(tables[TRAINING][Column.D].iloc[0])),
    ]
    for part in parts:
        frontier = frontier.merge(part, on=[key for key in keys if key in part], how="left")
    frontier = _counted(frontier)
    ends = {"accuracy_low": "low", "accuracy_high": "high"}
    frontier["dominated"] = dominated(frontier.rename(columns=ends), BOTH)
    frontier = frontier.reindex(columns=COLUMNS)
    return frontier.sort_values([*SETTING, Column.COMPRESSION, Column.METHOD], na_position="first")


def _counted(frontier: pd.DataFrame) -> pd.DataFrame:
    """The frontier with the bytes of both ways, and the bytes to the target."""
    frontier = frontier.assign(**{BOTH: frontier[Column.BYTES_UP] + frontier[Column.BYTES_DOWN]})
    to_target = {f"target_{way}": frontier["rounds_to_target"] * frontier[nbytes] for way, nbytes in WAYS.items()}
    return frontier.assign(**to_target)


def _described(table: pd.DataFrame, trained: TrainedStudy | None) -> pd.DataFrame:
    """The rows of a table of trainings that `_ours` gives, with the facts of the trainings."""
    rows = _ours(table)
    if not trained:
        return rows.assign(data=np.nan, clients=np.nan, taking_part=np.nan, command="")
    case = rows[Column.CASE].str.removesuffix(SUMS).str.removesuffix(", private")
    clients = case.map(trained.clients)
    own = list(zip(rows[Column.METHOD], rows[Column.COMPRESSION], strict=True))
    made = {cell: trained.command(*cell) for cell in set(own)}
    taking_part, commands = case.map(trained.taking_part).fillna(clients), [made[cell] for cell in own]
    return rows.assign(data=trained.data, clients=clients, taking_part=taking_part, command=commands)


def by_setting(trained: pd.DataFrame) -> pd.DataFrame:
    """The rows with the clients' case alone, with and without privacy, which ε shows."""
    return trained.assign(**{Column.CASE: trained[Column.CASE].str.removesuffix(", private")})


def _ours(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table without controls, with all columns that this module uses."""
    rows = table[~table[Column.METHOD].str.startswith(CONTROLS)]
    used = [*SETTING, Column.ROUND, Column.TRIALS, Column.COUNT, Column.MEAN, Column.SD, Column.SKEWNESS, Column.VALUE]
    used.append(Column.REASON)
    return rows.reindex(columns=list(dict.fromkeys([*rows.columns, *map(str, used)])))


def _of(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    return table[table[Column.QUANTITY] == quantity]


def _by_cell(tables: Mapping[str, pd.DataFrame], d: int) -> Iterator[pd.DataFrame]:
    """Quantities of a compressor, at one budget or at all, that depend on no setting, for the network of d parameters:
    a table of one column each."""
    if LEAKAGE in tables:
        leaked = _ours(tables[LEAKAGE]).assign(d=d)
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
        costs = _ours(tables[COST]).assign(d=d)
        costs = costs.assign(both=costs[Column.MEAN].fillna(costs[Column.VALUE]))
        for name in ("client_memory", "server_memory"):
            yield _named(_of(costs, name), "both", CELL, name)
    if CONTRACT in tables:
        rows = _ours(tables[CONTRACT])
        rows = rows[rows[Column.QUANTITY].isin(["summed", "not_summed"])]
        sums = (rows[Column.QUANTITY] == "summed") & (rows[Column.COUNT] == 0)
        yield _named(rows.assign(sums=sums), "sums", [Column.METHOD], "adds_up")


def _named(rows: pd.DataFrame, column: str, keys: list[str], name: str) -> pd.DataFrame:
    return rows[[*keys, column]].drop_duplicates(keys).rename(columns={str(column): name})


def _with_interval(rows: pd.DataFrame, keys: list[str], name: str) -> pd.DataFrame:
    """The means of these rows under a name, with the ends of simultaneous intervals."""
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
    """Whether another row of the same setting has no more bytes in the column `by`, and its `low` exceeds this row's
    `high`. O(rows²)."""
    settings = rows.groupby(SETTING, dropna=False).ngroup().to_numpy()
    nbytes, low, high = (rows[name].to_numpy(dtype=float) for name in (by, "low", "high"))
    beaten = (settings[:, None] == settings) & (nbytes <= nbytes[:, None]) & (low > high[:, None])
    return np.asarray(beaten.any(axis=1))
