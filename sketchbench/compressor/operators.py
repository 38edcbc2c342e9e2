"""The sketches that compressors send: their sizes, and the operators of a round, drawn once for all who apply them."""

import functools
from collections.abc import Callable

from sketchbench import kernels as backends
from sketchbench.compressor.compressor import At
from sketchbench.sketch.family import Family, SizeError
from sketchbench.sketch.operator import Sketch

MakeFamily = Callable[..., Family]  # what `family` in a config gives; it wants d and b


def fit_family(make: MakeFamily, d: int, words: int) -> Family:
    """The largest sketch of d entries with at most so many rows, and at most d, that a family takes.

    Raises SizeError where it takes none of them; with the reason for one row.
    """
    for b in range(min(d, words), 1, -1):
        try:
            return make(d=d, b=b)
        except SizeError:
            continue
    return make(d=d, b=1)


def stack(family: Family, key: int, at: At) -> Sketch:
    """Operators of all trials."""
    return _stack(family, key, at.trials, at.kernels.NAME)


def singles(family: Family, key: int, at: At) -> tuple[Sketch, ...]:
    """The same operators, one by one, for recoveries."""
    return _singles(family, key, at.trials, at.kernels.NAME)


def forget() -> None:
    """Draw all operators anew when they are next asked for."""
    _stack.cache_clear()
    _singles.cache_clear()


@functools.lru_cache(maxsize=4)  # of a round, for the client's and the server's side
def _stack(family: Family, key: int, trials: int, kernels: str) -> Sketch:
    return family.draw(key, operators=trials, kernels=kernels)


@functools.lru_cache(maxsize=2)
def _singles(family: Family, key: int, trials: int, kernels: str) -> tuple[Sketch, ...]:
    return tuple(family.draw(key, first=t, kernels=kernels) for t in range(trials))


def on_cpu(at: At) -> At:
    """The same round with kernels that torch's tensors on the CPU go through."""
    return at if at.kernels.NAME != "cupy" else at._replace(kernels=backends.load("numba"))
