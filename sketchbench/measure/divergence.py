"""When a run counts as diverged."""

import numpy as np
from numpy.typing import NDArray

GROWN = 1e6


def diverged(losses: NDArray[np.float64], start: float) -> bool:
    """Whether a loss (any shape) is not finite, or has grown 1e6-fold from max(start, 1)."""
    return bool(not np.isfinite(losses).all() or losses.max() > GROWN * max(start, 1.0))
