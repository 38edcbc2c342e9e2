"""A user's recovery: its class, its parameters, and the shapes of what it makes of measurements."""

from typing import Any

import numpy as np
from hydra.utils import instantiate

from sketchbench.plan.inspection.findings import Findings
from sketchbench.plan.inspection.targets import subclass
from sketchbench.sketch.family import Family
from sketchbench.sketch.recovery.recovery import Recovered, Recovery

KEY = 2**63 + 54321
SIGNALS, NONZEROS = 3, 2


def check_recovery(findings: Findings, node: Any, families: list[Family]) -> None:
    """Add the mistakes of a recovery's `algorithm`.

    Arguments:
        findings: where mistakes go.
        node: the section `algorithm`, resolved.
        families: its `sensing` family at the sizes that it takes; none where it has mistakes.
    """
    key = "algorithm"
    if not subclass(findings, key, node, Recovery, example="my_recoveries.Thresholding", given=("k",)):
        return
    with findings.running(key):
        recovery: Recovery = instantiate(dict(node), _partial_=True)(k=NONZEROS)
        for family in families[:1]:
            sketch = family.draw(KEY, kernels="numpy")
            x = np.zeros((SIGNALS, family.d))
            x[:, 0], x[:, -1] = 1.0, -2.0
            recovered: Any = recovery._recover(sketch.with_workspace(), sketch.sketch(x))
            if not isinstance(recovered, Recovered):
                kind = type(recovered).__name__
                findings.add(key, f"_recover returned a {kind}; it must return a Recovered (x, iterations, trace)")
                return
            _check_parts(findings, key, recovered, family.d)


def _check_parts(findings: Findings, key: str, recovered: Recovered, d: int) -> None:
    """The estimates, the iterations and the trace of a result."""
    x, iterations, trace = (np.asarray(part) for part in recovered)
    conditions = {
        f"float64 of shape {(SIGNALS, d)}, as the signals": x.shape == (SIGNALS, d) and x.dtype == np.float64,
        f"integers of shape {(SIGNALS,)}": iterations.shape == (SIGNALS,) and iterations.dtype.kind in "iu",
        f"of shape {(SIGNALS, 'iterations')}": trace.ndim == 2 and len(trace) == SIGNALS,
    }
    for (name, part), (condition, true) in zip(recovered._asdict().items(), conditions.items(), strict=True):
        if not true:
            given = f"{np.asarray(part).dtype} and shape {np.shape(part)}"
            findings.add(key, f"_recover of {SIGNALS} signals returned {name} of {given}; it must be {condition}")
        elif name == "x" and not np.isfinite(x).all():
            findings.add(key, f"_recover of {SIGNALS} signals returned x with entries that are not finite")
