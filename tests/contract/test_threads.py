"""Numba's results do not depend on the number of threads, bit for bit."""

from collections.abc import Iterator

import numba
import numpy as np
import pytest

from sketchbench.kernels import Kernels, load, threaded

MOST = numba.get_num_threads()


@pytest.fixture
def threads() -> Iterator[None]:
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


def everything() -> list[np.ndarray]:
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
        kernels.walsh_hadamard(rng.standard_normal((1, 2**16))),
        kernels.median(matrix, rng.standard_normal((8, 5, 90))),
        kernels.largest(rng.standard_normal((8, 1000)), 70),
        kernels.dense_sketch("gaussian", 5, 3, 0, 2, 9, rng.standard_normal((2, 3, 5000))),
        kernels.dense_desketch("signs", 5, 3, 0, 2, 5000, rng.standard_normal((2, 3, 9))),
        *long_vector(kernels),
    ]


def long_vector(kernels: Kernels) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    buckets = rng.integers(0, 300, (1, 1, 2**17), dtype=np.int32)
    matrix = kernels.prepare(buckets, np.ones_like(buckets, dtype=np.int8), 300)
    down = kernels.scatter(matrix, rng.standard_normal((1, 1, 2**17)))
    at = np.sort(rng.choice(2**18, 5000, replace=False)).astype(np.int32)[None, None]
    spread = kernels.spread(at, rng.standard_normal((1, 1, 5000)), np.ones((1, 1, 2**18)))
    words = kernels.random_words(5, 1, 0, 1, 2**16)
    sparse = (at, rng.standard_normal((1, 1, 5000)))
    u, v, scale = rng.standard_normal((1, 2**17)), rng.standard_normal((1, 2**17)), np.full((1, 1), 0.3)
    terms = [(np.minimum(at[0], 2**17 - 1), sparse[1][0])]
    return [
        *(down, kernels.gather(matrix, down), spread, kernels.collect(spread, at), words),
        kernels.spread_hadamard(*sparse, 1.7, np.empty_like(spread)),
        kernels.spread_hadamard_collect([sparse], np.empty_like(spread), at, 1.7),
        kernels.sampled_hadamard(u[None], None, 2**18, at, 0.3, lambda: np.empty_like(spread)),
        kernels.inner(u, v),
        kernels.largest(u, 3000),
        kernels.scale_and_add(u.copy(), scale, terms),
        kernels.add_to_scaled(u, scale, v),
    ]


@pytest.mark.skipif(MOST < 2, reason="Numba may use one thread only on this machine")
@pytest.mark.usefixtures("threads")
def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threaded, "WORTH_A_TEAM", -(2**62))  # all work is
    numba.set_num_threads(1)
    alone = everything()
    numba.set_num_threads(2)
    for one, two in zip(alone, everything(), strict=True):
        np.testing.assert_array_equal(one, two)
