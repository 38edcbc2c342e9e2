"""The Walsh-Hadamard transform beside SciPy's cosine transform and C, and an SRHT beside what NumPy makes of C."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from peers import SIZES, scipy

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.sketch import SubsampledHadamard

SHAPES = [(1, d) for d in SIZES] + [(1000, 2**10)]
POWERS = [10, 12, 14, 16, 17, 18, 20, 22, 27]  # of two, in bits: sizes of what is compared with C
CASES = [(f"float{bits}", power) for bits in (32, 64) for power in POWERS if power * bits < 27 * 64]
SOURCE = Path(__file__).with_name("walsh_hadamard.c")
Transform = Callable[[Any], Callable[[], None]]  # for an array, what transforms its last axis in place


@pytest.mark.parametrize("whose", ["ours", "scipy"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transform(
    timed: Any, kernels: Kernels, normals: Callable[..., Any], shape: tuple[int, int], dtype: str, whose: str
) -> None:
    x = normals(shape, dtype)
    if whose == "ours":  # in place, and orthonormal: it stays of order 1
        timed(lambda: kernels.walsh_hadamard(x), x, group="transform", name="walsh_hadamard")
        return
    fft = scipy(kernels, "fft")
    timed(lambda: fft.dct(x, norm="ortho"), x, group="transform", name=f"{fft.__name__}.dct", ours="walsh_hadamard")


@pytest.fixture(scope="session")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Transform]:
    """The transform in C for a dtype; skips where there is no gcc."""
    if shutil.which("gcc") is None:
        pytest.skip("finds no gcc, which compiles the transform in C that ours is compared with")
    folder = tmp_path_factory.mktemp("c")

    def compiled(dtype: str) -> Transform:
        library = folder / f"{dtype}.so"
        width = f"-DWIDTH={np.dtype(dtype).itemsize}"
        command = ["gcc", "-O3", "-march=native", width, "-shared", "-fPIC", SOURCE, "-o", library]
        subprocess.run(command, check=True)
        function = ctypes.CDLL(os.fspath(library)).walsh_hadamard
        function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long], None
        return lambda x: partial(function, x.ctypes.data, x.size, x.shape[-1])

    return compiled


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets the number of threads for a benchmark; skips where Numba may not use as many."""

    def use(count: int) -> None:
        if count > numba.config.NUMBA_NUM_THREADS:
            pytest.skip(f"may use {numba.config.NUMBA_NUM_THREADS} threads only, not {count}")
        numba.set_num_threads(count)

    before = numba.get_num_threads()
    yield use
    numba.set_num_threads(before)


@pytest.mark.parametrize(("dtype", "power"), CASES)
@pytest.mark.parametrize("whose", ["1_thread", "2_threads", "gcc"])
def test_beside_c(
    request: pytest.FixtureRequest,
    timed: Any,
    kernels: Kernels,
    threads: Callable[[int], None],
    dtype: str,
    power: int,
    whose: str,
) -> None:
    if kernels.NAME != "numba":
        pytest.skip("compares Numba's kernels on a number of threads with C")
    x = kernels.empty(
        (1, 2**power), dtype
    )  # both begin with a cache line: elsewhere, they take up to 1.6 times as long
    x[:] = 0  # which C, without a scale, leaves as they are: it takes as long
    if whose == "gcc":
        transform = request.getfixturevalue("in_c")(dtype)
        same_in_c(kernels, transform, dtype, min(power, 20))
        more = {"name": "gcc.walsh_hadamard", "ours": "walsh_hadamard.1_thread", "threads": 1}
        timed(transform(x), x, group="transform", **more)
        return
    threads(count := int(whose[0]))
    timed(lambda: kernels.walsh_hadamard(x), x, group="transform", name=f"walsh_hadamard.{whose}", threads=count)


def same_in_c(kernels: Kernels, transform: Transform, dtype: str, power: int) -> None:
    """What is compared must compute the same: bit for bit, up to the scale."""
    x = np.random.default_rng(0).standard_normal((1, 2**power)).astype(dtype)
    theirs = x.copy()
    transform(theirs)()
    np.testing.assert_array_equal(kernels.walsh_hadamard(x), theirs * x.dtype.type(2.0 ** (-power / 2)))


@pytest.mark.parametrize("whose", ["ours", "gcc"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("power", [10, 14, 17, 20, 22])
def test_srht(
    request: pytest.FixtureRequest, timed: Any, kernels: Kernels, threads: Callable[[int], None], power: int,
    dtype: str, whose: str,
) -> None:  # fmt: skip
    """b = d/16, on one thread, beside what two lines of NumPy make of the transform in C: signs before, rows after."""
    if kernels.NAME != "numba":
        pytest.skip("compares Numba's kernels with C")
    threads(1)
    d, b = 2**power, 2**power // 16
    sketch = SubsampledHadamard(d, b).draw(seeds.key(0), kernels=kernels)
    x = np.random.default_rng(0).standard_normal(d).astype(dtype)
    about = {"group": "srht", "b": b, "threads": 1}
    if whose == "ours":
        timed(lambda: sketch.sketch(x, check_finite=False), x, name="sketch", **about)
        return
    z = kernels.empty((1, d), dtype)
    signs = np.random.default_rng(1).choice([-(d**-0.5), d**-0.5], d).astype(dtype)
    at, transform = np.arange(0, d, 16), request.getfixturevalue("in_c")(dtype)(z)

    def run() -> Any:
        np.multiply(signs, x, out=z[0])
        transform()
        return z[0, at]

    timed(run, x, name="gcc.walsh_hadamard", ours="sketch", **about)


# A copy, the least that a pass over memory costs: its `copies` differ from 1 by the noise


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", SIZES)
def test_copy(timed: Any, kernels: Kernels, normals: Callable[..., Any], d: int, dtype: str) -> None:
    x = normals(d, dtype)
    target = kernels.xp.empty_like(x)
    timed(lambda: kernels.xp.copyto(target, x), x, group="copy", name="copyto")
