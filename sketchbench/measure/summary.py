"""Summaries of trials: number, mean, standard deviation, skewness and extremes."""

import numpy as np
from numpy.typing import ArrayLike

from sketchbench.measure.numbers import check_real

ROUNDING = 1e-9  # relative rounding error of a float64 sum over 10^6 terms, at most


def summarize(values: ArrayLike) -> dict[str, float | int]:
    """Summarise a quantity over its trials, as columns of a row.

    Arguments:
        values: (trials,), at least 2.

    Returns:
        `trials`, `mean`, `sd` (divisor trials - 1), `skewness` (0 where nothing varies beyond rounding), `minimum` and
        `maximum`.

    Raises:
        FloatingPointError: for a non-finite value, since a mean over the other trials would be biased.
        ValueError: for fewer than 2 trials, or another shape.
    """
    check_real("values", values)
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 1 or v.size < 2:
        raise ValueError(f"values of shape {v.shape} must be one axis of at least 2 trials")
    if not np.isfinite(v).all():
        first = int(np.flatnonzero(~np.isfinite(v))[0])
        raise FloatingPointError(f"trial {first} gave {v[first]}; results must be finite")
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        mean = float(v.mean())
        centred = v - mean
        variance = float((centred**2).mean())
        third = float((centred**3).mean())
    if not np.isfinite([variance, third]).all():
        raise FloatingPointError(f"values up to {abs(v).max():.2g} are too large for their moments; use another unit")
    return {
        "trials": int(v.size),
        "mean": mean,
        "sd": float(np.sqrt(variance * v.size / (v.size - 1))),
        "skewness": third / variance**1.5 if variance > 1e-24 * max(1.0, mean**2) else 0.0,
        "minimum": float(v.min()),
        "maximum": float(v.max()),
    }
