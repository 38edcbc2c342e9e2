"""Sizes and options that a family cannot have, and what it says of them."""

import re
from collections.abc import Callable

import pytest

from sketchbench.sketch import (
    AMS,
    BalancedCountSketch,
    BlockSparseEmbedding,
    CountSketch,
    Family,
    Identity,
    SparseEmbedding,
    SubsampledCosine,
    SubsampledHadamard,
    UniformSampling,
)

REFUSED: dict[str, tuple[Callable[[], Family], str]] = {
    "s > b": (lambda: SparseEmbedding(9, 3), "s=4 nonzeros per column need 1 <= s <= b=3"),
    "s = 0": (lambda: SparseEmbedding(9, 3, 0), "s=0 nonzeros per column need 1 <= s <= b=3"),
    "block s > b": (lambda: BlockSparseEmbedding(9, 3), "s=4 nonzeros per column need 1 <= s"),
    "block s = 0": (lambda: BlockSparseEmbedding(9, 3, 0), "s=0 nonzeros per column need 1 <= s"),
    "s does not divide b": (
        lambda: BlockSparseEmbedding(9, 6),
        "sketch size b=6 must be a multiple of the number of blocks s=4",
    ),
    "uniform b > d": (
        lambda: UniformSampling(5, 6),
        "sampling b=6 coordinates without replacement needs b <= d=5",
    ),
    "SRHT b > n": (
        lambda: SubsampledHadamard(5, 9),
        "b=9 rows without replacement need b <= 8, the length of the transform for d=5; "
        "set replacement=true or lower b",
    ),
    "SRCT b > d": (
        lambda: SubsampledCosine(5, 6),
        "b=6 rows without replacement need b <= 5, the length of the transform for d=5",
    ),
    "balanced b does not divide d": (
        lambda: BalancedCountSketch(10, 4),
        "sketch size b=4 must divide d=10; choose such a b, or set remainder=paper",
    ),
    "balanced b > d": (lambda: BalancedCountSketch(3, 4, "paper"), "b=4 buckets need b <= d=3"),
    "remainder": (
        lambda: BalancedCountSketch(8, 4, "drop"),  # type: ignore[arg-type]
        "remainder=drop is unknown; choose one of refuse, paper",
    ),
    "identity": (lambda: Identity(4, 3), "the identity needs b = d, not b=3 and d=4"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    make, message = REFUSED[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("family", [AMS, CountSketch, BlockSparseEmbedding])
def test_unknown_hashing(family: Callable[..., Family]) -> None:
    with pytest.raises(ValueError, match="hashing=md5 is unknown; choose one of full, polynomial"):
        family(8, 4, hashing="md5")


def test_the_edge_is_taken() -> None:
    """Each remedy that the messages name works, and the largest sizes do."""
    assert SparseEmbedding(9, 4).s == 4
    assert BlockSparseEmbedding(9, 8).b == 8
    assert UniformSampling(5, 5).b == 5
    assert SubsampledHadamard(5, 8).n == 8
    assert SubsampledHadamard(5, 9, replacement=True).n == 8
    assert SubsampledCosine(5, 6, replacement=True).n == 5
    assert BalancedCountSketch(10, 4, "paper").remainder == "paper"
    assert Identity(4, 4).d == 4


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"key": 1.5}, TypeError, "key=1.5 must be an integer"),
        ({"key": -1}, ValueError, "key=-1 must be an integer of 64 bits"),
        ({"key": 2**64}, ValueError, "64 bits"),
        ({"key": 1, "first": -1}, ValueError, "exceed 0 to 2^32"),
        ({"key": 1, "first": 2**32}, ValueError, "exceed 0 to 2^32"),
        ({"key": 1, "operators": 0}, ValueError, "operators=0 must be >= 1"),
    ],
)
def test_bad_draws(arguments: dict[str, int], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        CountSketch(8, 4).draw(**arguments, kernels="numpy")
