"""A compressor at a budget of bytes, where that budget is its own."""

from collections.abc import Sequence

import numpy as np

from sketchbench import kernels, seeds
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.sketch.family import SizeError

SEED = 0  # of an update whose message is measured


def at_budget(make: MakeCompressor, layout: Layout, compression: float, budgets: Sequence[float]) -> Compressor:
    """The compressor for a budget, so that none is compared twice under two names.

    Arguments:
        make: called with `layout` and `limit`.
        layout: of the update.
        compression: bytes of the dense float32 update over those that a client may send in a round.
        budgets: all compressions that are compared.

    Raises:
        SizeError: where no message fits, where it also fits into the next smaller budget, and where all may be sent and
            the compressor would use that up, compressing nothing.
    """
    compressor = make(layout=layout, limit=byte_limit(layout, compression))
    name, size = type(compressor).__name__, round_nbytes(compressor)
    if compression <= 1 and compressor.adjustable:
        raise SizeError(f"{name} takes any budget, and compresses nothing where all bytes may be sent")
    smaller = min((other for other in budgets if other > compression), default=None)
    if smaller is not None and size <= byte_limit(layout, smaller):
        raise SizeError(f"{name} sends {size} bytes, which fit into 1/{smaller:g} of the dense update, too; see there")
    return compressor


def round_nbytes(compressor: Compressor) -> int:
    """What one client sends in a round of a normal update. O(d), or what the compressor takes."""
    loaded, layout = kernels.load("numpy"), compressor.layout
    normal = seeds.generator(SEED, part="size").standard_normal((1, 1, layout.d), dtype=np.float32)
    return compressor.exchange(normal, compressor.begin(1, 1, loaded), At(loaded, SEED, 0, 1)).bytes_up
