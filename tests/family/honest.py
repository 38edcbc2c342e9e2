"""All honest families: none of them may raise an alarm."""

import honest_entries
import honest_structured
from specimen import HONEST

__all__ = ["HONEST"]
MODULES = (honest_entries, honest_structured)
