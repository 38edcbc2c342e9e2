"""Two-level factorial designs: which of several factors moves a response, from few runs."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# The columns beyond the first four, as products of these: with five and six factors no effect of one factor is mixed
# with that of another one or of a pair (resolution IV and V; Box, Hunter & Hunter 2005, Table 6.22).
BASIC = 4
GENERATORS = {5: [[0, 1, 2, 3]], 6: [[0, 1, 2], [1, 2, 3]]}


@dataclass(frozen=True)
class Effect:
    """What going from the low to the high level of a factor adds to the response, averaged over all other levels.

    Attributes:
        mean: the estimate.
        error: its standard error, from what no factor explains.
        freedom: degrees of freedom of that.
    """

    mean: float
    error: float
    freedom: int


def design(factors: int) -> NDArray[np.int64]:
    """The levels, -1 and 1, of every factor in every run: (16, factors), or (2^factors, factors) for fewer than four.

    Arguments:
        factors: from 1 to 6.

    Raises:
        ValueError: for another number.
    """
    if not 1 <= factors <= max(GENERATORS):
        raise ValueError(f"factors={factors} must be from 1 to {max(GENERATORS)}; leave some out")
    basic: NDArray[np.int64] = np.array(list(itertools.product((-1, 1), repeat=min(factors, BASIC))))
    further = [basic[:, columns].prod(axis=1) for columns in GENERATORS.get(factors, [])]
    return np.concatenate([basic, *(column[:, None] for column in further)], axis=1)


def effects(names: Sequence[str], responses: NDArray[np.float64]) -> Mapping[str, Effect]:
    """The effect of every factor, by least squares; replicates are blocks with a level of their own.

    Arguments:
        names: of the factors.
        responses: (replicates, runs), in the order of `design`.

    Raises:
        ValueError: where there are fewer runs than are needed to estimate the error.
    """
    levels = design(len(names))
    replicates, runs = responses.shape
    freedom = replicates * runs - replicates - len(names)
    if runs != len(levels) or freedom < 1:
        raise ValueError(
            f"{replicates} x {runs} responses must be replicates of {len(levels)}, and more than {len(names)} effects"
            "; add replicates"
        )
    centred = responses - responses.mean(1, keepdims=True)
    means = (levels * centred.mean(0)[:, None]).sum(0) * 2 / runs
    unexplained = centred - levels @ means / 2
    error = 2 * math.sqrt((unexplained**2).sum() / freedom / (replicates * runs))
    return {name: Effect(float(mean), error, freedom) for name, mean in zip(names, means, strict=True)}
