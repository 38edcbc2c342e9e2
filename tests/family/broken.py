"""All broken families: a user's mistakes, and worse."""

import broken_keys
import broken_moments
import broken_nonlinear
import broken_outside
import broken_precision
import broken_rare
import broken_reproduction
import broken_sizes
import broken_stacks
import broken_state
import broken_theory
import broken_transpose
from specimen import BROKEN

__all__ = ["BROKEN"]
MODULES = (
    broken_keys,
    broken_moments,
    broken_nonlinear,
    broken_outside,
    broken_precision,
    broken_rare,
    broken_reproduction,
    broken_sizes,
    broken_stacks,
    broken_state,
    broken_theory,
    broken_transpose,
)
