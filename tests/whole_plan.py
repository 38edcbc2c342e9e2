"""The plan of all studies, made once in each process that runs tests."""

import fcntl
import functools
import os

from sketchbench.plan import making as plan
from sketchbench.plan.plan import Plan
from sketchbench.project import CONF


@functools.cache
def whole_plan(scale: str) -> Plan:
    """All studies at a scale with kernels=numba. It is shared, so no test may change it.

    Hydra composes for half a minute where nothing is remembered. So processes make their plans one after the other, and
    find in results/composed.txt what the first one composed.
    """
    folder = os.open(CONF, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        return plan.expand(scale, "numba")
    finally:
        os.close(folder)
