"""Ways to compress gradients: the family of the sketch, and the server's recovery."""

from typing import NamedTuple

from sketchbench.base.parameters import Count, Positive, checked, choose
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity
from sketchbench.sketch.recovery.count_sketch import CountSketchMedian
from sketchbench.sketch.recovery.desketch import Desketch
from sketchbench.sketch.recovery.fiht import FIHT
from sketchbench.sketch.recovery.recovery import Recovery
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.sketch.transform import SubsampledHadamard

TABLE_ROWS = 5  # rows of a CountSketch (tang2021 Appendix C.2)
COMPRESSING = ("fiht", "count_sketch")  # the cases of an arm that compresses


class CompressionArm(NamedTuple):
    """A way to compress: the name of its case, and its compression d/b."""

    case: str
    compression: float


UNCOMPRESSED = CompressionArm("uncompressed", 1.0)


class FeedbackCompressor(NamedTuple):
    """The server's recovery, and the family from which the operator is drawn."""

    recovery: Recovery
    family: Family


def no_compression(d: int) -> FeedbackCompressor:
    """Uncompressed gradients: the identity as the sketch."""
    return FeedbackCompressor(Desketch(d), Identity(d, d))


@checked
def fiht(d: Count, k: Count, compression: Positive) -> FeedbackCompressor:
    """FIHT as printed (tang2021 Appendices C and E), with d / compression rows of the Walsh-Hadamard matrix."""
    family = SubsampledHadamard(d, round(d / compression), signs=False)
    return FeedbackCompressor(FIHT(k, stopping="paper", support="padded"), family)


@checked
def count_sketch(d: Count, k: Count, rows: Count, columns: Count) -> FeedbackCompressor:
    """A CountSketch of rows × columns cells, decoded by the median of an entry's cells."""
    return FeedbackCompressor(CountSketchMedian(k), BlockSparseEmbedding(d, rows * columns, s=rows))


def check_case(case: str) -> None:
    """Raise ValueError for a case that is not among COMPRESSING."""
    choose("arm", case, COMPRESSING)


@checked
def compressor_of(arm: CompressionArm, d: Count, k: Count) -> FeedbackCompressor:
    """The compressor of an arm, for d weights and steps of k entries. Raises ValueError for a size or compression that
    is not positive, or a case outside COMPRESSING and UNCOMPRESSED."""
    if arm == UNCOMPRESSED:
        return no_compression(d)
    check_case(arm.case)
    if not arm.compression > 0:
        raise ValueError(f"compression={arm.compression} must be > 0")
    if arm.case == "fiht":
        return fiht(d, k, arm.compression)
    return count_sketch(d, k, TABLE_ROWS, max(1, round(d / (TABLE_ROWS * arm.compression))))
