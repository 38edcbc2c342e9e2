"""Checks that columns beyond 2^20 and rows beyond 2^16 are not lost, and don't repeat others. It goes no further."""

import dataclasses

import numpy as np

from sketchbench.kernels import Array
from sketchbench.sketch.contract.probes import MOST, Floats, Subject, dense, errors, norms
from sketchbench.sketch.identity import _Unchanged
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.sampled import Sampled
from sketchbench.sketch.scattered import Scattered

COLUMNS, FEW = 2**20 + 2**16, 8  # many columns of a sketch size that costs little
ROWS, SHORT = 2**16 + 2**15, 16  # many rows of a dimension that costs little
ENDS = (2**15, 2**16, 2**20)  # places from which on everything may be lost
LAGS = (2**15, 65521, 2**16 - 1, 2**16, 2**16 + 1, 2**17, 2**18, 2**20)  # of places that may repeat others,
NEAR = (1, 2, 16, 2**8, 1000, 2**12, 2**14)  # and of columns; rows may be sampled with repeats, in ascending order
LINEAR = (Sampled, Scattered, _Unchanged)  # operators that cost O(d + b)
OPERATORS = 40  # at most, until columns that agree by chance differ


def check(subject: Subject) -> dict[str, Floats]:
    """Faults at one size beyond 2^20 columns, and at one beyond 2^16 rows, by quantity.

    `columns`, (n,): for each way to lose or to repeat columns or rows, MOST if all operators show it. One operator
    rules a way out; operators are drawn until all are ruled out. Everything is lost from a place on if all images are 0
    there. Places j and j + lag repeat for some j if their images agree in all operators, and are not 0 in any of them.
    `transpose` and `precision`, (n,): errors of a dense and of a sparse vector, in units of rounding.

    Families that take no b > d have O(d b) entries at such sizes; their rows are checked if they are LINEAR only. Empty
    for a family that refuses the sizes, or needs more memory than there is."""
    wide, tall = [(COLUMNS, FEW)], [(SHORT, ROWS)]
    if isinstance(subject.family.draw(subject.key, kernels=subject.kernels), LINEAR):
        wide, tall = [*wide, (COLUMNS, COLUMNS)], [*tall, (2**17, ROWS), (ROWS, ROWS)]
    faults: dict[str, list[Floats]] = {}
    for side, sizes in (("desketch", wide), ("sketch", tall)):
        for d, b in sizes:
            try:
                large = dataclasses.replace(subject, family=dataclasses.replace(subject.family, d=d, b=b))
                found = _at(large, side)
            except (ValueError, MemoryError):
                continue
            for name, part in found.items():
                faults.setdefault(name, []).append(part)
            break
    return {name: np.concatenate(parts) for name, parts in faults.items()}


def _at(subject: Subject, side: str) -> dict[str, Floats]:
    """The faults of `check` at one size: of the columns (`side` is `desketch`) or the rows (`sketch`)."""
    random, terms = subject.random("large"), subject.d + subject.b
    drawn = subject.family.draw(subject.key, kernels=subject.kernels)
    x, y = random.standard_normal((2, subject.d)), random.standard_normal(subject.b)
    x[1] *= 100.0 * (random.random(subject.d) < 9 / subject.d)
    rx, rty = _apply(drawn, "sketch", x), _apply(drawn, "desketch", y)
    size = (float(norms(rty)) * subject.b**0.5 + float(norms(rx[0])) * subject.d**0.5) / float(norms(y))
    single = _apply(drawn, "sketch", x.astype(np.float32))
    return {
        "columns": _ruled_out(subject, side, rty if side == "desketch" else rx[0], y if side == "desketch" else x[0]),
        "transpose": errors((rx @ y)[None], (x @ rty)[None], size * norms(x) * norms(y), terms),
        "precision": errors(single[None], rx[None], size * norms(x)[:, None], terms, 2.0**-23),
    }


def _ruled_out(subject: Subject, side: str, image: Floats, vector: Floats) -> Floats:
    """Faults (n,), from the `image` of a vector by the first operator, and by others."""
    ends = [end for end in ENDS if end < len(image)]
    agreeing = {lag: np.arange(lag, len(image)) for lag in (*LAGS, *NEAR * (side == "desketch")) if lag < len(image)}
    ways = len(ends) + len(agreeing)
    for number in range(1, OPERATORS):
        ends = [end for end in ends if not image[end:].any()]
        for lag, places in list(agreeing.items()):
            agreeing[lag] = places[abs(image[places] - image[places - lag]) <= 1e-9 * abs(image[places])]
            if not image[agreeing[lag]].any():
                del agreeing[lag]
        if not (ends or agreeing) or not subject.family.random:
            break
        drawn = subject.family.draw(subject.key, first=number, kernels=subject.kernels)
        image = _apply(drawn, side, vector)
    return np.repeat([MOST, 0.0], [left := len(ends) + len(agreeing), ways - left])


def _apply(drawn: Sketch, method: str, vectors: Array) -> Floats:
    argument = drawn.kernels.asarray(vectors.copy())  # which a broken operator may write into
    return dense(drawn.kernels, getattr(drawn, method)(argument, check_finite=False))
