"""Operators are values: equal by what they were drawn from, and the same bits after any copy, on every backend."""

import copy
import io
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch
from configs import NAMES, B, D, family

from sketchbench.kernels import Kernels, load
from sketchbench.run import execution
from sketchbench.run.config import composition
from sketchbench.sketch import CountSketch, Family, Gaussian, Sketch, SubsampledHadamard, broken
from sketchbench.sketch.dense import Dense
from sketchbench.sketch.operator import draw_again
from sketchbench.sketch.scattered import Scattered
from sketchbench.sketch.spectrum import gamma_1, rank, singular_values

BROKEN = {
    name: one
    for name, one in vars(broken).items()
    if isinstance(one, type) and issubclass(one, Family) and one.__module__ == broken.__name__
}
FORMS: list[Callable[[Sketch], Sketch]] = [
    lambda sketch: sketch,
    lambda sketch: sketch.padded(),
    lambda sketch: sketch.with_workspace(),
    lambda sketch: sketch.with_workspace().padded().with_workspace(),
]


def saved(sketch: Sketch) -> Sketch:
    memory = io.BytesIO()
    torch.save({"operator": sketch}, memory)
    memory.seek(0)
    loaded: Sketch = torch.load(memory, weights_only=False)["operator"]
    return loaded


def copies(sketch: Sketch) -> list[Sketch]:
    pickles = [pickle.loads(pickle.dumps(sketch, protocol)) for protocol in (0, 2, pickle.HIGHEST_PROTOCOL)]
    return [*pickles, copy.copy(sketch), copy.deepcopy(sketch), saved(sketch)]


@pytest.mark.parametrize("operators", [None, 3])
@pytest.mark.parametrize("name", [*NAMES, *BROKEN])
def test_copies_have_the_same_bits(kernels: Kernels, name: str, operators: int | None) -> None:
    one = BROKEN[name](D, B) if name in BROKEN else family(name)
    drawn = one.draw(2**64 - 5, operators=operators, first=7, kernels=kernels)
    for form in FORMS:
        sketch = form(drawn)
        matrix = kernels.to_numpy(sketch.materialize())
        for other in copies(sketch):
            assert other is not sketch
            assert (other, hash(other)) == (sketch, hash(sketch))
            assert (type(other), other.kernels, other.operators) == (type(sketch), kernels, operators)
            again = kernels.to_numpy(other.materialize())
            assert again.dtype == matrix.dtype
            assert np.array_equal(again, matrix)


def test_what_makes_them_equal() -> None:
    f = SubsampledHadamard(5, 4)
    sketch = f.draw(1, kernels="numpy")
    assert sketch == f.draw(1, kernels=load("numpy")) == sketch.with_workspace()
    others = [
        f.draw(2, kernels="numpy"),
        f.draw(1, kernels="numba"),
        f.draw(1, first=1, kernels="numpy"),
        f.draw(1, operators=1, kernels="numpy"),
        SubsampledHadamard(5, 3).draw(1, kernels="numpy"),
        SubsampledHadamard(5, 4, replacement=True).draw(1, kernels="numpy"),
        sketch.padded(),
    ]
    assert len({sketch, *others, *copy.deepcopy(others)}) == 8
    assert sketch != "a string"


def test_memory_is_not_shared_with_a_copy() -> None:
    """The next call of `desketch` overwrites the last result of the same operator only."""
    working = SubsampledHadamard(8, 8, signs=False).draw(1, kernels="numba").with_workspace()
    for other in (copy.copy(working), working.with_workspace()):
        result = working.desketch(np.arange(8.0))
        before = result.copy()
        other.desketch(np.ones(8))
        assert np.array_equal(result, before)


def test_they_are_small() -> None:
    assert len(pickle.dumps(CountSketch(10**6, 10**4).draw(1, kernels="numba"))) < 300


def test_those_made_by_hand(kernels: Kernels) -> None:
    rows, signs = kernels.asarray(np.zeros((1, 1, 4), np.int32)), kernels.asarray(np.ones((1, 1, 4), np.int8))
    sketch = Scattered(kernels, 3, rows, signs)
    assert sketch in {sketch}
    for other in copies(sketch):
        assert other != sketch
        assert other.kernels is kernels
        assert np.array_equal(kernels.to_numpy(other.materialize()), kernels.to_numpy(sketch.materialize()))
    dense = Dense(kernels, 4, 3, 1, lambda row, rows: kernels.xp.ones((1, rows, 4)))
    assert np.array_equal(*(kernels.to_numpy(one.materialize()) for one in (dense, copy.deepcopy(dense))))
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(dense)


def test_loaded_without_other_code() -> None:
    """As torch's `weights_only` reads it, once it is told what is safe; no other method of an operator is called."""
    memory = io.BytesIO()
    sketch = SubsampledHadamard(5, 4).draw(2**64 - 1, operators=2, kernels="numpy").padded()
    torch.save({"operator": sketch}, memory)
    memory.seek(0)
    with torch.serialization.safe_globals([draw_again, SubsampledHadamard]):
        assert torch.load(memory, weights_only=True) == {"operator": sketch}
    with pytest.raises(ValueError, match="form='materialize' of an operator must be padded or with_workspace"):
        draw_again(CountSketch(5, 4), 1, None, 0, "numpy", ("materialize",))


def test_kernels_that_cannot_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sketchbench.kernels.device_missing", lambda: "no device today")
    with pytest.raises(RuntimeError, match="kernels=cupy can't run here: no device today"):
        draw_again(CountSketch(5, 4), 1, None, 0, "cupy")


# Keys are hashes of a family's repr, among others: another class or field name would change every number


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
    "control/broken/hides_nan": "HidesNaN(d=24, b=8)",
    "control/broken/next_key": "NextKey(d=24, b=8, hashing='full')",
    "control/broken/not_linear": "NotLinear(d=24, b=8)",
    "control/broken/not_projected": "NotProjected(d=24, b=8)",
    "control/broken/not_transposed": "NotTransposed(d=24, b=8)",
    "control/broken/odd_column": "OddColumn(d=24, b=8)",
    "control/broken/of_its_stack": "OfItsStack(d=24, b=8, hashing='full')",
    "control/broken/sixteen_bits": "SixteenBits(d=24, b=8)",
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


# Singular values of drawn sketches


@pytest.mark.parametrize("family", [Gaussian(12, 5), CountSketch(12, 5), Gaussian(5, 12)], ids=repr)
def test_those_of_the_matrix(kernels: Kernels, family: Family) -> None:
    stack = family.draw(3, operators=4, kernels=kernels)
    values = singular_values(stack)
    assert values.shape == (4, 5)
    for found, R in zip(values, kernels.to_numpy(stack.materialize()), strict=True):
        np.testing.assert_allclose(found**2, np.linalg.eigvalsh(R @ R.T if len(R) == 5 else R.T @ R), atol=1e-9)
        assert (rank(values, stack) == [np.linalg.matrix_rank(R) for R in kernels.to_numpy(stack.materialize())]).all()
    np.testing.assert_array_equal(gamma_1(stack), values[:, 0])
    one = family.draw(3, kernels=kernels)
    np.testing.assert_allclose(singular_values(one), values[0])
    assert gamma_1(one).shape == ()


def test_an_empty_bucket(kernels: Kernels) -> None:
    stack = CountSketch(5, 5).draw(1, operators=20, kernels=kernels)
    values = singular_values(stack)
    used = (kernels.to_numpy(stack.materialize()) != 0).any(axis=2).sum(axis=1)
    assert (rank(values, stack) == used).all()
    assert ((values[:, 0] == 0) == (used < 5)).all()
