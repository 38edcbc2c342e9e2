"""Jobs of a cluster: the batches that share a job, and the time and memory of its request.

A job waits in a queue, and starts Python and Snakemake twice, in about 10 seconds. Snakemake's groups therefore combine
short work: a short study with its table, or a short batch of a longer study. An element of a SLURM array starts as much
as a job does, with the time and memory of the first element.
"""

import math
from collections.abc import Iterable

from sketchbench.plan.batch import Batch

SHORT, TABLES, LAST = "short", "tables", "last"  # groups: short work, tables of longer studies, figures and claims
LIMIT = 600.0  # seconds of short work
START = 4.0  # seconds of a table, and of a batch's process without its runs
HEADROOM = 3.0  # a machine may be this many times slower than the measured machine
SPARE = 512  # additional mebibytes: other libraries, an allocator that keeps more
UNKNOWN = (300.0, 2000)  # seconds and mebibytes of an unmeasured batch


def group_of_batch(batch: Batch) -> str | None:
    """The group of a batch; None for a separate job."""
    return SHORT if _seconds(batch) <= LIMIT else None


def group_of_table(batches: Iterable[Batch]) -> str:
    """The group of the table of a study with these batches."""
    return SHORT if START + sum(map(_seconds, batches)) <= LIMIT else TABLES


def minutes(batch: Batch, attempt: int) -> int:
    """The requested run time, with headroom; each further attempt doubles it."""
    return math.ceil(HEADROOM * _seconds(batch) / 60) * 2 ** (attempt - 1)


def megabytes(batch: Batch, attempt: int) -> int:
    """The requested memory: 1.5 times the measured memory plus `SPARE`; each further attempt doubles it."""
    measured = UNKNOWN[1] if batch.mebibytes is None else batch.mebibytes
    return math.ceil(1.5 * measured + SPARE) * 2 ** (attempt - 1)


def _seconds(batch: Batch) -> float:
    return START + (UNKNOWN[0] if batch.seconds is None else batch.seconds)
