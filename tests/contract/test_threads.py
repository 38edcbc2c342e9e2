"""Numba's results do not depend on the number of threads, bit for bit."""

from collections.abc import Iterator

import numba
import numpy as np
import pytest

from sketchbench.kernels import load

MOST = numba.get_num_threads()


@pytest.fixture
def threads() -> Iterator[None]:
    """Give the number of threads back."""
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


def everything() -> list[np.ndarray]:
    """One result of every compiled kernel, long enough to be worth sharing out."""
    kernels = load("numba")
    rng = np.random.default_rng(0)
    words = kernels.random_words(5, 1, 0, 8, 3000)
    rows = kernels.distinct(words.reshape(8, 3, 1000), 90)
    signs = kernels.sign_rows(5, 2, 0, 8, 0, 3, 1000)
    matrix = kernels.prepare(rows, signs, 90)
    return [
        words,
        rows,
        signs,
        kernels.gaussian_rows(5, 3, 0, 8, 0, 3, 1000),
        kernels.polynomial_hash(words[:, :40].reshape(8, 10, 4) >> np.uint32(1), 1000),
        kernels.scatter(matrix, rng.standard_normal((8, 5, 1000))),
        kernels.gather(matrix, rng.standard_normal((8, 5, 90))),
        kernels.walsh_hadamard(rng.standard_normal((8, 5, 1024))),
    ]


@pytest.mark.skipif(MOST < 2, reason="Numba may use one thread only on this machine")
@pytest.mark.usefixtures("threads")
def test_threads_do_not_matter() -> None:
    numba.set_num_threads(1)
    alone = everything()
    numba.set_num_threads(2)
    for one, two in zip(alone, everything(), strict=True):
        np.testing.assert_array_equal(one, two)
