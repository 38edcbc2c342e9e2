"""What a family draws: an operator of the right shape, real, finite, and made from its draws alone."""

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench import kernels
from sketchbench.inspection.findings import Findings
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

KEY, OTHER = 2**63 + 12345, 2**62 + 1
STACK, VECTORS = 4, 3


def check_operators(found: Findings, key: str, family: Family) -> None:
    """Add the mistakes of what a family draws, on NumPy kernels.

    Arguments:
        found: where mistakes go.
        key: of the family in its file.
        family: of sizes that it takes.
    """
    at = f"with d={family.d}, b={family.b}: "
    drawn: Any = None
    before = len(found.lines)
    with found.running(key):
        drawn = family._draw(Draws(KEY, 0, STACK, kernels.load("numpy")))
        if not isinstance(drawn, Sketch):
            found.add(key, f"{at}_draw returned {_said(drawn)}; it must return a Sketch, such as Dense")
        elif (drawn.b, drawn.d) != (family.b, family.d):
            found.add(
                key,
                f"{at}_draw returned a sketch with d={drawn.d}, b={drawn.b}; it must have the family's d and b",
            )
        else:
            _check_shapes(found, key, at, drawn)
    if len(found.lines) == before:
        with found.running(key):
            _check_single(found, key, at, family)
            _check_randomness(found, key, at, family)


def _check_shapes(found: Findings, key: str, at: str, drawn: Sketch) -> None:
    """A stack applied to vectors of its own, and to shared ones, in both precisions."""
    drawn.operators = STACK
    random_vectors = np.random.default_rng(0)
    for name, length, result in (("_sketch", drawn.d, drawn.b), ("_desketch", drawn.b, drawn.d)):
        for stack in (STACK, 1):
            for dtype in (np.float64, np.float32):
                x = random_vectors.standard_normal((stack, VECTORS, length)).astype(dtype)
                y = getattr(drawn, name)(x)
                mistake = _mistake(y, (STACK, VECTORS, result), dtype)
                if mistake:
                    given = f"{np.dtype(dtype).name} of shape {x.shape}"
                    found.add(key, f"{at}{name} of {given} (stack, vectors, length) returned {mistake}")
                    return


def _check_single(found: Findings, key: str, at: str, family: Family) -> None:
    """One operator, without a stack, applied to one vector."""
    single = family.draw(KEY, kernels="numpy")
    for name, length, result in (("sketch", family.d, family.b), ("desketch", family.b, family.d)):
        mistake = _mistake(getattr(single, name)(np.ones(length)), (result,), np.float64)
        if mistake:
            found.add(key, f"{at}without a stack, {name} of a vector returned {mistake}")


def _check_randomness(found: Findings, key: str, at: str, family: Family) -> None:
    """The same operators for a key, whatever state other generators are in; others for another one, and in a stack."""
    first = _matrices(family, KEY, state=1)
    again = _matrices(family, KEY, state=2)
    if not np.array_equal(first, again):
        found.add(
            key,
            f"{at}two draws with one key differ; all randomness must come from `draws`, none from numpy.random",
        )
        return
    if getattr(family, "random", True) is False:
        return
    remedy = "operators must differ, or the class must say `random: ClassVar[bool] = False`"
    if (first == first[:1]).all():
        found.add(key, f"{at}all {STACK} operators of a stack are the same matrix; {remedy}")
    elif np.array_equal(first, _matrices(family, OTHER, state=1)):
        found.add(key, f"{at}two keys give the same operators; {remedy}")


def _matrices(family: Family, key: int, state: int) -> NDArray[np.float64]:
    """A stack as matrices (STACK, b, d), drawn and applied in this state of the generators that programs share."""
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(state)
    np.random.seed(state)  # noqa: NPY002
    try:
        return np.array(family.draw(key, operators=STACK, kernels="numpy").materialize())
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


def _mistake(result: Any, shape: tuple[int, ...], dtype: Any) -> str | None:
    """What is wrong with an array, and what it must be; None for nothing."""
    wanted = f"it must be {np.dtype(dtype).name} of shape {shape}"
    if not isinstance(result, np.ndarray):
        return f"{_said(result)}; {wanted}"
    if result.shape != shape or result.dtype != dtype:
        return f"{result.dtype} of shape {result.shape}; {wanted}"
    if not np.isfinite(result).all():
        return f"{result[~np.isfinite(result)][0]} among its entries; every one must be finite"
    return None


def _said(thing: Any) -> str:
    return "None" if thing is None else f"a {type(thing).__name__}"
