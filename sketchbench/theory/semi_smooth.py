"""Functions of u = wᵀx, with ‖w‖ = 1, that song2023 Table 2 lists as semi-smooth or not (Definition 7.2), the other
columns of that table, and Facts C.4 and C.5.

(a, b, p)-semi-smooth means L(y) <= L(x) + ⟨∇L(x), y - x⟩ + b‖y - x‖² + a‖y - x‖^(2-2p) L(x)^p. The worst pairs x and y
of a function of u differ along w, so numbers u suffice. For p = 0 the bound is smoothness from above, with a + b = sup
L''/2.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import NonNegative, checked, choose
from sketchbench.measure.numbers import Finite, check_finite

Numbers = NDArray[np.float64]


class Function(NamedTuple):
    """A function L of numbers u, as functions of arrays of any shape: `value` L, `slope` L', and `smoothness` sup L'',
    derived by hand (None if L'' is unbounded or L' jumps). `positive` says that L is defined for u > 0 only."""

    value: Callable[[Numbers], Numbers]
    slope: Callable[[Numbers], Numbers]
    smoothness: float | None
    positive: bool = False


def _sigmoid(u: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-u)))


FUNCTIONS: dict[str, Function] = {
    "square": Function(np.square, lambda u: 2 * u, 2.0),
    "softplus": Function(lambda u: np.logaddexp(0, u), _sigmoid, 0.25),
    "tanh": Function(np.tanh, lambda u: 1 - np.tanh(u) ** 2, 4 / 27**0.5),  # at tanh u = -1/√3
    "sigmoid": Function(_sigmoid, lambda u: _sigmoid(u) * _sigmoid(-u), 1 / 108**0.5),
    "root": Function(np.sqrt, lambda u: 0.5 / np.sqrt(u), 0.0, positive=True),  # concave
    "logarithm": Function(np.log, lambda u: 1 / u, 0.0, positive=True),
    "ReLU": Function(lambda u: np.maximum(u, 0), lambda u: (u > 0).astype(float), None),  # a kink
    "1/norm": Function(lambda u: 1 / u, lambda u: -1 / u**2, None, positive=True),  # a pole
    "cosh": Function(np.cosh, np.sinh, None),  # faster than any square
}


@checked
def remainder(function: Function, x: Finite, y: Finite) -> Numbers:
    """L(y) - L(x) - L'(x)(y - x), which semi-smoothness bounds from above. Raises ValueError for numbers that are not
    finite, outside L's domain, or too large for a finite remainder."""
    if function.positive and not (np.all(np.asarray(x) > 0) and np.all(np.asarray(y) > 0)):
        raise ValueError(f"L is defined for x, y > 0 only, and the smallest are {np.min(x)} and {np.min(y)}")
    with np.errstate(over="ignore", invalid="ignore"):
        found = _remainder(function, np.asarray(x, np.float64), np.asarray(y, np.float64))
    check_finite("the remainder of x and y", found)
    return found


def _remainder(function: Function, x: Numbers, y: Numbers) -> Numbers:
    return function.value(y) - function.value(x) - function.slope(x) * (y - x)


# An example with α > 0 for Lemma I.9: L = 1 + |u|^(3/2) has an (α, 0, 1/2)-semi-Lipschitz gradient, since
# ||x|^(1/2) sign x - |y|^(1/2) sign y|² <= 2|x - y| and L >= 1.
POWER = Function(lambda u: 1 + np.abs(u) ** 1.5, lambda u: 1.5 * np.sign(u) * np.sqrt(np.abs(u)), None)
ALPHA = 1.5 * 2**0.5


@checked
def allowed_by_lemma_i_9(x: Finite, y: Finite) -> Numbers:
    """α|x - y|^(2-2q) L(x)^q with q = p/2 = 1/4: Lemma I.9's upper bound of the remainder of POWER."""
    x, y = np.asarray(x), np.asarray(y)
    return np.asarray(ALPHA * np.abs(x - y) ** 1.5 * POWER.value(x) ** 0.25)


