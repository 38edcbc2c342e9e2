"""What Numba compiles with threads and without is kept apart in its cache."""

from collections import Counter

import numba
import numpy as np
import pytest
from numba import prange

from sketchbench.kernels import numba_hadamard, numba_kernels, numba_selection, numba_vectors
from sketchbench.kernels.threaded import Threaded


def test_no_two_share_a_place_in_the_cache() -> None:
    functions = [
        one
        for module in (numba_hadamard, numba_kernels, numba_selection, numba_vectors)
        for one in vars(module).values()
    ]
    threaded = [one for one in functions if isinstance(one, Threaded)]
    assert len(threaded) > 10
    compiled = [one for both in threaded for one in (both.team, both.alone)]
    compiled += [one for one in functions if hasattr(one, "py_func")]
    places = Counter((one._cache.cache_path, one._cache._cache_file._index_name) for one in compiled)
    assert max(places.values()) == 1


@Threaded
def _fill(x: np.ndarray) -> None:
    for i in prange(x.shape[0]):
        x[i] = i


@pytest.mark.parametrize("threads", [1, 2])
def test_one_thread_needs_no_team(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if threads > numba.config.NUMBA_NUM_THREADS:
        pytest.skip("Numba may use one thread only")
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        monkeypatch.setattr(_fill, "team" if threads == 1 else "alone", None)
        x = np.zeros(9)
        _fill(x)
    finally:
        numba.set_num_threads(before)
    assert x.tolist() == list(range(9))
