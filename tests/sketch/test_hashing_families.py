"""CountSketch, its balanced kin, and sparse embeddings: where the nonzeros are, and how large."""

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from drawn import KEY, draws, stack
from numpy.typing import NDArray
from scipy.stats import chi2

from sketchbench import kernels as backends
from sketchbench.sketch import (
    AMS,
    BalancedCountSketch,
    BlockSparseEmbedding,
    SparseEmbedding,
    SubsampledCosine,
    SubsampledHadamard,
)
from sketchbench.sketch.control import EqualSigns, TiedSigns
from sketchbench.sketch.draws import BUCKETS, ENTRIES, PRIME, ROWS, SIGNS
from sketchbench.sketch.hashing import Hashing
from sketchbench.sketch.transform import ShuffledHadamard

HASHINGS = pytest.mark.parametrize("hashing", ["full", "polynomial"])


@pytest.mark.parametrize(("b", "s"), [(12, 4), (7, 3), (5, 5), (6, 1)])
def test_sparse_embedding(b: int, s: int) -> None:
    R = stack(SparseEmbedding(30, b, s), 40)
    assert ((R != 0).sum(axis=1) == s).all()
    np.testing.assert_allclose(np.abs(R[R != 0]), s**-0.5, rtol=1e-15)
    assert (np.sign(R) == 1).any(axis=(0, 2)).all()
    assert (np.sign(R) == -1).any(axis=(0, 2)).all()


def test_polynomial_hashes_by_definition() -> None:
    """Scaled degree-1 polynomials for rows, lowest bits of degree-3 ones for signs, exactly."""
    R = stack(BlockSparseEmbedding(5, 6, 2, "polynomial"), 20).reshape(20, 2, 3, 5)
    bits = draws(20)
    rows = bits.polynomials(BUCKETS, 1, 2)[:, 0].tolist()
    signs = bits.polynomials(SIGNS, 1, 4)[:, 0].tolist()
    for t, r, j in itertools.product(range(20), range(2), range(5)):
        row = value_at(rows[t], 5 * r + j) * 3 >> 31
        sign = 2 * (value_at(signs[t], 5 * r + j) & 1) - 1
        assert R[t, r, row, j] == pytest.approx(sign * 2**-0.5)


def test_polynomial_ams_by_definition() -> None:
    R = stack(AMS(5, 4, "polynomial"), 20)
    polynomials = draws(20).polynomials(ENTRIES, 4, 4).tolist()
    for t, row, j in itertools.product(range(20), range(4), range(5)):
        assert R[t, row, j] == (value_at(polynomials[t][row], j) & 1) - 0.5


def value_at(coefficients: list[int], x: int) -> int:
    """The polynomial modulo the prime, highest power first."""
    powers = range(len(coefficients) - 1, -1, -1)
    return sum(c * x**power for c, power in zip(coefficients, powers, strict=True)) % PRIME