# The rows of Table 2 with the same answer in all columns: yes for the square, no for the others.
ROWS = {name: FUNCTIONS[name] for name in ("square", "tanh", "ReLU")}
ROWS["1/norm"] = Function(lambda u: 1 / abs(u), lambda u: -np.sign(u) / u**2, None)  # on both sides of the pole
POWERS = (0.0, 0.5, 1.0)  # values of p
ROOM = 1 + 1e-9  # for rounding


@checked
def semi_lipschitz(function: Function, x: Finite, y: Finite, p: NonNegative) -> NDArray[np.bool_]:
    """The pairs that keep Definition I.5 with α = β = 2: |L'(x) - L'(y)|² <= β²|x - y|² + α²|x - y|^(2-2p) L(x)^p."""
    apart = abs(x - y)
    allowed = 4 * apart**2 + 4 * apart ** (2 - 2 * p) * _power(function.value(x), p)
    return np.asarray((function.slope(x) - function.slope(y)) ** 2 <= ROOM * allowed)


@checked
def semi_convex(function: Function, x: Finite, y: Finite, p: NonNegative) -> NDArray[np.bool_]:
    """The pairs that keep Definition K.1, c = 2, d = 1: L(x) >= L(y) + L'(y)(x - y) + d|x - y|² - c|x - y|^(2-2p)
    L(y)^p."""
    apart = abs(x - y)
    least = apart**2 - 2 * apart ** (2 - 2 * p) * _power(function.value(y), p)
    return np.asarray(least <= remainder(function, y, x) + (ROOM - 1) * apart**2)


@checked
def non_critical(function: Function, x: Finite, y: Finite, p: NonNegative) -> NDArray[np.bool_]:
    """The inputs x that keep Definition I.6, which has neither y nor p, with θ₁ = 1 and θ₂ = 2: L <= L'² <= 4L."""
    loss, square = function.value(x), function.slope(x) ** 2
    return np.asarray((loss <= ROOM * square) & (square <= ROOM * 4 * loss))


COLUMNS = {"gradient": semi_lipschitz, "convexity": semi_convex, "critical": non_critical}


def _power(loss: Numbers, p: float) -> Numbers:
    """L^p, with 0⁰ = 1; NaN, with which no definition is kept, if it is not defined."""
    with np.errstate(invalid="ignore"):
        return np.asarray(loss**p)


def _pseudo_huber_remainder(x: Numbers, y: Numbers) -> Numbers:
    """f(y) - f(x) - f'(x)(y - x) for f = √(1 + u²), without cancellation."""
    at_x, at_y = np.sqrt(1 + x**2), np.sqrt(1 + y**2)
    return np.asarray((y - x) ** 2 / (at_x * (at_x * at_y + 1 + x * y)))


Slope = Callable[[Numbers], Numbers]
# For Fact C.4, convex f: f(y) - f(x) - f'(x)(y - x), f' and L.
SMOOTH: dict[str, tuple[Callable[[Numbers, Numbers], Numbers], Slope, float]] = {
    "square": (lambda x, y: (y - x) ** 2, FUNCTIONS["square"].slope, 2.0),
    "√(1 + u²)": (_pseudo_huber_remainder, lambda u: u / np.sqrt(1 + u**2), 1.0),
}
# For Fact C.5, strongly convex f: f - f*, f' and μ.
STRONGLY_CONVEX: dict[str, tuple[Slope, Slope, float]] = {
    "square": (np.square, FUNCTIONS["square"].slope, 2.0),
    "cosh": (lambda u: 2 * np.sinh(u / 2) ** 2, np.sinh, 1.0),
}


@checked
def fact_c_4(case: str, x: Finite, y: Finite) -> Numbers:
    """|f'(y) - f'(x)|²/(2L) over f(y) - f(x) - f'(x)(y - x), at most 1 for a convex f with an L-Lipschitz gradient."""
    above, slope, smoothness = SMOOTH[choose("case", case, SMOOTH)]
    return np.asarray((slope(y) - slope(x)) ** 2 / (2 * smoothness * above(x, y)))


@checked
def fact_c_5(case: str, x: Finite) -> Numbers:
    """f(x) - f* over f'(x)²/(2μ), at most 1 for a μ-strongly convex f."""
    gap, slope, convexity = STRONGLY_CONVEX[choose("case", case, STRONGLY_CONVEX)]
    return np.asarray(2 * convexity * gap(x) / slope(x) ** 2)
