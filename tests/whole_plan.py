"""The plan of all studies, made once in each process that runs tests."""

import functools

from sketchbench.plan import making as plan
from sketchbench.plan.plan import Plan


@functools.cache
def whole_plan(scale: str) -> Plan:
    """All studies at a scale with kernels=numba. It is shared, so no test may change it.

    Hydra composes for about 10 s where nothing is remembered, and a process that comes later finds in
    results/composed.txt what an earlier one composed.
    """
    return plan.expand(scale, "numba")
