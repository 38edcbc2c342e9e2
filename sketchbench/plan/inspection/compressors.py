"""A user's compressor: its class, its parameters, and what two rounds of it make of updates."""

from contextlib import suppress
from typing import Any

import numpy as np
from hydra.utils import instantiate

from sketchbench import kernels
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.plan.inspection.findings import Findings
from sketchbench.plan.inspection.targets import subclass
from sketchbench.sketch.family import SizeError

KEY = "algorithm"
LAYOUT = Layout(((50, 64), (50,), (10, 50), (10,), (4, 2, 3, 3), ()))
COMPRESSIONS = (7, 64)
TRIALS, CLIENTS, ROUNDS = 2, 3, 3
SEED = 54321


def check_compressor(findings: Findings, node: Any) -> None:
    """Add the mistakes of a compressor's `algorithm`, where every entry may be sent, and at the compressions that it
    takes."""
    cls = subclass(findings, KEY, node, Compressor, example="my_compressors.Thinned", given=("layout", "limit"))
    if cls is None:
        return
    if not isinstance(getattr(cls, "adds_up", None), bool):
        findings.add(KEY, f"{cls.__name__} must say `adds_up: ClassVar[bool] = True`, or False")
        return
    with findings.running(KEY):
        make = instantiate(dict(node), _partial_=True)
        _check_rounds(findings, make(layout=LAYOUT, limit=byte_limit(LAYOUT, 1)))
        for compression in COMPRESSIONS:
            if not findings.lines:
                with suppress(SizeError):
                    _check_rounds(findings, make(layout=LAYOUT, limit=byte_limit(LAYOUT, compression)))


def _check_rounds(findings: Findings, compressor: Compressor) -> None:
    """The step and the bytes of each round of random updates, of which the second are zero."""
    loaded = kernels.load("numpy")
    random = np.random.default_rng(SEED)
    memory = compressor.begin(TRIALS, CLIENTS, loaded)
    for number in range(ROUNDS):
        updates = (random.standard_normal((TRIALS, CLIENTS, LAYOUT.d)) * (number != 1)).astype("float32")
        done = compressor.exchange(updates, memory, At(loaded, SEED, number, TRIALS))
        step, memory = np.asarray(done.step), done.memory
        mistake = ""
        if step.shape != (TRIALS, LAYOUT.d) or step.dtype != np.float32:
            condition = f"float32 of shape {(TRIALS, LAYOUT.d)}"
            mistake = f"a round gave a step of {step.dtype} and shape {step.shape}; it must be {condition}"
        elif not np.isfinite(step).all():
            mistake = "a round of finite updates gave a step that is not; every entry must be finite"
        elif done.bytes_up > compressor.limit:
            sent = f"sends {done.bytes_up} bytes in a round, and may send {compressor.limit}"
            mistake = f"{type(compressor).__name__} {sent}; raise SizeError in `check`, by `needs`"
        if mistake:
            findings.add(KEY, mistake)
            return
