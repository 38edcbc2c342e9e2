"""All broken families: a user's mistakes, and worse."""

import broken_keys
import broken_moments
import broken_nonlinear
import broken_rare
import broken_reach
from specimen import BROKEN

__all__ = ["BROKEN"]
MODULES = (broken_keys, broken_moments, broken_nonlinear, broken_rare, broken_reach)
