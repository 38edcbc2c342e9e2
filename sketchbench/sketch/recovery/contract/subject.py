"""A recovery under test with the operators that it decodes, test signals, and distances between results."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import MakeRecovery, Recovered, Recovery

Values = NDArray[np.float64]  # (signals,), in units of the allowance: at most 1 if a recovery keeps this part
Signals = NDArray[np.float64]  # (signals, d)

DTYPES = (np.float64, np.float32)
ROUNDING = 2.0**12  # rounding of some dozen iterations, each with a few sums of up to d terms, in units of eps
SAME = 1e-9  # relative difference between two orders of the same float64 sums, after 25 iterations
MOST = 1e12  # the value of a wrong shape, place or count, and of a number that is not finite
TINY = 1e-300  # a divisor in the place of 0
NOISE = 0.05  # standard deviation of the noise in every entry, as in tang2021 Appendix C
SHARE = 4  # one of so many entries is a nonzero of a test signal


@dataclass(frozen=True)
class RecoverySubject:
    """A recovery at one size of its sensing family, with the kernels and the key of operators and signals."""

    make: MakeRecovery
    family: Family
    kernels: Kernels
    key: int

    @property
    def d(self) -> int:
        return self.family.d

    @property
    def k(self) -> int:
        """The number of nonzeros in tests with a single k. With few, FIHT's steps vanish after as many iterations, and
        rounding alone decides the next steps."""
        return max(1, self.d // SHARE)

    def recovery(self, k: int | None = None, **changed: Any) -> Recovery:
        """A new recovery of k entries, with changed fields."""
        return dataclasses.replace(self.make(k=k or self.k), **changed)

    def operator(self, kernels: Kernels | None = None, operators: int | None = None, first: int = 0) -> Sketch:
        """The operator with number `first`, or a stack from it on."""
        return self.family.draw(self.key, operators=operators, first=first, kernels=kernels or self.kernels)

    def random(self, purpose: str) -> np.random.Generator:
        """A generator that depends on the key, the size and the purpose."""
        return seeds.generator(self.key, recovery=purpose, d=self.d, b=self.family.b)

    def noisy(self, purpose: str, count: int, k: int | None = None) -> Signals:
        """Draw signals (count, d): k normal entries plus noise, in turn with Student's t with 2 degrees of freedom."""
        random = self.random(purpose)
        x = self.sparse(random, count, k or self.k) + NOISE * random.standard_normal((count, self.d))
        x[1::2] = random.standard_t(2, x[1::2].shape)
        return x

    def sparse(self, random: np.random.Generator, count: int, k: int) -> Signals:
        """Draw signals (count, d) with k nonzeros at random places: in turn normal, ±1, and of mixed sizes."""
        x = np.zeros((count, self.d))
        for number, row in enumerate(x):
            places = random.choice(self.d, k, replace=False)
            signs = random.choice([-1.0, 1.0], k)
            sizes = [abs(random.standard_normal(k)), np.ones(k), 10 ** random.uniform(-4, 4, k)][number % 3]
            row[places] = signs * sizes
        return x

    def sense(self, phi: Sketch, x: Signals, dtype: Any = np.float64) -> Array:
        """Φ x for signals (..., d), in a dtype."""
        return phi.sketch(phi.kernels.asarray(x.astype(dtype)))


def numpy_of(phi: Sketch, array: Array) -> NDArray[Any]:
    """A backend's array as a new NumPy array."""
    return np.array(phi.kernels.to_numpy(array))


def recover(recovery: Recovery, phi: Sketch, y: Array) -> Recovered:
    """The result of `recovery.recover` as NumPy arrays, which no later call overwrites."""
    return Recovered(*(numpy_of(phi, part) for part in recovery.recover(phi, y)))


def take(found: Recovered, at: Any) -> Recovered:
    """Some of the results."""
    return Recovered(*(part[at] for part in found))


def flat(found: Recovered) -> Recovered:
    """The results with a single leading axis."""
    return Recovered(
        found.x.reshape(-1, found.x.shape[-1]),
        found.iterations.reshape(-1),
        found.trace.reshape(found.iterations.size, found.trace.shape[-1]),
    )


def joined(parts: list[Recovered]) -> Recovered:
    """The results of all parts, flattened, with traces as wide as the widest."""
    flattened = [flat(part) for part in parts]
    width = max(part.trace.shape[1] for part in flattened)
    return Recovered(
        np.concatenate([part.x for part in flattened]),
        np.concatenate([part.iterations for part in flattened]),
        np.concatenate([_widened(part.trace, width) for part in flattened]),
    )


def _widened(trace: NDArray[Any], width: int) -> NDArray[Any]:
    return np.pad(trace, ((0, 0), (0, width - trace.shape[1])), constant_values=np.nan)


def differences(found: Recovered, wanted: Recovered, allowed: float = SAME) -> Values:
    """The distance of estimates and of traces from the wanted ones, relative to these, in units of `allowed`: (N,).

    It is MOST if numbers of iterations differ, or if a number is not finite. With `allowed=0` all bits must agree.
    """
    found, wanted = flat(found), flat(wanted)
    if found.x.shape != wanted.x.shape:
        return np.full(len(wanted.x), MOST)
    width = max(found.trace.shape[1], wanted.trace.shape[1])
    traces = (_widened(found.trace, width), _widened(wanted.trace, width))
    broken = (found.iterations != wanted.iterations) | (np.isnan(traces[0]) != np.isnan(traces[1])).any(axis=1)
    pairs = ((found.x, wanted.x), tuple(np.nan_to_num(part, nan=0.0) for part in traces))
    if not allowed:
        return flags(broken | np.any([(one != other).any(axis=1) for one, other in pairs], axis=0))
    return np.maximum(flags(broken), np.max([relative(one, other) / allowed for one, other in pairs], axis=0))


def relative(found: NDArray[Any], wanted: NDArray[Any]) -> Values:
    """‖found - wanted‖₂ / ‖wanted‖₂ of rows, (N,), at most MOST, and MOST if it is not finite."""
    with np.errstate(all="ignore"):
        distance = np.linalg.norm(found.astype(float) - wanted, axis=1)
        share = distance / np.maximum(np.linalg.norm(wanted.astype(float), axis=1), TINY)
    return bounded(np.where(distance == 0, 0.0, share))


def flags(broken: NDArray[np.bool_]) -> Values:
    """MOST for a broken signal, else 0."""
    return np.where(broken, MOST, 0.0)


def bounded(values: NDArray[Any]) -> Values:
    """Values, at most MOST, and MOST for NaN."""
    return np.minimum(np.nan_to_num(values.astype(float), nan=MOST, posinf=MOST), MOST)


def states(recovery: Recovery, trait: str) -> bool:
    """Return a trait of a recovery, true unless its class has an attribute of this name that is false.

    exact: without noise and with orthonormal columns, estimates of k nonzeros are exact.
    scales: estimates scale with measurements; false if a stopping rule has a unit.
    permutes: another order of the coordinates gives the same estimates in that order.
    """
    default = trait != "scales" or getattr(recovery, "stopping", "relative") == "relative"
    return bool(getattr(recovery, trait, default))
