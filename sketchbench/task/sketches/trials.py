"""Trials: repetitions of a measurement, in blocks that fit into memory, with progress in the log."""

import logging
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

log = logging.getLogger(__name__)
WORKSPACE = 2**21  # array entries of a block
CACHED = 2**18  # array entries of a block that stays in a processor's cache: 2 MiB in float64
SECONDS_BETWEEN_LINES = 2.0
BATCHES = 50  # of trials: enough for an interval of the mean of their quantiles


def blocks(trials: int, size: int, entries: int = WORKSPACE) -> Iterator[tuple[int, int]]:
    """Split trials into consecutive blocks of at most `entries` array entries each, but at least one trial. Yields
    (first, count): a block's first trial, and its number of trials. A trial needs `size` array entries. Logs the
    progress every few seconds, and at the end. Raises ValueError unless `trials` is an integer >= 2."""
    if not isinstance(trials, int) or trials < 2:
        raise ValueError(f"trials={trials!r} must be an integer >= 2")
    step = max(1, entries // size)
    start = last = time.monotonic()
    for first in range(0, trials, step):
        yield first, min(step, trials - first)
        done, now = min(first + step, trials), time.monotonic()
        if done == trials or now - last > SECONDS_BETWEEN_LINES:
            log.info("%d of %d trials, %.1f s", done, trials, now - start)
            last = now


def batch_quantiles(values: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The `share`-quantile of each of BATCHES batches of values, (BATCHES,); surplus trials are left out."""
    batches = values[: values.size // BATCHES * BATCHES].reshape(BATCHES, -1)
    return np.asarray(np.quantile(batches, share, axis=1, method="higher"))


def shown_rounds(rounds: int, points: int) -> list[int]:
    """At most `points` different rounds between 1 and `rounds`, in ascending order, evenly spread on a log scale."""
    spread = np.geomspace(1, max(rounds, 1), points).round().astype(int)
    return [int(t) for t in np.unique(spread)]


def operators(family: Family, key: int, kernels: Kernels, trials: int, vectors: int) -> Iterator[Sketch]:
    """Draw a fresh operator for every trial, in stacks that fit into a processor's cache, or a GPU's memory. Yields
    stacks of T operators each, in the order of the trials.

    Arguments:
        key: of the operators; operator t depends on the key and on t only, not on the stacks.
        trials: number of operators altogether, at least 2.
        vectors: number of vectors for each operator, which limits the size of stacks, as do the d x b entries of a
            dense operator.
    """
    entries = WORKSPACE if kernels.NAME == "cupy" else CACHED
    for first, count in blocks(trials, max(vectors, family.b) * max(family.d, family.b), entries):
        yield family.draw(key, operators=count, first=first, kernels=kernels)


def fixed_operator(family: Family, kernels: Kernels, seed: int, task: str) -> Sketch:
    """Draw the one operator that a task applies to all its signals; it depends on seed, task and family."""
    key = seeds.key(seed, task=task, family=repr(family))
    return family.draw(key, kernels=kernels)


def sketch_and_desketch(sketch: Sketch, vectors: Array) -> Array:
    """Sketch and desketch vectors h by a stack of T operators: RᵀRh, (T, N, d). The vectors are (T, N, d), or (1, N, d)
    if all operators share them. The steps are a protocol's two steps, not the shortcut `Sketch.project`. Vectors are
    not checked for finite entries, as tasks make them."""
    return sketch.desketch(sketch.sketch(vectors, check_finite=False), check_finite=False)
