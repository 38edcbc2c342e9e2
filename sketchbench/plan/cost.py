"""The costs of runs, as records of earlier runs measured them.

conf/costs.csv has a row for each study at each scale. The time that a plan takes, the order of its batches, the memory
and time asked of a cluster and the time left follow from it; no result does.
"""

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sketchbench.project import HOME

FILE = HOME / "conf" / "costs.csv"
COLUMNS = ("scale", "study", "runs", "seconds", "longest", "mebibytes")


class CostError(ValueError):
    """A damaged file of costs, or records without costs; the message is for the user."""


@dataclass(frozen=True)
class Cost:
    """The cost of a run of a study: mean and maximum of the seconds of a processor core, the highest resident memory
    of a process in MiB, and the number of runs that were measured."""

    seconds: float
    longest: float
    mebibytes: int
    runs: int


class Key(NamedTuple):
    """Whose cost it is."""

    scale: str
    study: str


def read(path: Path = FILE) -> dict[Key, Cost]:
    """The costs by scale and study.

    Raises CostError, in one line, for a file that is not there or has another form.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise ValueError(f"its columns are not {', '.join(COLUMNS)}")
            return {Key(row["scale"], row["study"]): _cost(row) for row in reader}
    except (OSError, ValueError, TypeError) as error:
        raise CostError(f"{path}: {error}; restore it, or delete its rows but for the first") from None


def _cost(row: dict[str, str]) -> Cost:
    found = Cost(float(row["seconds"]), float(row["longest"]), int(row["mebibytes"]), int(row["runs"]))
    if not (0 <= found.seconds <= found.longest < float("inf") and found.mebibytes > 0 and found.runs > 0):
        raise ValueError(f"{row['scale']}, {row['study']}: {found} can't be")
    return found


def measured(folder: Path) -> dict[str, Cost]:
    """The costs by study, from the records in a folder such as results/quick, each of which is read.

    Damaged records, and records without these numbers, are passed over.
    """
    from sketchbench.run import record  # a quarter of a second that a plan does without

    found: dict[str, list[tuple[float, int]]] = {}
    for path in sorted(folder.glob("*/**/*.parquet")):
        try:
            provenance = record.read(path).provenance
            measurement = (float(provenance["cpu_seconds"]), int(provenance["peak_mebibytes"]))
        except (record.RecordError, KeyError, TypeError, ValueError):
            continue
        found.setdefault(path.relative_to(folder).parts[0], []).append(measurement)
    return {study: _summary(values) for study, values in found.items()}


def _summary(values: list[tuple[float, int]]) -> Cost:
    seconds = [value for value, _ in values]
    return Cost(math.fsum(seconds) / len(seconds), max(seconds), max(peak for _, peak in values), len(values))


def text(costs: dict[Key, Cost]) -> str:
    """The content of a file of costs; seconds have two digits, so that the same machine gives nearly the same file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, cost in sorted(costs.items()):
        writer.writerow([*key, cost.runs, f"{cost.seconds:.2g}", f"{cost.longest:.2g}", cost.mebibytes])
    return out.getvalue()


def format_duration(seconds: float) -> str:
    """A duration in words: in seconds, from two minutes on in minutes, from two hours on in hours."""
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} seconds"
