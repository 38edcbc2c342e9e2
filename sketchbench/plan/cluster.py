"""Jobs of a cluster: the batches that share one, and the time and memory that a job asks for.

A job waits in a queue, and starts Python and Snakemake twice before it computes, for some 10 seconds. So Snakemake puts
short work together, by its groups: a short study as a whole with its table, or a short batch of a longer study. The
profile says how many of these are a job. SLURM's arrays would not do: each element starts as much as a job does, and
all of them get the time and memory of the first.
"""

import math
from collections.abc import Iterable

from sketchbench.plan.batch import Batch

SHORT, TABLES, LAST = "short", "tables", "last"  # groups: short work, tables of longer studies, figures and claims
LIMIT = 600.0  # seconds of short work
START = 4.0  # seconds that a table, or the process of a batch, takes beside its runs
HEADROOM = 3.0  # by how much a machine may be slower than the one that run times were measured on
SPARE = 512  # mebibytes beside those measured: other libraries, an allocator that keeps more
UNKNOWN = (300.0, 2000)  # seconds and mebibytes of a batch that was never measured


def group_of_batch(batch: Batch) -> str | None:
    """The group of a batch; None for a job of its own."""
    return SHORT if _seconds(batch) <= LIMIT else None


def group_of_table(batches: Iterable[Batch]) -> str:
    """The group of the table of a study with these batches."""
    return SHORT if START + sum(map(_seconds, batches)) <= LIMIT else TABLES


def minutes(batch: Batch, attempt: int) -> int:
    """The run time to ask for: at the first attempt with headroom, at each further one twice that of the last."""
    return math.ceil(HEADROOM * _seconds(batch) / 60) * 2 ** (attempt - 1)


def megabytes(batch: Batch, attempt: int) -> int:
    """The memory to ask for: at the first attempt half as much again, at each further one twice that of the last."""
    measured = UNKNOWN[1] if batch.mebibytes is None else batch.mebibytes
    return math.ceil(1.5 * measured + SPARE) * 2 ** (attempt - 1)


def _seconds(batch: Batch) -> float:
    return START + (UNKNOWN[0] if batch.seconds is None else batch.seconds)
