"""The type of torch's tensors, for annotations alone: torch is large, and most of what compressors do needs none of it.

The stub beside this file says which type it is. Whatever computes with tensors imports torch where it does.
"""

from typing import Any

Tensor = Any