@pytest.mark.parametrize(("d", "b"), [(14, 4), (25, 13), (7, 4), (12, 4)])
def test_remainder_drops_columns(d: int, b: int) -> None:
    R = stack(BalancedCountSketch(d, b, "paper"), 200)
    assert ((R != 0).sum(axis=2) == d // b).all()
    dropped = (R == 0).all(axis=1)
    assert (dropped.sum(axis=1) == d % b).all()
    assert dropped.any(axis=0).all() == (d % b > 0)


def test_remainder_changes_nothing_where_b_divides_d() -> None:
    np.testing.assert_array_equal(stack(BalancedCountSketch(12, 4, "paper"), 9), stack(BalancedCountSketch(12, 4), 9))


@pytest.mark.statistical
def test_every_column_is_dropped_as_often() -> None:
    """Chi-square, error 1e-6; one column at 0.22 instead of 0.2 has power > 0.999."""
    trials = 20_000
    R = stack(BalancedCountSketch(5, 4, "paper"), trials)
    counts = (R == 0).all(axis=1).sum(axis=0)
    assert counts.sum() == trials
    assert ((counts - trials / 5) ** 2 / (trials / 5)).sum() < chi2.isf(1e-6, 4)


def test_controls() -> None:
    equal, tied = stack(EqualSigns(30, 6), 40), stack(TiedSigns(30, 6), 40)
    for R in (equal, tied):
        assert ((R != 0).sum(axis=1) == 1).all()
    signs = equal.sum(axis=1)
    assert (signs == signs[:, :1]).all()
    assert set(signs[:, 0]) == {-1.0, 1.0}
    assert set(np.unique(tied[:, ::2])) == {-1.0, 0.0}
    assert set(np.unique(tied[:, 1::2])) == {0.0, 1.0}


@pytest.mark.parametrize(("hashing", "alike"), [("rows", False), ("polynomial", True)])
def test_blocks_have_hash_functions_of_their_own(hashing: Hashing, alike: bool) -> None:
    """Of 4,000 draws 1/64 collide twice if independent, 1/13 with the same slope: 1/25 is 12 and 8 errors away."""
    embedding = BlockSparseEmbedding(2, 16, s=2, hashing=hashing).draw(1, operators=4000, kernels="numpy")
    inner = abs(embedding.materialize()).transpose(0, 2, 1) @ abs(embedding.materialize())
    both = float((inner[:, 0, 1] > 0.75).mean())  # each common block gives 1/2
    assert (both > 1 / 25) is alike


# Uniform sampling, SRHT and the subsampled DCT, against their definitions


REPLACEMENT = pytest.mark.parametrize("replacement", [False, True])


def cosine_matrix(n: int) -> NDArray[np.float64]:
    k, j = np.arange(n)[:, None], np.arange(n)[None, :]
    matrix = np.sqrt(2 / n) * np.cos(np.pi * (2 * j + 1) * k / (2 * n))
    matrix[0] = n**-0.5
    return np.asarray(matrix)


def defined(transform: NDArray[Any], d: int, b: int, replacement: bool, T: int) -> NDArray[Any]:
    """sqrt(n/b) S H D P, from the same random bits; rows come in ascending order."""
    n = len(transform)
    bits = draws(T)
    rows = bits.integers(ROWS, b, n) if replacement else bits.subset(ROWS, b, n)
    rows = np.sort(rows, axis=-1)
    signs = bits.signs(SIGNS, d)
    return np.sqrt(n / b) * transform[rows][:, :, :d] * signs[:, None, :]


@pytest.mark.parametrize(("d", "b"), [(1, 1), (8, 8), (16, 5), (9, 4), (13, 16), (3, 1)])
@REPLACEMENT
def test_srht(d: int, b: int, replacement: bool) -> None:
    n = 1 << (d - 1).bit_length()
    transform = scipy.linalg.hadamard(n) / np.sqrt(n)
    R = stack(SubsampledHadamard(d, b, replacement), 6)
    np.testing.assert_allclose(R, defined(transform, d, b, replacement, 6), atol=1e-14)
    np.testing.assert_allclose(np.abs(R), b**-0.5, rtol=1e-14)


@pytest.mark.parametrize(("d", "b"), [(1, 1), (8, 8), (12, 5), (7, 3)])
@REPLACEMENT
def test_srct(d: int, b: int, replacement: bool) -> None:
    R = stack(SubsampledCosine(d, b, replacement), 6)
    np.testing.assert_allclose(R, defined(cosine_matrix(d), d, b, replacement, 6), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("d", [12, 70_000])  # of a block of the fast transform, and of several
def test_shuffled_rows_are_those_of_srht_in_another_order(d: int) -> None:
    kernels, b, x = backends.load("auto"), 8, np.random.default_rng(0).standard_normal((2, 1, d)).astype("float32")
    x[..., 5:] = 0
    kinds = [kind(d, b, signs=False) for kind in (SubsampledHadamard, ShuffledHadamard)]
    ordered, shuffled = (kind.draw(KEY, operators=2, kernels=kernels) for kind in kinds)
    vectors, places = kernels.asarray(x), kernels.asarray(np.tile(np.arange(5, dtype="int32"), (2, 1)))
    mask = kernels.asarray(np.array([False, True]))
    joined = [kind.draw(KEY, kernels=kernels).join([kind.draw(KEY + 1, kernels=kernels)]) for kind in kinds]
    for one, other in ((ordered, shuffled), (ordered.select(mask), shuffled.select(mask)), joined):
        own = vectors[: one.operators]
        y, z = (kernels.to_numpy(each.sketch(own)) for each in (one, other))
        order = np.argsort(np.argsort(z, axis=-1), axis=-1)
        assert np.array_equal(np.take_along_axis(np.sort(y, axis=-1), order, axis=-1), z)
        assert (y != z).any()
        sparse = kernels.to_numpy(other.sketch_sparse((places[: one.operators], own[:, 0, :5])))
        np.testing.assert_allclose(sparse, z[:, 0], rtol=1e-4, atol=1e-6)
        back = [kernels.to_numpy(each.desketch(kernels.asarray(part))) for each, part in ((one, y), (other, z))]
        np.testing.assert_allclose(*back, rtol=1e-4, atol=1e-6)


@pytest.mark.statistical
def test_subsets_are_uniform() -> None:
    """Chi-square over the 15 pairs of 6, error 1e-6; a pair at 0.08, not 0.067, power > 0.999."""
    trials = 30_000
    rows = draws(trials).subset(ROWS, 2, 6)
    assert (rows[:, 0] < rows[:, 1]).all()
    kinds, counts = np.unique(rows @ [6, 1], return_counts=True)
    assert len(kinds) == 15
    assert ((counts - trials / 15) ** 2 / (trials / 15)).sum() < chi2.isf(1e-6, 14)


@pytest.mark.statistical
def test_permutations_are_uniform() -> None:
    """Chi-square over the 24 permutations of 4, error 1e-6; one at 0.055, not 0.042: > 0.999."""
    trials = 30_000
    order = draws(trials).permutation(ROWS, 4)
    kinds, counts = np.unique(order @ [64, 16, 4, 1], return_counts=True)
    assert len(kinds) == 24
    assert ((counts - trials / 24) ** 2 / (trials / 24)).sum() < chi2.isf(1e-6, 23)
