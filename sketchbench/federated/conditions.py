"""Conditions that each training checks once, before it starts."""

import numpy as np

from sketchbench.learning.dataset.arrays import check_array
from sketchbench.learning.objective.problem import Problem
from sketchbench.measure.numbers import check_finite


def check_objective(objective: Problem, d: int) -> None:
    """Raise ValueError unless an objective fits sketches of vectors of d entries, and starts from finite weights."""
    if d != objective.d:
        raise ValueError(f"the sketch's d={d} must be the objective's, {objective.d}")
    check_array("the objective's start", objective.start, np.float64, "d")
    if len(objective.start) != d:
        raise ValueError(f"the objective's start has {len(objective.start)} weights, and must have d={d}")
    check_finite("the objective's start", objective.start)
