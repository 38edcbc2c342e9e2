"""What a user's config claims under `theory`: numbers, and functions that give numbers for every size."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sketchbench.config.composition import THEORY
from sketchbench.inspection.findings import Findings
from sketchbench.inspection.targets import formula
from sketchbench.parameters import did_you_mean
from sketchbench.sketch.family import Family
from sketchbench.theory.known import ALWAYS
from sketchbench.theory.leakage import ExpectedSpectrum

MOMENTS = {"second_moment": ("g", "h"), "norm": ("h",)}  # with the vectors that they take
LEMMAS = ("tails", "always", "inner_products")  # thresholds by the names of lemmas or readings
DELTAS = (0.1, 0.001)
ROWS = 5  # vectors at a time
LARGEST = 64  # dimension at which formulas are evaluated
Sizes = Sequence[tuple[int, int]]


def check_theory(found: Findings, theory: Any, families: Sequence[Family]) -> None:
    """Add the mistakes of a config's `theory`.

    Arguments:
        found: where mistakes go.
        theory: the section, resolved at the sizes of the first family; None for none.
        families: the family at the sizes that it takes; where it can't be made, formulas are tried at d=16, b=4.
    """
    if theory is None:
        return
    if not isinstance(theory, Mapping):
        found.add("theory", f"{theory!r} must map some of the keys {', '.join(THEORY)} to values")
        return
    sizes = [(family.d, family.b) for family in families if family.d <= LARGEST] or [(16, 4)]
    for name, value in theory.items():
        if name not in THEORY:
            found.add(
                f"theory.{name}", f"is unknown; it must be one of {', '.join(THEORY)}{did_you_mean(str(name), THEORY)}"
            )
        elif value is None:
            continue
        elif name == "embedding_constant":
            _number(found, "theory.embedding_constant", value)
        elif name == "spectrum":
            _spectrum(found, "theory.spectrum", value, sizes)
        elif name in LEMMAS:
            _thresholds(found, name, value, sizes)
    moments = [_moment(found, name, theory[name], sizes) for name in MOMENTS if theory.get(name) is not None]
    if len(moments) == 2 and all(moments):
        _agree(found, moments, sizes)


def _number(found: Findings, key: str, value: Any) -> None:
    kind = isinstance(value, int | float) and not isinstance(value, bool)
    if not kind or not math.isfinite(value) or value < 0:
        remedy = "; YAML computes nothing" if isinstance(value, str) and any(c in value for c in "*/+-") else ""
        found.add(key, f"{value!r} must be a finite number >= 0, or one by interpolation, such as ${{d}}{remedy}")


def _moment(found: Findings, name: str, node: Any, sizes: Sizes) -> Callable[..., Any] | None:
    """The function at `second_moment` or `norm`, if it gives finite numbers >= 0, one for each vector or pair."""
    key, vectors = f"theory.{name}", MOMENTS[name]
    made = formula(found, key, node, vectors, ("b",))
    if made is None:
        return None
    before = len(found.lines)
    for d, b in _working(found, key, sizes, lambda d, b: made(*np.ones((len(vectors), d)), b=b)):
        with found.running(key):
            _check_moment(found, name, functools.partial(made, b=b), d)
        if len(found.lines) > before:
            return None
    return made if len(found.lines) == before else None


def _check_moment(found: Findings, name: str, made: Callable[..., Any], d: int) -> None:
    """Of several vectors or pairs at once, of each alone, and without changing them."""
    key, random = f"theory.{name}", np.random.default_rng(0)
    rows = [random.standard_normal((ROWS, d)) for _ in MOMENTS[name]]
    kept = [row.copy() for row in rows]
    before = len(found.lines)
    for index, shape in ((slice(None), (ROWS,)), (0, ()), ((slice(None), None), (ROWS, 1))):
        given = [row[index] for row in rows]
        _check_numbers(found, key, made(*given), shape, f"{name} of vectors of shape {given[0].shape}")
        if len(found.lines) > before:
            return
    if not all(map(np.array_equal, rows, kept)):
        found.add(key, f"{name} changes the vectors that it is given; it must leave them alone")
    elif not np.allclose(made(*rows), [made(*pair) for pair in zip(*rows, strict=True)], 1e-9, 1e-9):
        found.add(key, f"{name} of {ROWS} vectors is not that of each alone; it must sum over the last axis only")


def _working(found: Findings, key: str, sizes: Sizes, call: Callable[[int, int], Any]) -> Iterator[tuple[int, int]]:
    """The first two sizes at which a formula can be evaluated; one may refuse others by a ValueError, as some of the
    project's do. A mistake where there is none."""
    refused: Exception | None = None
    working = 0
    for d, b in sizes:
        try:
            call(d, b)
        except ValueError as error:
            refused = refused or error
            continue
        except BaseException as error:
            with found.running(key):
                raise error
            return
        yield d, b
        working += 1
        if working == 2:
            return
    if refused is not None and not working:
        with found.running(key):
            raise refused


