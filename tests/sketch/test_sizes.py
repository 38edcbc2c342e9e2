"""The largest sizes that a family takes. Sizes that it refuses are in tests/refusal/calls.py."""

from sketchbench.sketch import (
    BalancedCountSketch,
    BlockSparseEmbedding,
    Identity,
    SparseEmbedding,
    SubsampledCosine,
    SubsampledHadamard,
    UniformSampling,
)


def test_the_largest_sizes() -> None:
    """Each remedy that an error message names works, and so do the largest sizes."""
    assert SparseEmbedding(9, 4).s == 4
    assert BlockSparseEmbedding(9, 8).b == 8
    assert UniformSampling(5, 5).b == 5
    assert SubsampledHadamard(5, 8).n == 8
    assert SubsampledHadamard(5, 9, replacement=True).n == 8
    assert SubsampledCosine(5, 6, replacement=True).n == 5
    assert BalancedCountSketch(10, 4, "paper").remainder == "paper"
    assert Identity(4, 4).d == 4
