"""Convert the report of `make bench` to a tidy table."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sketchbench.base.files import parse_json, write_text
from sketchbench.report import seal

SIZES = 3  # the smallest number of dimensions for a slope
KEY = ["group", "name", "dtype"]
COUNTS = ["threads", "d", "b", "rows", "rounds"]
COLUMNS = [
    *("group", "name", "kernels", "device", "threads", "dtype", "d", "b", "rows"),
    *("seconds", "median", "rounds", "iterations", "copies", "peer_of", "peer_ratio", "value"),
]


class ReportError(ValueError):
    """A file other than a report of `make bench`; the message is for the user."""


def tabulate(report: dict[str, Any]) -> pd.DataFrame:
    """The table of pytest-benchmark's JSON: a row for each benchmark, then derived rows (growth, memory, FIHT).

    Some of its COLUMNS: `seconds` is the minimum of all rounds; `copies` divides it by the seconds of copying `rows`
    vectors of d entries, timed just before and after; `threads` is the run's if a benchmark has none; `peer_of` is our
    function to which a peer library's function is compared, and `peer_ratio` the peer's seconds over ours; `value` is
    the number of a derived row.

    Raises ReportError for a report without benchmarks, or without the additions of tests/benchmark.
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
    """The rows with each peer's seconds over our function's seconds, at the same group, type and sizes."""
    same = ["group", "dtype", "d", "b", "rows"]
    ours = rows.loc[rows["peer_of"].isna(), [*same, "name", "seconds"]]
    ours = ours.rename(columns={"name": "peer_of", "seconds": "ours"})
    joined = rows.merge(ours, on=[*same, "peer_of"], how="left", validate="many_to_one")
    return rows.assign(peer_ratio=joined["seconds"] / joined["ours"])


def _growth(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The slopes of log seconds over log d in the benchmarks of a single vector."""
    slopes = []
    for (group, name, dtype), sizes in rows[rows["rows"] == 1].groupby(KEY, sort=False):
        if sizes["d"].nunique() >= SIZES:
            slope, _ = np.polyfit(np.log(sizes["d"].to_numpy(float)), np.log(sizes["seconds"]), 1)
            slopes.append({"group": "growth", "name": f"{group}.{name}", "dtype": dtype, "value": slope})
    return slopes


def _paper_size(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """FIHT at the paper's size: a single signal's seconds over a transform's (padded length 2^20), and in a batch."""
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
    known = {name: value for name, value in values.items() if not math.isnan(value)}
    return [{"group": "derived", "name": f"fiht.paper.{name}", "value": value} for name, value in known.items()]


def _first(rows: pd.DataFrame) -> float:
    return next(iter(rows["seconds"]), math.nan)


def table_of(report: Path, csv: Path) -> None:
    """Write the table of pytest-benchmark's report on tests/benchmark, and seal it. Raises ReportError or OSError."""
    try:
        table = tabulate(parse_json(report.read_text(encoding="utf-8"), "it"))
    except ValueError as error:  # no JSON, or no such report
        raise ReportError(f"{report} is no report of make bench: {error}") from None
    write_text(csv, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    seal.write("benchmarks", "", {}, [csv])
