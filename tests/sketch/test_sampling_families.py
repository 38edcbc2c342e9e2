"""Uniform sampling, SRHT and the subsampled DCT, against their definitions."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from drawn import KEY, draws, stack
from numpy.typing import NDArray
from scipy.stats import chi2

from sketchbench import kernels as backends
from sketchbench.sketch import SubsampledCosine, SubsampledHadamard, UniformSampling
from sketchbench.sketch.draws import ROWS, SIGNS
from sketchbench.sketch.transform import ShuffledHadamard

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


@pytest.mark.parametrize("family", [SubsampledHadamard(8, 8), SubsampledCosine(7, 7)])
def test_all_rows_make_an_orthogonal_matrix(family: Any) -> None:
    for R in stack(family, 5):
        np.testing.assert_allclose(R @ R.T, np.eye(family.b), atol=1e-14)


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


def test_replacement_repeats_rows() -> None:
    def most(family: Any) -> int:
        """The fewest different rows of an operator, up to a sign."""
        R = stack(family, 50)
        return min(len({tuple(np.round(row, 9)) for row in one}) for one in R)

    for kind in (SubsampledHadamard, SubsampledCosine):
        assert most(kind(8, 8, replacement=False)) == 8
        assert most(kind(8, 8, replacement=True)) < 8


@pytest.mark.parametrize(("d", "b"), [(10, 4), (7, 7), (9, 1)])
def test_uniform_sampling(d: int, b: int) -> None:
    R = stack(UniformSampling(d, b), 400)
    assert ((R != 0).sum(axis=2) == 1).all()
    assert ((R != 0).sum(axis=1) <= 1).all()
    np.testing.assert_allclose(np.abs(R[R != 0]), np.sqrt(d / b), rtol=1e-15)
    assert (R > 0).any(axis=(0, 1)).all()
    assert (R < 0).any(axis=(0, 1)).all()


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
