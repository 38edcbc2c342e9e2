"""A user's compressor: its class, its parameters, and what a round of it makes of updates."""

from contextlib import suppress
from typing import Any

import numpy as np
from hydra.utils import instantiate

from sketchbench import kernels
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.message import Layout, byte_limit
from sketchbench.inspection.findings import Findings
from sketchbench.inspection.targets import arguments, subclass
from sketchbench.sketch.family import SizeError

EXAMPLE = "my_compressors.Thinned"
LAYOUT = Layout(((50, 64), (50,), (10, 50), (10,)))
COMPRESSIONS = (7, 64)
TRIALS, CLIENTS, ROUNDS = 2, 3, 2
SEED = 54321


def check_compressor(found: Findings, node: Any) -> None:
    """Add the mistakes of a compressor's `algorithm`, where every entry may be sent, and at the compressions that it
    takes."""
    if node is None:
        found.add("algorithm", f"there is none; write algorithm: with a _target_ below it, such as {EXAMPLE}")
        return
    made = subclass(found, "algorithm", node, Compressor, EXAMPLE)
    if made is None or not arguments(found, "algorithm", node, made, given=("layout", "limit")):
        return
    for name in ("adds_up",):
        if not isinstance(getattr(made, name, None), bool):
            found.add("algorithm", f"{made.__name__} must say `{name}: ClassVar[bool] = True`, or False")
            return
    with found.running("algorithm"):
        make = instantiate(dict(node), _partial_=True)
        _check_rounds(found, make(layout=LAYOUT, limit=byte_limit(LAYOUT, 1)))
        for compression in COMPRESSIONS:
            if found.lines:
                return
            with suppress(SizeError):
                _check_rounds(found, make(layout=LAYOUT, limit=byte_limit(LAYOUT, compression)))


def _check_rounds(found: Findings, compressor: Compressor) -> None:
    """What comes of two rounds of random updates."""
    loaded = kernels.load("numpy")
    random = np.random.default_rng(SEED)
    memory = compressor.begin(TRIALS, CLIENTS, loaded)
    for number in range(ROUNDS):
        x = random.standard_normal((TRIALS, CLIENTS, LAYOUT.d)).astype("float32")
        done = compressor.exchange(x, memory, At(loaded, SEED, number, TRIALS))
        step, memory = np.asarray(done.step), done.memory
        if step.shape != (TRIALS, LAYOUT.d) or step.dtype != np.float32:
            wanted = f"float32 of shape {(TRIALS, LAYOUT.d)}"
            found.add("algorithm", f"a round gave a step of {step.dtype} and shape {step.shape}; it must be {wanted}")
            return
        if not np.isfinite(step).all():
            found.add("algorithm", "a round of finite updates gave a step that is not; every entry must be finite")
            return
        if done.bytes_up > compressor.limit:
            said = f"sends {done.bytes_up} bytes in a round, and may send {compressor.limit}"
            found.add("algorithm", f"{type(compressor).__name__} {said}; raise SizeError in `check`, by `needs`")
            return
