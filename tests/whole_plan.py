"""The plan of all studies, made once in each process that runs tests."""

import fcntl
import functools
import os

from sketchbench.config.schema import SCALES
from sketchbench.plan import making as plan
from sketchbench.plan.plan import Plan
from sketchbench.project import CONF


@functools.cache
def _plans() -> dict[str, Plan]:
    folder = os.open(CONF, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        return {scale: plan.expand(scale, "numba") for scale in SCALES}
    finally:
        os.close(folder)


def whole_plan(scale: str) -> Plan:
    """All studies at a scale with kernels=numba. It is shared, so no test may change it.

    Hydra composes for half a minute where nothing is remembered. So one process after the other plans all scales, which
    have most of what is composed in common, and finds in results/composed.txt what the first one composed.
    """
    return _plans()[scale]
