"""Which random words make which operator: a result recorded with one key must come out of it again in all releases.

Words come from Philox itself, which is tested against the Random123 distribution, and streams are numbers here and not
names: the signs have stream 0, buckets 1, rows 2, and the entries of a dense matrix 3.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import KEY, stack
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator
from scipy.special import ndtri

from sketchbench.kernels.numpy_kernels import philox
from sketchbench.sketch.ams import AMS
from sketchbench.sketch.balanced import BalancedCountSketch
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.family import Family
from sketchbench.sketch.gaussian import Gaussian
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.sketch.uniform import UniformSampling

T = 3
SIGNS, BUCKETS, ROWS, ENTRIES = 0, 1, 2, 3


def word(i: int, t: int, stream: int, row: int = 0) -> int:
    return int(philox((i // 4, row, t, stream), KEY)[i % 4])


def wide(i: int, count: int, t: int, stream: int) -> int:
    """Of `count` numbers of 64 bits: high halves come before low ones."""
    return word(i, t, stream) << 32 | word(count + i, t, stream)


def signs(count: int, t: int, stream: int, row: int = 0) -> NDArray[Any]:
    return np.array([2 * (word(j // 32, t, stream, row) >> j % 32 & 1) - 1 for j in range(count)])


def test_count_sketch() -> None:
    for t, R in enumerate(stack(CountSketch(40, 6), T)):
        buckets = [word(j, t, BUCKETS) * 6 >> 32 for j in range(40)]
        np.testing.assert_array_equal(R[buckets, range(40)], signs(40, t, SIGNS))


def test_polynomial_hashes() -> None:
    """The coefficients, highest power first, are numbers of 64 bits modulo 2³¹ - 1."""
    prime = 2**31 - 1
    for t, R in enumerate(stack(CountSketch(9, 5, "polynomial"), T)):
        line = [wide(i, 2, t, BUCKETS) % prime for i in range(2)]
        cubic = [wide(i, 4, t, SIGNS) % prime for i in range(4)]
        for j in range(9):
            bucket = (line[0] * j + line[1]) % prime * 5 >> 31
            bit = sum(c * j ** (3 - i) for i, c in enumerate(cubic)) % prime & 1
            assert R[bucket, j] == 2 * bit - 1


def test_block_sparse() -> None:
    """Nonzero r of column j is number r d + j of all."""
    for t, R in enumerate(stack(BlockSparseEmbedding(7, 6, 2), T)):
        drawn = signs(14, t, SIGNS) * 2**-0.5
        for r in range(2):
            buckets = [3 * r + (word(7 * r + j, t, BUCKETS) * 3 >> 32) for j in range(7)]
            np.testing.assert_allclose(R[buckets, range(7)], drawn[7 * r : 7 * r + 7])


def test_balanced() -> None:
    """Column j goes to bucket p mod b, with p the place of the j-th smallest number."""
    for t, R in enumerate(stack(BalancedCountSketch(8, 4), T)):
        position = np.argsort([wide(j, 8, t, BUCKETS) for j in range(8)])
        np.testing.assert_array_equal(R[position % 4, range(8)], signs(8, t, SIGNS))


@pytest.mark.parametrize(("d", "b"), [(9, 4), (360, 40)])
def test_rows_without_replacement(d: int, b: int) -> None:
    """Those of the smallest numbers, in ascending order."""
    for t, R in enumerate(stack(UniformSampling(d, b), T)):
        numbers = [wide(i, d, t, ROWS) for i in range(d)]
        rows = sorted(sorted(range(d), key=numbers.__getitem__)[:b])
        np.testing.assert_allclose(R[range(b), rows], (d / b) ** 0.5 * signs(d, t, SIGNS)[rows])


def test_rows_with_replacement() -> None:
    """Row r of Sylvester's matrix has the parity of the bits that r and j share."""
    for t, R in enumerate(stack(SubsampledHadamard(8, 5, replacement=True), T)):
        rows = sorted(word(i, t, ROWS) * 8 >> 32 for i in range(5))
        parity = np.array([[(-1) ** (r & j).bit_count() for j in range(8)] for r in rows])
        np.testing.assert_allclose(
            np.array(sorted(R.tolist())), sorted((parity * signs(8, t, SIGNS) / 5**0.5).tolist())
        )


@pytest.mark.parametrize("d", [5, 40])
def test_dense_entries(d: int) -> None:
    for t in range(T):
        uniform = np.array([[(word(j, t, ENTRIES, row) + 0.5) / 2**32 for j in range(d)] for row in range(3)])
        np.testing.assert_allclose(stack(Gaussian(d, 3), T)[t], ndtri(uniform) / 3**0.5, rtol=1e-13)
        drawn = [signs(d, t, ENTRIES, row) for row in range(3)]
        np.testing.assert_allclose(stack(AMS(d, 3), T)[t], np.array(drawn) / 3**0.5)


# What drawing and applying a sketch of a long vector takes beside the vector


RESIDENT = Path(__file__).parents[1] / "benchmark" / "resident.py"
D = 7_750_000  # padded by as much as a language model's gradient of 124 million, to a power of two


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("family", "limit"), [("SubsampledHadamard", 2.0), ("CountSketch", 2.0)])
def test_memory_beside_the_input(family: str, limit: float) -> None:
    command = [sys.executable, RESIDENT, "numba", family, str(D), str(D // 16)]
    returned = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}  # what is freed is at once no longer resident
    done = subprocess.run(command, env=returned, capture_output=True, text=True, check=True)
    peak = json.loads(done.stdout)["peak_copies"]
    assert 1 < peak < limit


# A sketch as SciPy's linear operator, column by column, on the reference kernels


WIDTH, B = 9, 4
EVERY = pytest.mark.parametrize("family", [CountSketch(WIDTH, B), Gaussian(WIDTH, B), Gaussian(B, WIDTH)], ids=str)


def drawn(family: Family, dtype: type = np.float64) -> tuple[LinearOperator, np.ndarray]:
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
    operator, matrix = drawn(family)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((3, family.d)).T, rng.standard_normal((3, family.b)).T
    np.testing.assert_allclose(operator.matmat(x), matrix @ x)
    np.testing.assert_allclose(operator.rmatmat(y), matrix.T @ y)
    np.testing.assert_allclose(operator.T.matvec(y[:, 0]), matrix.T @ y[:, 0])


def test_of_another_precision() -> None:
    operator, matrix = drawn(CountSketch(WIDTH, B), np.float32)
    assert operator.dtype == np.float32
    result = operator.matvec(np.ones(WIDTH))
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, matrix.sum(axis=1))
