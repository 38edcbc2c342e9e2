"""Keys are hashes of a family's repr, among others: another class or field name would change every number."""

import pytest

from sketchbench.run import execution
from sketchbench.run.config import composition

FOLDER = composition.CONF / "sketch"
REPRS = {
    "ams": "AMS(d=24, b=8, hashing='full')",
    "ams_polynomial": "AMS(d=24, b=8, hashing='polynomial')",
    "balanced_count_sketch": "BalancedCountSketch(d=24, b=8, remainder='refuse')",
    "block_sparse_embedding": "BlockSparseEmbedding(d=24, b=8, s=4, hashing='full')",
    "block_sparse_embedding_polynomial": "BlockSparseEmbedding(d=24, b=8, s=4, hashing='polynomial')",
    "control/ams_quarter": "QuarterAMS(d=24, b=8, hashing='full')",
    "control/broken/antithetic": "Antithetic(d=24, b=8)",
    "control/broken/half_the_key": "HalfTheKey(d=24, b=8, hashing='full')",
    "control/broken/next_key": "NextKey(d=24, b=8, hashing='full')",
    "control/broken/not_linear": "NotLinear(d=24, b=8)",
    "control/broken/not_projected": "NotProjected(d=24, b=8)",
    "control/broken/not_transposed": "NotTransposed(d=24, b=8)",
    "control/broken/odd_column": "OddColumn(d=24, b=8)",
    "control/broken/of_its_stack": "OfItsStack(d=24, b=8, hashing='full')",
    "control/broken/sloppy": "Sloppy(d=24, b=8)",
    "control/count_sketch_quarter": "QuarterCountSketch(d=24, b=8, hashing='full')",
    "control/equal_signs": "EqualSigns(d=24, b=8, hashing='full')",
    "control/gaussian_quarter": "QuarterGaussian(d=24, b=8)",
    "control/pairwise_signs": "PairwiseSigns(d=24, b=8, hashing='full')",
    "control/rows_in_order": "RowsInOrder(d=24, b=8, replacement=False, signs=False, pad=True)",
    "control/sparse_embedding_quarter": "QuarterSparse(d=24, b=8, s=4)",
    "control/srht_quarter": "QuarterHadamard(d=24, b=8, replacement=False, signs=True, pad=True)",
    "control/tied_blocks": "TiedBlocks(d=24, b=8, s=4, hashing='full')",
    "control/tied_signs": "TiedSigns(d=24, b=8, hashing='full')",
    "control/uniform_sampling_quarter": "QuarterSampling(d=24, b=8)",
    "control/zero": "Zero(d=24, b=8)",
    "count_sketch": "CountSketch(d=24, b=8, hashing='full')",
    "count_sketch_polynomial": "CountSketch(d=24, b=8, hashing='polynomial')",
    "gaussian": "Gaussian(d=24, b=8)",
    "identity": "Identity(d=24, b=24)",
    "sparse_embedding": "SparseEmbedding(d=24, b=8, s=4)",
    "srct": "SubsampledCosine(d=24, b=8, replacement=False, signs=True, pad=False)",
    "srht": "SubsampledHadamard(d=24, b=8, replacement=False, signs=True, pad=True)",
    "srht_replacement": "SubsampledHadamard(d=24, b=8, replacement=True, signs=True, pad=True)",
    "uniform_sampling": "UniformSampling(d=24, b=8)",
}


def test_every_config_is_here() -> None:
    assert {str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.yaml")} == set(REPRS)


@pytest.mark.parametrize("name", REPRS)
def test_repr_is_unchanged(name: str) -> None:
    config = composition.frozen(composition.compose([f"sketch={name}", "d=24", "b=8", "kernels=numpy"])).config
    assert repr(execution.family_of(config)) == REPRS[name]
