"""What a user's config claims under `theory`: numbers, and functions that give numbers for every size.

A formula is called at one size, to see that it takes the arguments of a run and gives numbers. Whether these are true
is measured: claims S2x and S3x judge moments, S5 and S6 thresholds, S27 spectra.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sketchbench.plan.inspection.findings import Findings
from sketchbench.plan.inspection.targets import formula
from sketchbench.theory.known import ALWAYS
from sketchbench.theory.leakage import ExpectedSpectrum

ROWS = 5  # vectors at a time
DELTA = 0.1
LARGEST = 64  # dimension at which formulas are called
Sizes = Sequence[tuple[int, int]]


def check_theory(findings: Findings, theory: Mapping[str, Any], sizes: Sizes) -> None:
    """Add the mistakes of a config's `theory`, which has no unknown keys.

    Arguments:
        findings: where mistakes go.
        theory: the section, resolved at the first of the sizes.
        sizes: d and b that the family takes.
    """
    small = [(d, b) for d, b in sizes if d <= LARGEST] or list(sizes)
    for name, value in theory.items():
        key = f"theory.{name}"
        if value is None:
            continue
        if name == "embedding_constant":
            if not _is_number(value) or value < 0:
                computes = "; YAML computes nothing" if isinstance(value, str) else ""
                condition = "must be a finite number >= 0, or one by interpolation, such as ${d}"
                findings.add(key, f"{value!r} {condition}{computes}")
        elif name == "spectrum":
            _check_spectrum(findings, key, value, [(d, b) for d, b in small if b <= d])
        elif name in ("second_moment", "norm"):
            _check_moment(findings, key, value, ("g", "h") if name == "second_moment" else ("h",), small)
        elif not isinstance(value, Mapping) or "_target_" in value:
            findings.add(key, f"{_short(value)} must map names to functions: write `own:` above each _target_")
        else:
            for reading, node in value.items():
                sure = name == "inner_products" and reading == ALWAYS
                _check_threshold(findings, f"{key}.{reading}", node, sure, small)


def _call(findings: Findings, key: str, sizes: Sizes, call: Callable[[int, int], Any]) -> tuple[Any, str] | None:
    """The value of a formula at the first size that it does not refuse by a ValueError, and this size in words; None,
    and a mistake, where it gives no value."""
    refusal: Exception = ValueError("no size fits")
    with findings.running(key):
        for d, b in sizes:
            try:
                return call(d, b), f"for d={d}, b={b}"
            except ValueError as error:
                refusal = error
        raise refusal
    return None


def _check_moment(findings: Findings, key: str, node: Any, vectors: tuple[str, ...], sizes: Sizes) -> None:
    """Several vectors at once, along the last axis, give the numbers of each alone."""
    function = formula(findings, key, node, vectors, ("b",))
    if function is None:
        return

    def call(d: int, b: int) -> tuple[Any, Any]:
        rows = np.random.default_rng(0).standard_normal((len(vectors), ROWS, d))
        rows.flags.writeable = False
        return function(*rows, b=b), [np.asarray(function(*rows[:, row], b=b)) for row in range(ROWS)]

    if called := _call(findings, key, sizes, call):
        (together, alone), at = called
        values = np.asarray(together)
        numbers = values.dtype.kind in "iuf" and values.shape == (ROWS,) and np.isfinite(values).all()
        if not numbers or (values < 0).any():
            condition = f"it must be {ROWS} finite numbers >= 0: sum over the last axis"
            findings.add(key, f"{at}, of {ROWS} vectors (shape ({ROWS}, d)), it is {_short(together)}; {condition}")
        elif not all(np.shape(one) == () and np.isclose(one, other) for one, other in zip(alone, values, strict=True)):
            findings.add(key, f"{at}, of {ROWS} vectors it is not that of each alone; sum over the last axis only")


def _check_threshold(findings: Findings, key: str, node: Any, sure: bool, sizes: Sizes) -> None:
    """A function (δ, d=, b=), or one without arguments where the threshold is `sure`, gives a number > 0."""
    function = formula(findings, key, node, () if sure else ("delta",), () if sure else ("d", "b"))
    if function is None:
        return
    called = _call(findings, key, sizes, lambda d, b: function() if sure else function(DELTA, d=d, b=b))
    if called and (not _is_number(called[0]) or called[0] <= 0):
        at = "" if sure else f" for delta={DELTA} and{called[1].removeprefix('for')}"
        findings.add(key, f"the threshold{at} is {_short(called[0])}; it must be a finite number > 0")


def _check_spectrum(findings: Findings, key: str, node: Any, sizes: Sizes) -> None:
    """A function (d=, b=) gives an ExpectedSpectrum of a matrix with b rows."""
    function = formula(findings, key, node, (), ("d", "b"))
    called = function and _call(findings, key, sizes, lambda d, b: (function(d=d, b=b), b))
    if called:
        (value, b), at = called
        if not isinstance(value, ExpectedSpectrum):
            findings.add(key, f"{at} it is {_short(value)}; it must be a sketchbench.theory.leakage.ExpectedSpectrum")
        elif not (
            -math.inf < value.smallest <= value.largest < math.inf
            and value.largest >= 0
            and 0 <= value.rank <= b
            and 0 <= value.deficient <= 1
        ):
            condition = "must have finite smallest <= largest, rank <= b, and a probability deficient"
            findings.add(key, f"{at} {value} {condition}")


def _is_number(value: Any) -> bool:
    """Whether a value is one finite number, of Python's or of NumPy's; True and False are none."""
    number = np.asarray(value)
    return bool(number.shape == () and number.dtype.kind in "iuf" and np.isfinite(number))


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"a {type(value).__name__} of shape {np.shape(value)}"
