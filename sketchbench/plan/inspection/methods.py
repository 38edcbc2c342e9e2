"""The class of a user's method, its parameters, its formulas, and one small call of it.

Numbers are not judged here. The study `contract` measures whether operators are linear and independent, and claims
judge the formulas under `theory`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hydra.utils import instantiate

from sketchbench import kernels
from sketchbench.base import parameters
from sketchbench.plan.inspection.findings import Findings
from sketchbench.plan.inspection.targets import formula, subclass
from sketchbench.run.execution import SENSING, family_of
from sketchbench.sketch.family import Family, SizeError
from sketchbench.theory.known import ALWAYS

# Sizes (d, b) of the studies; the first that the family takes is tried.
SIZES = (
    *((16, 4), (15, 6), (24, 8), (64, 16), (640, 16), (16, 16), (24, 24), (12, 4), (64, 32), (33, 8), (100, 10)),
    *((128, 32), (1024, 512), (1024, 312), (2610, 1305), (30, 15), (8, 2), (4, 1), (1000, 48)),
)
KEY, STACK, VECTORS = 2**63 + 12345, 4, 3
MOMENTS = {"second_moment": (("g", "h"), ("b",)), "norm": (("h",), ("b",)), "spectrum": ((), ("d", "b"))}
SHAPES = ((50, 64), (50,), (4, 2, 3, 3), ())  # of the arrays of an update
COMPRESSION, TRIALS, CLIENTS = 7, 2, 3


def check_family(findings: Findings, kind: str, config_at: Callable[[int, int], dict[str, Any]]) -> Family | None:
    """Return the family of a sketch or recovery at the first size that it takes; add mistakes and return None
    otherwise.

    Arguments:
        findings: receives the mistakes.
        kind: `sketch` or `recovery`.
        config_at: the resolved config at given d and b.
    """
    key, refusal, before = SENSING[kind], "", len(findings.lines)
    node = config_at(*SIZES[0])[kind][key]
    cls = subclass(findings, key, node, Family, example="my_sketches.HalfSigns", given=("d", "b"))
    if cls is None:
        return None
    with findings.running(key):
        for d, b in SIZES:
            try:
                family: Family = family_of(config_at(d, b))
            except SizeError as error:
                refusal = refusal or str(error)
                continue
            _try_family(findings, key, family)
            return family if len(findings.lines) == before else None
        sizes = ", ".join(f"d={d} b={b}" for d, b in SIZES)
        findings.add(key, f"{cls.__name__} takes none of the sizes {sizes}; of the first it says: {refusal}")
    return None


def _try_family(findings: Findings, key: str, family: Family) -> None:
    """Check the types of parameters, and the shape and dtype of sketched and desketched vectors."""
    parameters.check(family)
    if " at 0x" in repr(family):
        remedy = "a parameter must be a number, a string, or a list of them"
        findings.add(key, f"{repr(family)[:80]} contains a memory address, which differs from run to run; {remedy}")
        return
    sketch = family.draw(KEY, operators=STACK, kernels="numpy")
    calls = (("_sketch", sketch.sketch, family.d, family.b), ("_desketch", sketch.desketch, family.b, family.d))
    for name, call, length, size in calls:
        for dtype in ("float64", "float32"):
            result, wanted = np.asarray(call(np.ones((STACK, VECTORS, length), dtype))), (STACK, VECTORS, size)
            if result.shape != wanted or result.dtype != dtype:
                returned = f"with d={family.d}, b={family.b}: {name} returned {result.dtype} of shape {result.shape}"
                findings.add(key, f"{returned}; it must be {dtype} of shape {wanted}")
                return


def check_theory(findings: Findings, theory: Mapping[str, Any]) -> None:
    """Check that the functions under `theory` exist and take the arguments of a run; its keys are known."""
    for name, value in theory.items():
        key = f"theory.{name}"
        if value is None:
            continue
        if name == "embedding_constant":
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value < np.inf:
                condition = "must be a finite number >= 0, or an interpolation of one, such as ${d}"
                findings.add(key, f"{value!r} {condition}")
        elif name in MOMENTS:
            formula(findings, key, value, *MOMENTS[name])
        elif not isinstance(value, Mapping) or "_target_" in value:
            findings.add(key, f"{value!r:.60} must map names to functions: write `own:` above each _target_")
        else:
            for reading, node in value.items():
                sure = name == "inner_products" and reading == ALWAYS
                formula(findings, f"{key}.{reading}", node, *(((), ()) if sure else (("delta",), ("d", "b"))))


def check_recovery(findings: Findings, node: Any, family: Family | None) -> None:
    """Check a recovery's `algorithm`, and recover signals once.

    Arguments:
        findings: receives the mistakes.
        node: the section `algorithm`, resolved.
        family: its `sensing` family at one size; None if that has mistakes.
    """
    from sketchbench.sketch.recovery.recovery import Recovered, Recovery

    key = "algorithm"
    if subclass(findings, key, node, Recovery, example="my_recoveries.Thresholding", given=("k",)) and family:
        with findings.running(key):
            sketch, x = family.draw(KEY, kernels="numpy"), np.zeros((VECTORS, family.d))
            x[:, 0], x[:, -1] = 1.0, -2.0
            recovery: Recovery = instantiate(dict(node), _partial_=True)(k=2)
            result: object = recovery._recover(sketch.with_workspace(), sketch.sketch(x))
            if not isinstance(result, Recovered):
                kind = type(result).__name__
                findings.add(key, f"_recover returned a {kind}; it must return a Recovered (x, iterations, trace)")
                return
            recovery.recover(sketch, sketch.sketch(x))


def check_compressor(findings: Findings, node: Any) -> None:
    """Check a compressor's `algorithm`, and run one round without a byte limit and one with; `node` is resolved."""
    from sketchbench.compressor.compressor import At, Compressor
    from sketchbench.compressor.message import Layout, byte_limit

    key, layout = "algorithm", Layout(SHAPES)
    cls = subclass(findings, key, node, Compressor, example="my_compressors.Thinned", given=("layout", "limit"))
    if cls is None:
        return
    if not isinstance(getattr(cls, "adds_up", None), bool):
        findings.add(key, f"{cls.__name__} must say `adds_up: ClassVar[bool] = True`, or False")
        return
    loaded, make = kernels.load("numpy"), instantiate(dict(node), _partial_=True)
    updates = np.random.default_rng(0).standard_normal((TRIALS, CLIENTS, layout.d)).astype("float32")
    with findings.running(key):
        for compression in (1, COMPRESSION):
            try:
                compressor: Compressor = make(layout=layout, limit=byte_limit(layout, compression))
            except SizeError:
                continue
            memory = compressor.begin(TRIALS, CLIENTS, loaded)
            done = compressor.exchange(updates, memory, At(loaded, KEY, 0, TRIALS))
            step = np.asarray(done.step)
            if step.shape != (TRIALS, layout.d) or step.dtype != np.float32:
                condition = f"it must be float32 of shape {(TRIALS, layout.d)}"
                findings.add(key, f"a round gave a step of {step.dtype} and shape {step.shape}; {condition}")
                return
            if done.bytes_up > compressor.limit:
                sent = f"{cls.__name__} sends {done.bytes_up} bytes in a round, the limit is {compressor.limit}"
                findings.add(key, f"{sent}; raise SizeError in `check`, by `needs`")
                return
