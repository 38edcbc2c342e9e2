"""Dense stacks of drawn operators, on the reference kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench import kernels as backends
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family

KEY = 20240607


def stack(family: Family, operators: int, key: int = KEY) -> NDArray[np.float64]:
    result: Any = family.draw(key, operators=operators, kernels="numpy").materialize()
    return np.asarray(result)


def draws(operators: int, key: int = KEY) -> Draws:
    return Draws(key, 0, operators, backends.load("numpy"))
