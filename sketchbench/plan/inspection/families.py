"""A user's family: its class, its parameters, the sizes that it takes, and the shape of what it draws.

Whether its operators are linear, transposed, unbiased, independent and made of their key alone is measured by the
study `contract`.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from sketchbench import kernels
from sketchbench.base import parameters
from sketchbench.plan.inspection.findings import Findings
from sketchbench.plan.inspection.targets import subclass
from sketchbench.run.execution import SENSING, family_of
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family, SizeError
from sketchbench.sketch.operator import Sketch

# Sizes d and b to try, as studies have them. Operators are drawn at the first two that the family takes, which are
# small, one with an odd d if it can be.
SIZES = (
    *((16, 4), (15, 6), (24, 8), (64, 16), (640, 16), (16, 16), (24, 24), (12, 4), (64, 32), (33, 8), (100, 10)),
    *((128, 32), (1024, 512), (1024, 312), (2610, 1305), (30, 15), (8, 2), (4, 1), (1000, 48)),
)
DRAWN = 2
KEY, STACK, VECTORS = 2**63 + 12345, 4, 3


def check_family(findings: Findings, kind: str, config_at: Callable[[int, int], dict[str, Any]]) -> list[Family]:
    """Add the mistakes of the family of a sketch or of a recovery; returns it at the sizes that it takes.

    Arguments:
        findings: where mistakes go.
        kind: `sketch` or `recovery`.
        config_at: the resolved config at given d and b.
    """
    key, families, refusals = SENSING[kind], [], []
    node, before = config_at(*SIZES[0])[kind][key], len(findings.lines)
    cls = subclass(findings, key, node, Family, example="my_sketches.HalfSigns", given=("d", "b"))
    if cls is None:
        return []
    with findings.running(key):
        for d, b in SIZES:
            try:
                families.append(family_of(config_at(d, b)))
            except SizeError as error:
                refusals.append(str(error))
        if not families:
            sizes = ", ".join(f"d={d} b={b}" for d, b in SIZES)
            findings.add(key, f"{cls.__name__} takes none of the sizes {sizes}; of the first it says: {refusals[0]}")
        for family in families[:DRAWN]:
            if len(findings.lines) == before:
                _check_parameters(findings, key, family)
                _check_operators(findings, key, family)
    return families if len(findings.lines) == before else []


def _check_parameters(findings: Findings, key: str, family: Family) -> None:
    """Parameters have the types of their fields, and the family is written the same way in every process."""
    with suppress(NameError, AttributeError):  # of types that can't be read
        parameters.check(family)
    if " at 0x" in repr(family):
        remedy = "a parameter must be a number, a text, or a list of them"
        findings.add(key, f"{repr(family)[:80]} names a place in memory, which differs from run to run; {remedy}")


@np.errstate(all="ignore")  # what is not finite is a finding
def _check_operators(findings: Findings, key: str, family: Family) -> None:
    """A stack of operators, applied to vectors of each operator's own and to shared ones, in both precisions."""
    drawn: Any = family._draw(Draws(KEY, 0, STACK, kernels.load("numpy")))
    at = f"with d={family.d}, b={family.b}: "
    if not isinstance(drawn, Sketch):
        findings.add(key, f"{at}_draw returned {_name(drawn)}; it must return a Sketch, such as Dense")
        return
    if (drawn.b, drawn.d) != (family.b, family.d):
        findings.add(key, f"{at}_draw returned a sketch with d={drawn.d}, b={drawn.b}; it must have the family's")
        return
    drawn.operators = STACK
    random = np.random.default_rng(0)
    for name, length, result in (("_sketch", drawn.d, drawn.b), ("_desketch", drawn.b, drawn.d)):
        for stack, dtype in ((STACK, "float64"), (STACK, "float32"), (1, "float64"), (1, "float32")):
            x = random.standard_normal((stack, VECTORS, length)).astype(dtype)
            if mistake := _mistake(getattr(drawn, name)(x), (STACK, VECTORS, result), dtype):
                given = f"{dtype} of shape {x.shape} (stack, vectors, length)"
                findings.add(key, f"{at}{name} of {given} returned {mistake}")
                return


def _mistake(result: Any, shape: tuple[int, ...], dtype: str) -> str:
    """What is wrong with an array, and what it must be; "" for nothing."""
    condition = f"it must be {dtype} of shape {shape}"
    if not isinstance(result, np.ndarray):
        return f"{_name(result)}; {condition}"
    if result.shape != shape or result.dtype != dtype:
        return f"{result.dtype} of shape {result.shape}; {condition}"
    if not np.isfinite(result).all():
        return f"{result[~np.isfinite(result)][0]} among its entries; every one must be finite"
    return ""


def _name(thing: Any) -> str:
    return "None" if thing is None else f"a {type(thing).__name__}"
