"""One thread of Numba's is enough for small problems, and workers side by side don't wait for each other."""

from collections.abc import Iterator

import numba
import pytest


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)
