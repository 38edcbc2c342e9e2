"""A sketch as SciPy's linear operator, column by column, on the reference kernels."""

import numpy as np
import pytest
from drawn import KEY
from scipy.sparse.linalg import LinearOperator

from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.family import Family
from sketchbench.sketch.gaussian import Gaussian

D, B = 9, 4
EVERY = pytest.mark.parametrize("family", [CountSketch(D, B), Gaussian(D, B), Gaussian(B, D)], ids=str)


def drawn(family: Family, dtype: type = np.float64) -> tuple[LinearOperator, np.ndarray]:
    """The operator, and the matrix that R makes of the basis, a vector at a time."""
    sketch = family.draw(KEY, kernels="numpy")
    matrix = np.array([sketch.sketch(e) for e in np.eye(family.d)]).T
    return sketch.as_linear_operator(dtype), matrix


@EVERY
def test_what_scipy_calls(family: Family) -> None:
    """The functions that the operator was given, without the reshaping that SciPy does around them."""
    operator, matrix = drawn(family)
    x, y = np.arange(1.0, family.d + 1), np.arange(1.0, family.b + 1)
    for column in (x, x[:, None]):
        result = operator._matvec(column)
        assert result.shape == (family.b,)
        np.testing.assert_allclose(result, matrix @ x)
    for column in (y, y[:, None]):
        result = operator._rmatvec(column)
        assert result.shape == (family.d,)
        np.testing.assert_allclose(result, matrix.T @ y)


@EVERY
def test_many_columns(family: Family) -> None:
    """Also such as are not contiguous."""
    operator, matrix = drawn(family)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((3, family.d)).T, rng.standard_normal((3, family.b)).T
    np.testing.assert_allclose(operator.matmat(x), matrix @ x)
    np.testing.assert_allclose(operator.rmatmat(y), matrix.T @ y)
    np.testing.assert_allclose(operator.T.matvec(y[:, 0]), matrix.T @ y[:, 0])


def test_of_another_precision() -> None:
    operator, matrix = drawn(CountSketch(D, B), np.float32)
    assert operator.dtype == np.float32
    result = operator.matvec(np.ones(D))
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, matrix.sum(axis=1))
