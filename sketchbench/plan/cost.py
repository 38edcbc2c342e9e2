"""The costs of runs, measured by earlier runs.

conf/costs.csv has a row for each study and scale. It determines the order of batches, the requests of a cluster's jobs
and the estimates of time; no result depends on it.
"""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sketchbench.base.project import HOME

FILE = HOME / "conf" / "costs.csv"
COLUMNS = ("scale", "study", "runs", "seconds", "longest", "mebibytes")


class CostError(ValueError):
    """A damaged file of costs, or records without costs; the message is for users."""


@dataclass(frozen=True)
class Cost:
    """The cost of a run of a study: mean and maximum of the seconds on one core, peak resident memory of a process in
    MiB, and the number of measured runs."""

    seconds: float
    longest: float
    mebibytes: int
    runs: int


class Key(NamedTuple):
    """The scale and the study of a cost."""

    scale: str
    study: str


def read(path: Path = FILE) -> dict[Key, Cost]:
    """Return the costs by scale and study; CostError, in one line, for a missing or malformed file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise ValueError(f"its columns are not {', '.join(COLUMNS)}")
            return {Key(row["scale"], row["study"]): _cost(row) for row in reader}
    except (OSError, ValueError, TypeError) as error:
        raise CostError(f"{path}: {error}; restore it, or delete its rows but for the first") from None


def _cost(row: dict[str, str]) -> Cost:
    cost = Cost(float(row["seconds"]), float(row["longest"]), int(row["mebibytes"]), int(row["runs"]))
    if not (0 <= cost.seconds <= cost.longest < math.inf and cost.mebibytes > 0 and cost.runs > 0):
        raise ValueError(f"{row['scale']}, {row['study']}: {cost} can't be")
    return cost


def measured(folder: Path) -> dict[str, Cost]:
    """Return the costs by study from the records in a folder such as results/quick. Damaged records, and records
    without costs, are skipped."""
    measurements: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for path, spent, mebibytes in _measurements(folder):
        measurements[path.parts[0]].append((spent, mebibytes))
    costs = {}
    for study, values in measurements.items():
        seconds, peaks = zip(*values, strict=True)
        costs[study] = Cost(math.fsum(seconds) / len(seconds), max(seconds), max(peaks), len(seconds))
    return costs


def long_records(folder: Path, seconds: float) -> list[Path]:
    """The records in a folder such as results/paper that took at least so many CPU seconds, by their paths in it.
    Records as `measured` skips them are left out, also those that join the records of trials."""
    return [path for path, spent, _ in _measurements(folder) if spent >= seconds]


def _measurements(folder: Path) -> Iterator[tuple[Path, float, int]]:
    """Each record's path in a folder, its CPU seconds, and its peak memory in MiB."""
    from sketchbench.run import record  # a quarter of a second that a plan does without

    for path in sorted(folder.glob("*/**/*.parquet")):
        try:
            provenance = record.read(path).provenance
            yield path.relative_to(folder), float(provenance["cpu_seconds"]), int(provenance["peak_mebibytes"])
        except (record.RecordError, KeyError, TypeError, ValueError):
            continue


def text(costs: dict[Key, Cost]) -> str:
    """The content of a file of costs; seconds have two digits, so that repeated measurements agree nearly."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, cost in sorted(costs.items()):
        writer.writerow([*key, cost.runs, f"{cost.seconds:.2g}", f"{cost.longest:.2g}", cost.mebibytes])
    return out.getvalue()


def format_duration(seconds: float) -> str:
    """Return a duration in words: in seconds, from 2 minutes in minutes, from 2 hours in hours."""
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} seconds"
