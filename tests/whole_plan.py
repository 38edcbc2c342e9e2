"""The plan of all studies at a scale, made once in each run of the tests."""

import functools

from once import made_once

from sketchbench.plan import making as plan
from sketchbench.plan.plan import Plan


@functools.cache
def whole_plan(scale: str) -> Plan:
    """All studies at a scale with kernels=numba, shared, so not to be changed."""
    return made_once(f"plan of {scale}", lambda: plan.expand(scale, "numba"))
