"""What goes to a cluster as one job, and what a job asks for.

A job of a cluster waits in a queue, and starts Python and Snakemake twice before it computes. So short runs share a
job, by Snakemake's groups: whole studies with their tables, or, of a study that is longer than a job, some of its
batches. A batch that is longer than others together is a job of its own.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sketchbench.plan.batch import Batch

SHORTEST = 120.0  # seconds of work that are worth a job of their own, against some 10 of starting it
LONG = 1800.0  # seconds of a batch that has a job of its own, however many there are
START = 4.0  # seconds that a table, or the process of a batch, takes beside its runs
HEADROOM = 3.0  # by how much a machine may be slower than the one that run times were measured on
SPARE = 512  # mebibytes beside those measured: other libraries, an allocator that keeps more
UNKNOWN = (300.0, 2000)  # seconds and mebibytes of a batch that was never measured
TABLES, LAST = "tables", "last"  # the group of tables that need several jobs; that of figures and claims


@dataclass
class Jobs:
    """Which job of a cluster does what: names of groups, of which all but `tables` and `last` begin with `part`.

    runs: by (study, batch); what is not there is a job of its own. tables: by study. last: that of figures and claims;
    None where nothing is grouped.
    """

    runs: dict[tuple[str, str], str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    last: str | None = None

    def of_run(self, wildcards: Any) -> str | None:
        """The group of the batch with these wildcards of Snakemake's; None for none."""
        return self.runs.get((wildcards.study, wildcards.batch))

    def of_table(self, wildcards: Any) -> str | None:
        """The group of the table with these wildcards of Snakemake's; None for none."""
        return self.tables.get(wildcards.study)


@dataclass(frozen=True)
class _Part:
    """Work that stays together, and how long it takes."""

    seconds: float
    batches: list[tuple[str, str]]
    table: str = ""


def jobs(studies: Mapping[str, Mapping[str, Batch]], most: int) -> Jobs:
    """Put short batches and tables together in jobs of about the same length.

    Arguments:
        studies: the batches of each study.
        most: into how many jobs at most, long batches aside: `part1`, `part2`, …; 0: nothing is put together.
    """
    if not most:
        return Jobs()
    costs = {
        study: {name: START + _seconds(batch) for name, batch in found.items()} for study, found in studies.items()
    }
    limit, parts, jobs = _limit(costs, most), [], Jobs(last=LAST)
    for study, batches in costs.items():
        total = START + sum(batches.values())
        if total <= limit:
            parts.append(_Part(total, [(study, name) for name in batches], study))
        else:
            parts += [_Part(cost, [(study, name)]) for name, cost in batches.items() if cost <= limit]
            jobs.tables[study] = TABLES
    for number, shared in enumerate(_share(parts, limit), 1):
        for part in shared:
            jobs.runs |= dict.fromkeys(part.batches, f"part{number}")
            if part.table:
                jobs.tables[part.table] = f"part{number}"
    return jobs


def _limit(costs: Mapping[str, Mapping[str, float]], most: int) -> float:
    """The seconds of a job; such that, long batches aside, `most` jobs do; to 10 %."""
    limit = SHORTEST
    every = [START] * len(costs) + [cost for found in costs.values() for cost in found.values()]
    while True:
        alone = sum(limit < cost <= LONG for cost in every)
        if alone + math.ceil(sum(cost for cost in every if cost <= limit) / limit) <= most:
            return limit
        limit *= 1.1


def _share(parts: Iterable[_Part], limit: float) -> list[list[_Part]]:
    """Longest first, each to the job that has least to do, of as many as it takes."""
    ordered = sorted(parts, key=lambda part: (-part.seconds, part.batches))
    count = math.ceil(sum(part.seconds for part in ordered) / limit)
    shared: list[list[_Part]] = [[] for _ in range(count)]
    taken = [0.0] * count
    for part in ordered:
        least = taken.index(min(taken))
        shared[least].append(part)
        taken[least] += part.seconds
    return shared


def minutes(batch: Batch, attempt: int) -> int:
    """The run time to ask for: at the first attempt with headroom, at each further one twice that of the last."""
    return math.ceil(HEADROOM * (START + _seconds(batch)) / 60) * 2 ** (attempt - 1)


def megabytes(batch: Batch, attempt: int) -> int:
    """The memory to ask for: at the first attempt half as much again, at each further one twice that of the last."""
    measured = UNKNOWN[1] if batch.mebibytes is None else batch.mebibytes
    return math.ceil(1.5 * measured + SPARE) * 2 ** (attempt - 1)


def _seconds(batch: Batch) -> float:
    return UNKNOWN[0] if batch.seconds is None else batch.seconds
