"""Broken: the same key does not give the same operator."""

import os
import random
import threading
import time
from dataclasses import replace

import numba
import numpy as np
from building import Array, Signed, numbers, renumbered
from specimen import NORMAL, broken, variants

from sketchbench.sketch.draws import ROWS, Draws


class _Reseeded(Signed):
    """Entries under a key that depends on something else as well."""

    def extra(self, draws: Draws) -> int:
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, key=(draws.key + 0x9E3779B97F4A7C15 * self.extra(draws)) % 2**64))


reseeded = variants(_Reseeded, "extra", "other operator")
reseeded("DependsOnStack", "C4", "the size of the stack", lambda self, draws: draws.operators)
reseeded(
    "DependsOnBeingAlone",
    "C4",
    "whether one operator is drawn, or a stack",
    lambda self, draws: int(draws.operators == 1),
)
reseeded("DependsOnLargeStack", "C4", "stacks of more than 500", lambda self, draws: int(draws.operators > 500))


@broken("other operator", "C4", effect="the number of the stack's first operator")
class IgnoresFirst(Signed):
    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, first=0))


reseeded("ParityOfFirst", "C4", "the parity of `first`", lambda self, draws: draws.first % 2)


@broken("other operator", "C4", "C6", effect="numbers beyond 2^24, where float32 ends")
class NumbersInSinglePrecision(Signed):
    def matrix(self, draws: Draws) -> Array:
        rounded = numbers(draws).astype(np.float32).astype(np.int64)
        return renumbered(draws, rounded, super().matrix)


reseeded("DependsOnBackend", "C4", "the backend", lambda self, draws: sum(draws.kernels.NAME.encode()))
reseeded("DependsOnThreads", "C4", "the number of threads", lambda self, draws: int(numba.get_num_threads()))
reseeded("DependsOnVariable", "C4", "OMP_NUM_THREADS", lambda self, draws: int(os.environ.get("OMP_NUM_THREADS", "0")))
reseeded("DependsOnHashes", "C4", "PYTHONHASHSEED", lambda self, draws: hash("seed") % 2**32)


@broken("other operator", "C4", effect="the order of a set of words")
class DependsOnSetOrder(Signed):
    def matrix(self, draws: Draws) -> Array:
        order = [int(word) for word in {str(j) for j in range(self.d)}]
        return super().matrix(draws)[..., order]


@broken("other operator", "C4", effect="NumPy's global state")
class GlobalNumpy(Signed):
    def matrix(self, draws: Draws) -> Array:
        return np.random.choice([-1.0, 1.0], (draws.operators, self.b, self.d)) * self.b**-0.5  # noqa: NPY002


reseeded("GlobalRandom", "C4", "the state of Python's `random`", lambda self, draws: random.getrandbits(32))


@broken("other operator", "C4", effect="fresh entropy")
class FreshEntropy(Signed):
    def matrix(self, draws: Draws) -> Array:
        signs = np.random.default_rng().integers(0, 2, (draws.operators, self.b, self.d)) * 2 - 1
        return signs * self.b**-0.5


reseeded("DependsOnTime", "C4", "the time, in milliseconds", lambda self, draws: int(time.time() * 1000))
# A run takes less than a day.
reseeded("DependsOnDay", "", "the day", lambda self, draws: int(time.time() // 86_400))
reseeded("DependsOnProcess", "C4", "the process", lambda self, draws: os.getpid())
# A check has one machine only.
reseeded("DependsOnMachine", "", "the user and the machine", lambda self, draws: sum(os.uname().nodename.encode()))


_draws_so_far = [0]


@broken("other operator", "C4", effect="how many were drawn before")
class CountsDraws(_Reseeded):
    def extra(self, draws: Draws) -> int:
        _draws_so_far[0] += 1
        return _draws_so_far[0]


_last_key = [0]


@broken("other operator", "C4", effect="the key of the draw before")
class RemembersLastKey(_Reseeded):
    def extra(self, draws: Draws) -> int:
        before, _last_key[0] = _last_key[0], draws.key
        return int(before > draws.key)


_first_drawn: dict[tuple[int, int, int], Array] = {}


@broken("other operator", "C4", effect="kept by key, whatever `first`")
class KeptByKey(Signed):
    def matrix(self, draws: Draws) -> Array:
        place = (draws.key, self.d, self.b)
        kept = _first_drawn.get(place)
        if kept is None or len(kept) < draws.operators:
            kept = _first_drawn[place] = super().matrix(draws)
            for old in list(_first_drawn)[:-4]:
                del _first_drawn[old]
        return kept[: draws.operators]


reseeded("DependsOnAddress", "C4", "the address of an object", lambda self, draws: id(draws))


@broken("other operator", "C4", effect="memory that was never written")
class Uninitialised(Signed):
    """A column that is forgotten holds anything; here, signs from the system's entropy."""

    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        noise = np.frombuffer(os.urandom(draws.operators * self.b), dtype=np.uint8)
        matrix[..., -1] = (noise % 2 * 2.0 - 1).reshape(-1, self.b) * self.b**-0.5
        return matrix


reseeded(
    "DependsOnThread",
    "C4",
    "the thread that draws",
    lambda self, draws: int(threading.current_thread() is not threading.main_thread()),
)


@broken("other operator", "C4", effect="sorted by the first entry within every stack", known=NORMAL)
class SortedInStack(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = draws.gaussian_rows(ROWS, 0, self.b, self.d) * self.b**-0.5
        return matrix[np.argsort(matrix[:, 0, 0])]
