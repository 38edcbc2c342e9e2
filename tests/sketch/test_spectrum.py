"""Singular values of drawn sketches."""

import numpy as np
import pytest

from sketchbench.kernels import Kernels
from sketchbench.sketch import CountSketch, Family, Gaussian, Identity, SubsampledHadamard
from sketchbench.sketch.spectrum import gamma_1, rank, singular_values


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
    """3 columns can't fill 5 buckets: γ₁ = 0, and the rank is that of the buckets in use."""
    stack = CountSketch(5, 5).draw(1, operators=20, kernels=kernels)
    values = singular_values(stack)
    used = (kernels.to_numpy(stack.materialize()) != 0).any(axis=2).sum(axis=1)
    assert (rank(values, stack) == used).all()
    assert ((values[:, 0] == 0) == (used < 5)).all()


def test_orthogonal_rows(kernels: Kernels) -> None:
    np.testing.assert_allclose(singular_values(Identity(4, 4).draw(1, kernels=kernels)), 1)
    hadamard = SubsampledHadamard(16, 4).draw(1, kernels=kernels)
    np.testing.assert_allclose(singular_values(hadamard), 2)
