"""Running many trials in blocks, with progress in the log."""

import logging
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.row import Row
from sketchbench.measure.row import exceeding as exceeding
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

log = logging.getLogger(__name__)
WORKSPACE = 2**21  # array entries at a time
SECONDS_BETWEEN_LINES = 2.0


def blocks(trials: int, size: int) -> Iterator[tuple[int, int]]:
    """(first, count) of consecutive blocks of trials, `size` array entries to a trial.

    Logs how far it is, now and then, and at the end.
    """
    if not isinstance(trials, int) or trials < 2:
        raise ValueError(f"trials={trials!r} must be an integer >= 2")
    step = max(1, WORKSPACE // size)
    start = last = time.monotonic()
    for first in range(0, trials, step):
        yield first, min(step, trials - first)
        done, now = min(first + step, trials), time.monotonic()
        if done == trials or now - last > SECONDS_BETWEEN_LINES:
            log.info("%d of %d trials, %.1f s", done, trials, now - start)
            last = now


def check_deltas(deltas: list[float]) -> None:
    """Raise ValueError for a failure probability outside (0, 1)."""
    for delta in deltas:
        if not 0 < delta < 1:
            raise ValueError(f"delta={delta} must satisfy 0 < delta < 1")


def exceedances(values: Any, bound: float) -> dict[str, Any]:
    """Gone once no task is left that makes rows by hand."""
    row = dict(Row("none").exceedances(values, bound))
    row.pop("quantity")
    return row


def shown_rounds(rounds: int, points: int) -> list[int]:
    """About so many of the rounds 1 to `rounds`, evenly spread on a log scale."""
    spread = np.geomspace(1, max(rounds, 1), points).round().astype(int)
    return [int(t) for t in np.unique(spread)]


def operators(family: Family, key: int, kernels: Kernels, trials: int, vectors: int) -> Iterator[Sketch]:
    """Stacks of freshly drawn operators, `trials` of them altogether, for so many vectors each.

    A stack is small enough for the vectors, and for a dense family to keep its entries.
    """
    for first, count in blocks(trials, max(vectors, family.b) * max(family.d, family.b)):
        yield family.draw(key, operators=count, first=first, kernels=kernels)


def fixed_operator(family: Family, kernels: Kernels, seed: int, task: str) -> Sketch:
    """The one operator that all signals of a task go through."""
    key = seeds.key(seed, task=task, family=repr(family))
    return family.draw(key, kernels=kernels)


def desketched(sketch: Sketch, vectors: Array) -> Array:
    """RᵀRh for vectors h of shape (T, N, d), or (1, N, d) shared by the stack: (T, N, d).

    The vectors are our own, so they are not searched for non-finite entries again. In two steps, not by
    `project`: it is what the two parties of a protocol do that is measured.
    """
    return sketch.desketch(sketch.sketch(vectors, check_finite=False), check_finite=False)
