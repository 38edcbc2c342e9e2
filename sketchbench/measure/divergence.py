"""A criterion of divergence, for losses over a run."""

import numpy as np
from numpy.typing import NDArray

GROWTH = 1e6


def has_diverged(losses: NDArray[np.float64], start: float) -> bool:
    """Whether any of the losses, of any shape, is not finite or larger than 1e6 max(start, 1)."""
    return bool(not np.isfinite(losses).all() or losses.max() > GROWTH * max(start, 1.0))
