"""A criterion of divergence, for losses over a run."""

import numpy as np
from numpy.typing import NDArray

from sketchbench.measure.numbers import check_finite, check_some

GROWTH = 1e6


def has_diverged(losses: NDArray[np.float64], start: float) -> bool:
    """Return whether a loss is not finite or exceeds 1e6 max(start, 1). ValueError for no loss or a non-finite
    start."""
    check_some("losses", losses)
    check_finite("start", start)
    return bool(not np.isfinite(losses).all() or losses.max() > GROWTH * max(start, 1.0))