def _check_numbers(found: Findings, key: str, result: Any, shape: tuple[int, ...], what: str) -> None:
    """Whether a result is real numbers of a shape, finite and >= 0."""
    values = np.asarray(result)
    if values.dtype.kind not in "iuf":
        found.add(key, f"{what} is {_short(result)}; it must be numbers")
    elif values.shape != shape:
        found.add(key, f"{what} is of shape {values.shape}; it must be of shape {shape}: sum over the last axis only")
    elif not np.isfinite(values).all() or (values < 0).any():
        wrong = values[~(np.isfinite(values) & (values >= 0))].reshape(-1)[0]
        found.add(key, f"{what} is {wrong}; it must be finite and >= 0")


def _thresholds(found: Findings, name: str, value: Any, sizes: Sizes) -> None:
    """The thresholds of `tails`, `always` or `inner_products`."""
    if not isinstance(value, Mapping) or "_target_" in value:
        found.add(f"theory.{name}", f"{_short(value)} must map names to functions: write `own:` above each _target_")
        return
    for reading, node in value.items():
        sure = name == "inner_products" and reading == ALWAYS
        _threshold(found, f"theory.{name}.{reading}", node, sizes, sure)


def _threshold(found: Findings, key: str, node: Any, sizes: Sizes, sure: bool) -> None:
    """A function (δ, d=, b=) that gives a finite number > 0; or one without arguments, where it is `sure`."""
    made = formula(found, key, node, () if sure else ("delta",), () if sure else ("d", "b"))
    if made is None:
        return
    calls: list[tuple[float, ...]] = [()] if sure else [(delta,) for delta in DELTAS]
    for d, b in _working(found, key, sizes, lambda d, b: made(*calls[0], **_size(sure, d, b))):
        for arguments in calls:
            with found.running(key):
                value = made(*arguments, **_size(sure, d, b))
                number = np.asarray(value)
                if number.dtype.kind not in "iuf" or number.shape != () or not np.isfinite(number) or number <= 0:
                    at = f" for delta={arguments[0]}, d={d}, b={b}" if arguments else ""
                    found.add(key, f"the threshold{at} is {_short(value)}; it must be a finite number > 0")
                    return


def _size(sure: bool, d: int, b: int) -> dict[str, int]:
    return {} if sure else {"d": d, "b": b}


def _spectrum(found: Findings, key: str, node: Any, sizes: Sizes) -> None:
    """A function (d=, b=) that gives an ExpectedSpectrum with finite numbers."""
    made = formula(found, key, node, (), ("d", "b"))
    if made is None:
        return
    for d, b in _working(found, key, [(d, b) for d, b in sizes if b <= d], lambda d, b: made(d=d, b=b)):
        with found.running(key):
            value, at = made(d=d, b=b), f"for d={d}, b={b}"
            if not isinstance(value, ExpectedSpectrum):
                found.add(key, f"{at} it is {_short(value)}; it must be a sketchbench.theory.leakage.ExpectedSpectrum")
                return
            wrong = {
                "largest": not 0 <= value.largest < math.inf,
                "smallest": not -math.inf < value.smallest <= value.largest,
                "rank": not 0 <= value.rank <= b,
                "deficient": not 0 <= value.deficient <= 1,
                "exact": not isinstance(value.exact, bool),
            }
            wanted = "finite, smallest <= largest, rank <= b, deficient a probability, exact True or False"
            for part, is_wrong in wrong.items():
                if is_wrong:
                    found.add(key, f"{at} {part} is {getattr(value, part)}; it must be {wanted}")
                    return


def _agree(found: Findings, moments: Sequence[Callable[..., Any] | None], sizes: Sizes) -> None:
    """E‖RᵀRh‖² is the sum of E(e_iᵀRᵀRh)² over the basis."""
    second_moment, norm = moments
    assert second_moment is not None
    assert norm is not None
    for d, b in _working(found, "theory.norm", sizes, lambda d, b: norm(np.ones(d), b=b)):
        h = np.random.default_rng(0).standard_normal(d)
        with found.running("theory.norm"):
            total, stated = float(second_moment(np.eye(d), np.tile(h, (d, 1)), b=b).sum()), float(norm(h, b=b))
            if not math.isclose(total, stated, rel_tol=1e-9, abs_tol=1e-12):
                said = f"for d={d}, b={b} and one h it is {stated:.6g}, but second_moment, summed over the basis, is"
                found.add("theory.norm", f"{said} {total:.6g}; the two must be equal")
                return


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
