"""All honest families: none of them may raise an alarm."""

import honest_compound
import honest_entries
import honest_sparse
import honest_structured
from specimen import HONEST

__all__ = ["HONEST"]
MODULES = (honest_compound, honest_entries, honest_sparse, honest_structured)
