"""Summaries of trials: number, mean, standard deviation, skewness and extremes."""

import math
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from sketchbench.base.parameters import NonNegative, checked
from sketchbench.measure.numbers import check_real

ROUNDING = 1e-9  # relative rounding error of a float64 sum over 10^6 terms, at most
ORDINARY = 1e80  # numbers from its inverse to it have normal cubes


@checked
def summarize(values: Annotated[ArrayLike, check_real], *, scale: NonNegative = 0.0) -> dict[str, float | int]:
    """Summarise a quantity over at least 2 trials (trials,), as columns of a row: `trials`, `mean`, `sd`
    (divisor trials - 1), `skewness` (0 if nothing varies beyond rounding), `minimum` and `maximum`.

    Less than 1e-12 of `scale`, the size of the quantity, or of the mean, is rounding. Raises FloatingPointError for a
    non-finite value, since a mean over the other trials would be biased; ValueError for fewer than 2 trials, or another
    shape.
    """
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 1 or v.size < 2:
        raise ValueError(f"values of shape {v.shape} must be one axis of at least 2 trials")
    if not np.isfinite(v).all():
        first = int(np.flatnonzero(~np.isfinite(v))[0])
        raise FloatingPointError(f"trial {first} gave {v[first]}; results must be finite")
    size = float(abs(v).max())
    # If squares or cubes leave float64, the unit is a power of 2, which changes no digit.
    unit = 1.0 if ORDINARY > size > 1 / ORDINARY or size == 0 else 2.0 ** (math.frexp(size)[1] - 1)
    mean = float((v / unit).mean())
    centred = v / unit - mean
    variance = float((centred**2).mean())
    third = float((centred**3).mean())
    sd = float(np.sqrt(variance * v.size / (v.size - 1))) * unit
    if not math.isfinite(sd):
        raise FloatingPointError(f"values up to {size:.2g} have no finite standard deviation; use another unit")
    beyond = variance > 1e-24 * max((scale / unit) * (scale / unit), mean**2)
    return {
        "trials": int(v.size),
        "mean": mean * unit,
        "sd": sd,
        "skewness": third / variance**1.5 if beyond else 0.0,
        "minimum": float(v.min()),
        "maximum": float(v.max()),
    }
