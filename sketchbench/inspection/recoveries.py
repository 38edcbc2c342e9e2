"""A user's recovery: its class, its parameters, and what it makes of measurements."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from hydra.utils import instantiate

from sketchbench.inspection.findings import Findings
from sketchbench.inspection.targets import arguments, subclass
from sketchbench.recovery.recovery import Recovered, Recovery
from sketchbench.sketch.family import Family

EXAMPLE = "my_recoveries.Thresholding"
KEY = 2**63 + 54321
SIGNALS, NONZEROS = 3, 2


def check_recovery(found: Findings, node: Any, families: list[Family]) -> None:
    """Add the mistakes of a recovery's `algorithm`.

    Arguments:
        found: where mistakes go.
        node: the section `algorithm`, resolved.
        families: its `sensing` family at the sizes that it takes; none where it can't be made.
    """
    if node is None:
        found.add("algorithm", f"there is none; write algorithm: with a _target_ below it, such as {EXAMPLE}")
        return
    made = subclass(found, "algorithm", node, Recovery, EXAMPLE)
    if made is None or not arguments(found, "algorithm", node, made, given=("k",)):
        return
    with found.running("algorithm"):
        recovery = instantiate(dict(node), _partial_=True)(k=NONZEROS)
        for family in families[:1]:
            _check_recovered(found, recovery, family)


def _check_recovered(found: Findings, recovery: Recovery, family: Family) -> None:
    """What comes back for the measurements of three sparse signals."""
    sketch = family.draw(KEY, kernels="numpy")
    x = np.zeros((SIGNALS, family.d))
    x[:, 0], x[:, -1] = 1.0, -2.0
    y = sketch.sketch(x)
    recovered = recovery._recover(sketch.with_workspace(), y.copy())
    if not isinstance(recovered, Recovered):
        said = type(recovered).__name__
        found.add("algorithm", f"_recover returned a {said}; it must return a Recovered (x, iterations, trace)")
        return
    for name, mistake in _mistakes(recovered, family.d).items():
        found.add("algorithm", f"_recover of {SIGNALS} signals returned {name} {mistake}")


def _mistakes(recovered: Recovered, d: int) -> Mapping[str, str]:
    """What is wrong with the parts of a result."""
    x, iterations, trace = (np.asarray(part) for part in recovered)
    wrong = {}
    if x.shape != (SIGNALS, d) or x.dtype != np.float64:
        wrong["x"] = f"of {x.dtype} and shape {x.shape}; it must be float64 of shape {(SIGNALS, d)}, as the signals"
    elif not np.isfinite(x).all():
        wrong["x"] = "with entries that are not finite; every one must be"
    if iterations.shape != (SIGNALS,) or iterations.dtype.kind not in "iu":
        wrong["iterations"] = f"of {iterations.dtype} and shape {iterations.shape}; it must be integers, {(SIGNALS,)}"
    if trace.ndim != 2 or len(trace) != SIGNALS:
        wrong["trace"] = f"of shape {trace.shape}; it must have a row for each signal, {(SIGNALS, 'iterations')}"
    return wrong
