"""A compressor at a budget of bytes, refused where another budget of the study gives the same messages."""

from collections.abc import Sequence

import numpy as np

from sketchbench import kernels
from sketchbench.base import seeds
from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.sketch.family import SizeError

SEED = 0  # of the update whose message is measured


def at_budget(make: MakeCompressor, layout: Layout, compression: float, budgets: Sequence[float]) -> Compressor:
    """Return the compressor at one of the budgets that a study compares.

    Arguments:
        make: makes the compressor from `layout` and `limit`.
        compression: the budget: bytes of the dense float32 update over the bytes that a client may send in a round.
        budgets: all compressions of the study.

    Raises:
        SizeError: for a budget that no message fits; for messages that also fit the next smaller budget; and for a
            compression of at most 1 with an adjustable compressor, which would send all.
    """
    compressor = make(layout=layout, limit=byte_limit(layout, compression))
    name, size = type(compressor).__name__, round_nbytes(compressor)
    if compression <= 1 and traits.adjustable(compressor):
        raise SizeError(f"{name} takes any budget, and compresses nothing where all bytes may be sent")
    smaller = min((other for other in budgets if other > compression), default=None)
    if smaller is not None and size <= byte_limit(layout, smaller):
        raise SizeError(f"{name} sends {size} bytes, which fit into 1/{smaller:g} of the dense update, too; see there")
    return compressor


def round_nbytes(compressor: Compressor) -> int:
    """The bytes that one client sends in a round, measured on an update of normal entries. Takes one exchange."""
    loaded, layout = kernels.load("numpy"), compressor.layout
    normal = seeds.generator(SEED, part="size").standard_normal((1, 1, layout.d), dtype=np.float32)
    return compressor.exchange(normal, compressor.begin(1, 1, loaded), At(loaded, SEED, 0, 1)).bytes_up
