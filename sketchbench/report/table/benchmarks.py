"""The report of `make bench` to a tidy table."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sketchbench.base.files import parse_json, write_text
from sketchbench.report import seal

SIZES = 3  # the least number of dimensions that a growth is measured over
KEY = ["group", "name", "dtype"]
COUNTS = ["threads", "d", "b", "rows", "rounds"]
COLUMNS = [
    *("group", "name", "kernels", "device", "threads", "dtype", "d", "b", "rows"),
    *("seconds", "median", "rounds", "iterations", "copies", "peer_of", "peer_ratio", "value"),
]


class ReportError(ValueError):
    """A file that is no report of `make bench`; the message is for the user."""


def tabulate(report: dict[str, Any]) -> pd.DataFrame:
    """The table of what pytest-benchmark writes as JSON: a row for each benchmark, then rows derived from them (growth,
    memory, FIHT).

    Some of its COLUMNS: `seconds` is the least of all rounds; `copies` is that over the seconds of copying the `rows`
    vectors of d entries, timed just before and after; `threads` is that of the run where a benchmark has none of its
    own; `peer_of` is our function that another library's function is compared with, and `peer_ratio` its seconds over
    ours; `value` is the number of a derived row.

    Raises ReportError for a report without benchmarks, or without what tests/benchmark adds to it.
    """
    try:
        machine = report["machine_info"]["sketchbench"]
        run = {name: machine[name] for name in ("kernels", "device")}
        threads = machine["threads"]
        if not report["benchmarks"]:
            raise ReportError("it has no benchmarks")
        timed, memory = [], []
        for benchmark in report["benchmarks"]:
            row, stats = {"group": benchmark["group"], **benchmark["extra_info"]}, benchmark["stats"]
            if "values" in row:
                memory += [{**row, "name": f"{row['name']}.{n}", "value": v} for n, v in row["values"].items()]
                continue
            times = {"seconds": stats["min"], "median": stats["median"], "rounds": stats["rounds"]}
            timed.append({**row, **times, "peer_of": row["ours"], "copies": stats["min"] / row["copy_seconds"]})
        rows = _with_peers(pd.DataFrame(timed, columns=COLUMNS))
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"it lacks what tests/benchmark writes ({error!r})") from None
    derived = pd.DataFrame([*memory, *_growth(rows), *_paper_size(rows)], columns=COLUMNS)
    parts = [part for part in (rows, derived) if not part.empty]
    table = pd.concat(parts, ignore_index=True).assign(**run).astype(dict.fromkeys(COUNTS, "Int64"))
    return table.fillna({"threads": threads})


def _with_peers(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, with the seconds of every peer over those of our function of the same group, type and sizes."""
    same = ["group", "dtype", "d", "b", "rows"]
    ours = rows.loc[rows["peer_of"].isna(), [*same, "name", "seconds"]]
    ours = ours.rename(columns={"name": "peer_of", "seconds": "ours"})
    joined = rows.merge(ours, on=[*same, "peer_of"], how="left", validate="many_to_one")
    return rows.assign(peer_ratio=joined["seconds"] / joined["ours"])


def _growth(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The slopes of log seconds over log d, of the benchmarks of a single vector."""
    slopes = []
    for (group, name, dtype), sizes in rows[rows["rows"] == 1].groupby(KEY, sort=False):
        if sizes["d"].nunique() >= SIZES:
            d, seconds = (np.log(sizes[column].to_numpy(float)) for column in ("d", "seconds"))
            slope, _ = np.polyfit(d, seconds, 1)
            slopes.append({"group": "growth", "name": f"{group}.{name}", "dtype": dtype, "value": slope})
    return slopes


def _paper_size(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """FIHT at the paper's size: the seconds of a single signal, relative to a transform of the padded length, 2^20, and
    of one in a batch."""
    paper = rows[rows["name"] == "fiht.paper"]
    alone = _first(paper[paper["rows"] == 1])
    batch = paper[paper["rows"] > 1]
    each = _first(batch.assign(seconds=batch["seconds"] / batch["rows"]))
    transform = _first(rows.query("name == 'walsh_hadamard' and dtype == 'float64' and d == 2**20"))
    values = {
        "in_transforms": alone / transform,
        "seconds_per_signal_of_batch": each,
        "signal_of_batch_over_alone": each / alone,
    }
    named = {f"fiht.paper.{name}": value for name, value in values.items() if not math.isnan(value)}
    return [{"group": "derived", "name": name, "value": value} for name, value in named.items()]


def _first(rows: pd.DataFrame) -> float:
    return next(iter(rows["seconds"]), math.nan)


def table_of(report: Path, csv: Path) -> None:
    """Write the table of pytest-benchmark's report on tests/benchmark, and seal it.

    Raises ReportError for a file that is no such report, OSError where a file can't be read or written.
    """
    try:
        table = tabulate(parse_json(report.read_text(encoding="utf-8"), "it"))
    except ValueError as error:  # no JSON, or no such report
        raise ReportError(f"{report} is no report of make bench: {error}") from None
    write_text(csv, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    seal.write("benchmarks", "", {}, [csv])
