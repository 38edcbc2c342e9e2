"""Floating-point precision of a network's computations."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal, get_args

import torch

from sketchbench.base.parameters import choose

Precision = Literal["float32", "bfloat16"]


def precision_context(precision: Precision, device: torch.device | str) -> AbstractContextManager[None]:
    """A context for matrix products and convolutions of this precision; weights, gradients, losses are float32.
    bfloat16 is torch's autocast: up to 5 times as fast on processors with bfloat16 products (and channels-last images),
    no faster on others. Casts of weights are not cached, so weights may change inside. ValueError for others."""
    choose("precision", precision, get_args(Precision))
    if precision == "float32":
        return nullcontext()  # cheaper than a disabled autocast
    kind = torch.device(device).type
    return torch.autocast(kind, torch.bfloat16, cache_enabled=False)
