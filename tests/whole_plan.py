"""The plan of all studies, made once in each run of the tests."""

import functools

from once import made_once

from sketchbench.plan import making as plan
from sketchbench.plan.plan import Plan
from sketchbench.run.config.schema import SCALES


@functools.cache
def _plans() -> dict[str, Plan]:
    return made_once("plans", lambda: {scale: plan.expand(scale, "numba") for scale in SCALES})


def whole_plan(scale: str) -> Plan:
    """All studies at a scale with kernels=numba, shared, so not to be changed; one process plans all scales."""
    return _plans()[scale]
