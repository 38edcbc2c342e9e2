"""Broken: the same key does not give the same operator."""

import os
import random
import threading
import time
from dataclasses import dataclass, replace

import numba
import numpy as np
from building import Array, Signed, numbers, renumbered
from specimen import NEVER, NORMAL, broken

from sketchbench.sketch.draws import ROWS, Draws


@dataclass(frozen=True)
class _Reseeded(Signed):
    """Entries under a key that depends on something else as well."""

    def extra(self, draws: Draws) -> int:
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, key=(draws.key + 0x9E3779B97F4A7C15 * self.extra(draws)) % 2**64))


@broken("other operator", "C4", effect="the size of the stack")
@dataclass(frozen=True)
class DependsOnStack(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return draws.operators


@broken("other operator", "C4", effect="whether one operator is drawn, or a stack")
@dataclass(frozen=True)
class DependsOnBeingAlone(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return int(draws.operators == 1)


@broken("other operator", "C4", effect="stacks of more than 500")
@dataclass(frozen=True)
class DependsOnLargeStack(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return int(draws.operators > 500)


@broken("other operator", "C4", effect="the number of the stack's first operator")
@dataclass(frozen=True)
class IgnoresFirst(Signed):
    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, first=0))


@broken("other operator", "C4", effect="the parity of `first`")
@dataclass(frozen=True)
class ParityOfFirst(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return draws.first % 2


@broken("other operator", "C4", "C6", effect="numbers beyond 2^24, where float32 ends")
@dataclass(frozen=True)
class NumbersInSinglePrecision(Signed):
    def matrix(self, draws: Draws) -> Array:
        rounded = numbers(draws).astype(np.float32).astype(np.int64)
        return renumbered(draws, rounded, super().matrix)


@broken("other operator", "C4", effect="the backend")
@dataclass(frozen=True)
class DependsOnBackend(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return sum(draws.kernels.NAME.encode())


@broken("other operator", "C4", effect="the number of threads")
@dataclass(frozen=True)
class DependsOnThreads(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return int(numba.get_num_threads())


@broken("other operator", "C4", effect="OMP_NUM_THREADS")
@dataclass(frozen=True)
class DependsOnVariable(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return int(os.environ.get("OMP_NUM_THREADS", "0"))


@broken("other operator", "C4", effect="PYTHONHASHSEED")
@dataclass(frozen=True)
class DependsOnHashes(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return hash("seed") % 2**32


@broken("other operator", "C4", effect="the order of a set of words")
@dataclass(frozen=True)
class DependsOnSetOrder(Signed):
    def matrix(self, draws: Draws) -> Array:
        order = [int(word) for word in {str(j) for j in range(self.d)}]
        return super().matrix(draws)[..., order]


@broken("other operator", "C4", effect="NumPy's global state")
@dataclass(frozen=True)
class GlobalNumpy(Signed):
    def matrix(self, draws: Draws) -> Array:
        return np.random.choice([-1.0, 1.0], (draws.operators, self.b, self.d)) * self.b**-0.5  # noqa: NPY002


@broken("other operator", "C4", effect="the state of Python's `random`")
@dataclass(frozen=True)
class GlobalRandom(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return random.getrandbits(32)


@broken("other operator", "C4", effect="fresh entropy")
@dataclass(frozen=True)
class FreshEntropy(Signed):
    def matrix(self, draws: Draws) -> Array:
        signs = np.random.default_rng().integers(0, 2, (draws.operators, self.b, self.d)) * 2 - 1
        return signs * self.b**-0.5


@broken("other operator", "C4", effect="the time, in milliseconds")
@dataclass(frozen=True)
class DependsOnTime(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return int(time.time() * 1000)


@broken("other operator", *NEVER, effect="the day")
@dataclass(frozen=True)
class DependsOnDay(_Reseeded):
    """A run takes less than a day."""

    def extra(self, draws: Draws) -> int:
        return int(time.time() // 86_400)


@broken("other operator", "C4", effect="the process")
@dataclass(frozen=True)
class DependsOnProcess(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return os.getpid()


@broken("other operator", *NEVER, effect="the user and the machine")
@dataclass(frozen=True)
class DependsOnMachine(_Reseeded):
    """A check has one machine only."""

    def extra(self, draws: Draws) -> int:
        return sum(os.uname().nodename.encode())


_draws_so_far = [0]


@broken("other operator", "C4", effect="how many were drawn before")
@dataclass(frozen=True)
class CountsDraws(_Reseeded):
    def extra(self, draws: Draws) -> int:
        _draws_so_far[0] += 1
        return _draws_so_far[0]


_last_key = [0]


@broken("other operator", "C4", effect="the key of the draw before")
@dataclass(frozen=True)
class RemembersLastKey(_Reseeded):
    def extra(self, draws: Draws) -> int:
        before, _last_key[0] = _last_key[0], draws.key
        return int(before > draws.key)


_first_drawn: dict[tuple[int, int, int], Array] = {}


@broken("other operator", "C4", effect="kept by key, whatever `first`")
@dataclass(frozen=True)
class KeptByKey(Signed):
    def matrix(self, draws: Draws) -> Array:
        place = (draws.key, self.d, self.b)
        kept = _first_drawn.get(place)
        if kept is None or len(kept) < draws.operators:
            kept = _first_drawn[place] = super().matrix(draws)
            for old in list(_first_drawn)[:-4]:
                del _first_drawn[old]
        return kept[: draws.operators]


@broken("other operator", "C4", effect="the address of an object")
@dataclass(frozen=True)
class DependsOnAddress(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return id(draws)


@broken("other operator", "C4", effect="memory that was never written")
@dataclass(frozen=True)
class Uninitialised(Signed):
    """A column that is forgotten holds anything; here, signs from the system's entropy."""

    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        noise = np.frombuffer(os.urandom(draws.operators * self.b), dtype=np.uint8)
        matrix[..., -1] = (noise % 2 * 2.0 - 1).reshape(-1, self.b) * self.b**-0.5
        return matrix


@broken("other operator", "C4", effect="the thread that draws")
@dataclass(frozen=True)
class DependsOnThread(_Reseeded):
    def extra(self, draws: Draws) -> int:
        return int(threading.current_thread() is not threading.main_thread())


@broken("other operator", "C4", effect="sorted by the first entry within every stack", known=NORMAL)
@dataclass(frozen=True)
class SortedInStack(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = draws.gaussian_rows(ROWS, 0, self.b, self.d) * self.b**-0.5
        return matrix[np.argsort(matrix[:, 0, 0])]
