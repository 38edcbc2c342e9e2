"""When a run counts as diverged."""

import numpy as np
from numpy.typing import NDArray

GROWN = 1e6


def diverged(losses: NDArray[np.float64], start: float) -> bool:
    """Whether any of the losses (of any shape) is not finite, or larger than 1e6 max(start, 1)."""
    return bool(not np.isfinite(losses).all() or losses.max() > GROWN * max(start, 1.0))
