"""Two-level factorial designs, which measure the effects of several factors on a response from few runs."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import checked
from sketchbench.measure.numbers import Sample

# Products of other columns make the fifth and sixth factor, so that no effect is confounded with another factor's or a
# pair's (resolution V and IV; Box, Hunter & Hunter 2005, Table 6.22).
BASIC = 4
GENERATORS = {5: [[0, 1, 2, 3]], 6: [[0, 1, 2], [1, 2, 3]]}


@dataclass(frozen=True)
class Effect:
    """The mean change of the response from the low to the high level of a factor, over all levels of the others.
    `mean`: estimate, in the unit of the response; `error`: standard error, from the variance that no factor explains;
    `freedom`: degrees of freedom of the standard error."""

    mean: float
    error: float
    freedom: int


def design(factors: int) -> NDArray[np.int64]:
    """The level, -1 or 1, of each factor, 1 to 6, in each run: (16, factors), or (2^factors, factors) for fewer than
    four. Raises ValueError for another number."""
    if not 1 <= factors <= max(GENERATORS):
        raise ValueError(f"factors={factors} must be from 1 to {max(GENERATORS)}; leave some out")
    basic: NDArray[np.int64] = np.array(list(itertools.product((-1, 1), repeat=min(factors, BASIC))))
    further = [basic[:, columns].prod(axis=1) for columns in GENERATORS.get(factors, [])]
    return np.concatenate([basic, *(column[:, None] for column in further)], axis=1)


@checked
def effects(names: Sequence[str], responses: Sample) -> Mapping[str, Effect]:
    """Estimate every factor's effect, by name, by least squares with replicates as blocks. Responses are (replicates,
    runs), runs as in `design`. Raises ValueError for another number of runs, or too few to estimate the error."""
    if len(set(names)) < len(names) or responses.ndim != 2:
        raise ValueError(f"names={names} must differ, and responses of shape {responses.shape} be (replicates, runs)")
    levels = design(len(names))
    replicates, runs = responses.shape
    freedom = replicates * runs - replicates - len(names)
    if runs != len(levels) or freedom < 1:
        raise ValueError(
            f"responses of shape {responses.shape} must be (replicates, {len(levels)}), and more than replicates + "
            f"{len(names)} in number; add replicates"
        )
    centred = responses - responses.mean(1, keepdims=True)
    means = (levels * centred.mean(0)[:, None]).sum(0) * 2 / runs
    unexplained = centred - levels @ means / 2
    error = 2 * math.sqrt((unexplained**2).sum() / freedom / (replicates * runs))
    return {name: Effect(float(mean), error, freedom) for name, mean in zip(names, means, strict=True)}
