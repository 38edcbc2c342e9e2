"""The functions of song2023 Table 2 whose row has ticks and crosses, and the least constant with which each function
has the properties of the table's four columns.

Definitions I.4, I.5, I.6 and K.1 are inequalities between numbers x and y, where the functions are of u = wᵀx. Their
constants are a = b = C, α = β = C, c = C and d = 1/C, and θ₁ = 1/C and θ₂ = C. p is 1/2 or 1. The value p = 0 is a = 0
and α = 0 in effect; for Definition K.1 Theorem K.2 excludes it (erratum song2023-K.2).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

from sketchbench.base.parameters import Count, checked, choose
from sketchbench.theory.semi_smooth import FUNCTIONS, Function, Numbers, remainder

POWERS = (0.5, 1.0)  # p
KEPT, LACKED = 100.0, 1000.0  # a property with a least constant up to the one is kept, from the other on it is lacked
NEAREST, FARTHEST = 1e-8, 1e8  # |u|
PRECISE = 1e-10  # least square of a distance, relative to the numbers whose difference is looked at


class TableRow(NamedTuple):
    """A function of numbers u in a domain, and how many crosses the table has in its row."""

    function: Function
    low: float
    high: float
    crosses: int


ROOT = Function(lambda u: np.sqrt(u + 1), lambda u: 0.5 / np.sqrt(u + 1), None)  # b = 1
SIGMOID = Function(special.expit, lambda u: special.expit(u) * special.expit(-u), None)  # of any size of u
WAVE = Function(lambda u: u**2 * np.sin(1 / u), lambda u: 2 * u * np.sin(1 / u) - np.cos(1 / u), None)
ROWS: dict[str, TableRow] = {
    "quadratic": TableRow(Function(lambda u: u**2 - 1, lambda u: 2 * u, 2.0), -FARTHEST, FARTHEST, 1),  # A = 1 = λ_min
    "root": TableRow(ROOT, 0, FARTHEST, 2),
    "softplus up to 1": TableRow(FUNCTIONS["softplus"], -1, 1, 1),
    "sigmoid": TableRow(SIGMOID, -FARTHEST, FARTHEST, 2),
    "wave up to 1": TableRow(WAVE, -1, 1, 2),
    "wave": TableRow(WAVE, -FARTHEST, FARTHEST, 3),
    "logarithm": TableRow(FUNCTIONS["logarithm"], 0, FARTHEST, 3),
    "cosh up to 1": TableRow(FUNCTIONS["cosh"], -1, 1, 2),
    "cosh": TableRow(FUNCTIONS["cosh"], -30, 30, 3),
}


@checked
def least_constants(name: str, magnitudes: Count = 1000) -> dict[str, float]:
    """The least constant C of each property of a function of ROWS, by the property's name; infinite if none is enough.
    Pairs have so many magnitudes |x|. Raises ValueError for an unknown name. Costs half a second for 1,000
    magnitudes."""
    row = ROWS[choose("function", name, ROWS)]
    function, (x, y) = row.function, _pairs(row, magnitudes)
    square, rest = (y - x) ** 2, remainder(function, x, y)
    steep = abs(function.slope(y) - function.slope(x))
    powers = [np.zeros_like(square), *_powers(function.value(x), np.sqrt(square))]
    starts = np.unique(x)
    loss, steepness = function.value(starts), function.slope(starts) ** 2
    return {
        "smooth": min(_largest(rest, square + power) for power in powers),
        "gradient": min(_largest(steep, np.sqrt(square + power)) for power in powers),
        "convexity": min(_convexity(rest, square, power) for power in powers),
        "critical": max(_largest(steepness, loss), _largest(loss, steepness)) ** 0.5,
    }


def is_lacked(constant: float) -> bool:
    """Whether a property with this least constant is lacked. Raises ArithmeticError for a constant between KEPT and
    LACKED, with which the pairs do not tell."""
    if KEPT < constant < LACKED:
        raise ArithmeticError(f"constant={constant:g} lies between {KEPT:g} and {LACKED:g}; look at pairs farther out")
    return constant >= LACKED


def _pairs(row: TableRow, magnitudes: int) -> tuple[Numbers, Numbers]:
    """Pairs x and y of a row's domain, (pairs,) each: |x| and |y - x|/|x| of all magnitudes, if L(y) - L(x) - L'(x)(y -
    x) is precise enough for them."""
    sizes = np.geomspace(NEAREST, min(max(-row.low, row.high), FARTHEST), magnitudes)
    moves = np.geomspace(1e-4, FARTHEST / NEAREST, 161)
    x, move = np.meshgrid(np.concatenate([-sizes, sizes]), np.concatenate([-moves, moves]))
    y = x + move * abs(x)
    inside = (x >= row.low) & (x <= row.high) & (y >= row.low) & (y <= row.high) & (abs(y) >= NEAREST)
    x, y = x[inside], y[inside]
    value, slope = row.function.value, row.function.slope
    size = abs(value(x)) + abs(value(y)) + abs(slope(x) * (y - x))
    precise = (y - x) ** 2 >= PRECISE * size
    return x[precise], y[precise]


def _powers(loss: Numbers, apart: Numbers) -> Iterator[Numbers]:
    """|x - y|^(2-2p) L(x)^p of all pairs, for each p, if L is nowhere negative."""
    if np.all(loss >= 0):
        yield from (apart ** (2 - 2 * p) * loss**p for p in POWERS)


def _largest(part: Numbers, whole: Numbers) -> float:
    """The least C >= 0 with part <= C whole everywhere."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        enough = np.where(part <= 0, 0, np.where(whole > 0, part / whole, np.inf))
    return float(np.where(whole < 0, np.inf, enough).max())


def _convexity(rest: Numbers, square: Numbers, power: Numbers) -> float:
    """The least C with rest >= square/C - C power everywhere: the positive root of C² power + C rest - square."""
    root = rest + np.sqrt(rest**2 + 4 * power * square)
    with np.errstate(divide="ignore", over="ignore"):
        return float(np.where(root > 0, 2 * square / root, np.inf).max())
