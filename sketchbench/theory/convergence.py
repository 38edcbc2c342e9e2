"""Step sizes and bounds of the theorems about iterative sketching (song2023 Appendices E, F and G). α = a d/b is the
sketch's variance parameter, a its embedding constant: E‖RᵀRh‖² ≤ (1 + α)‖h‖². Functions depend on constants of
objective and sketch only, never on measurements."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Checked, Count, NonNegative, Positive, checked
from sketchbench.measure.numbers import Naturals

# The constant in the O(·) of rounds in song2023 Corollaries 5.2 and 5.4: in the theorems f - f* falls like (1 - μη)^t;
# gradient descent without sketches, with (1 - μη)^2t, may need half as many rounds.
ROUNDS_FACTOR = 2.0

Bounds = NDArray[np.float64]
Measured = Literal["excess", "average_excess", "squared_gradient"]


class Convexity(Enum):
    """A requirement of a theorem on the objective's convexity parameter μ, which is -inf for non-convex objectives."""

    NONE = "any smooth objective"
    CONVEX = "a convex objective, μ >= 0"
    STRONG = "a strongly convex objective, μ > 0"

    def holds(self, convexity: float) -> bool:
        """Return whether an objective with this μ meets the requirement."""
        if self is Convexity.STRONG:
            return convexity > 0
        return self is Convexity.NONE or convexity >= 0


def _check_unbounded(name: str, value: Any) -> None:
    """Raise unless a value is a number; a convexity may be -inf and a bound inf."""
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise TypeError(f"{name}={value!r} must be a number")
    if not (value < math.inf if name == "convexity" else value >= 0):
        raise ValueError(f"{name}={value} must be {'a number or -inf' if name == 'convexity' else '>= 0, or inf'}")


@dataclass(frozen=True, kw_only=True)
class Assumptions(Checked):
    """The constants of objective and sketch in the step sizes and bounds of the theorems.

    Arguments:
        smoothness: L; every client's gradient is L-Lipschitz.
        convexity: μ; -inf for an objective that is not convex.
        gradient_bound: G >= ‖∇f_c(w)‖ for all clients c and weights w; inf for unbounded gradients.
        gap: f(w⁰) - f*.
        squared_distance: ‖w⁰ - w*‖².
        heterogeneity: σ², the clients' mean ‖∇f_c(w*)‖² (song2023 Definition F.1).
        alpha: α, the variance parameter of the sketch.
        local_steps: K.
    """

    smoothness: Positive
    convexity: Annotated[float | int, _check_unbounded]
    gradient_bound: Annotated[float | int, _check_unbounded]
    gap: float
    squared_distance: NonNegative
    heterogeneity: NonNegative
    alpha: NonNegative
    local_steps: Count


@dataclass(frozen=True)
class Theorem:
    """A theorem about iterative sketching.

    Arguments:
        place: number in song2023; configs choose the theorem by it.
        measured: bounded quantity. `excess`: f(w^t) - f*. `average_excess`: f(w̄) - f* for the mean w̄ of all weights
            at which gradients were taken. `squared_gradient`: mean of ‖∇f‖² over rounds 1..t, at least the smallest
            ‖∇f‖².
        needs: requirement on the objective's convexity.
        rate: function of the constants that returns the largest allowed step size η.
        bound: function of the constants, η and numbers of rounds t that returns the bound at each t.
        single_step: whether the theorem is about K = 1 only.
    """

    place: str
    measured: Measured
    needs: Convexity
    rate: Callable[[Assumptions], float]
    bound: Callable[[Assumptions, float, Naturals], Bounds]
    single_step: bool = False

    def __post_init__(self) -> None:
        for name in ("rate", "bound"):
            object.__setattr__(self, name, self._where_it_holds(getattr(self, name)))

    def check(self, convexity: float) -> None:
        """Raise ValueError if the theorem does not hold for objectives with this μ."""
        if not self.needs.holds(convexity):
            raise ValueError(
                f"Theorem {self.place} needs {self.needs.value}, and the objective has μ = {convexity:g}; choose "
                "another theorem or objective"
            )

    def _where_it_holds(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checking(p: Assumptions, *arguments: Any, **named: Any) -> Any:
            self.check(p.convexity)
            return function(p, *arguments, **named)

        return checking


def _one_step(p: Assumptions) -> float:
    return 1 / ((1 + p.alpha) * p.smoothness)


def _half_of_one_step(p: Assumptions) -> float:
    return _one_step(p) / 2


def _local_steps(p: Assumptions) -> float:
    return 1 / (8 * (1 + p.alpha) * p.smoothness * p.local_steps)


def _not_convex_local_steps(p: Assumptions) -> float:
    return 1 / (2 * p.smoothness * p.local_steps)


@checked
def _strongly_convex(p: Assumptions, eta: Positive, t: Naturals) -> Bounds:
    return np.asarray((1 - p.convexity * eta) ** t * p.gap)


@checked
def _convex(p: Assumptions, eta: Positive, t: Naturals) -> Bounds:
    return np.asarray(p.squared_distance / (eta * (t + 1)))


@checked
def _not_convex(p: Assumptions, eta: Positive, t: Naturals) -> Bounds:
    return np.asarray(2 * p.gap / (eta * (t + 1)))


@checked
def _convex_local(p: Assumptions, eta: Positive, t: Naturals) -> Bounds:
    start = 4 * p.squared_distance / (eta * p.local_steps * np.maximum(t, 1))
    return np.asarray(start + 32 * eta**2 * p.smoothness * p.local_steps**2 * p.heterogeneity)


@checked
def _strongly_convex_local(p: Assumptions, eta: Positive, t: Naturals) -> Bounds:
    start = p.smoothness / 2 * p.squared_distance * np.exp(-p.convexity * eta * t)
    drift = 4 * eta**2 * p.smoothness**2 * p.local_steps**3 * p.heterogeneity / p.convexity
    return np.asarray(start + drift)


def _drift(p: Assumptions, eta: float) -> float:
    """The drift of local steps, L K² G² (η + η(1 + α)/2), with η_global = 1 (Lemma G.1)."""
    if not math.isfinite(p.gradient_bound):
        raise ValueError("Theorem G.2 needs bounded gradients, and gradient_bound is inf; choose another objective")
    return p.smoothness * p.local_steps**2 * p.gradient_bound**2 * (eta + eta / 2 * (1 + p.alpha))


@checked
def _not_convex_local_printed(p: Assumptions, eta: Positive, t: Naturals) -> Bounds:
    return np.asarray(p.gap / (t + 1) + eta * _drift(p, eta))


@checked
def _not_convex_local_corrected(p: Assumptions, eta: Positive, t: Naturals) -> Bounds:
    """Theorem G.2 with a descent of η K ‖∇f‖² in each round, as in Lemma G.1's first line, not η_global ‖∇f‖²."""
    return np.asarray(p.gap / (eta * p.local_steps * (t + 1)) + _drift(p, eta) / p.local_steps)


@checked
def noisy_strongly_convex(p: Assumptions, eta: Positive, t: Naturals, variance: NonNegative) -> Bounds:
    """The bound of Theorem E.1 for unbiased stochastic gradients of variance E‖noise‖²; ours. E‖RᵀR(∇f + noise)‖² <=
    (1 + α)(‖∇f‖² + variance) adds (1 + α) L η² variance / 2 a round, and (1 + α) L η variance / (2 μ) in the limit."""
    return np.asarray(_strongly_convex(p, eta, t) + noise_floor(p, eta, t, variance))


@checked
def noise_floor(p: Assumptions, eta: Positive, t: Naturals, variance: NonNegative) -> Bounds:
    """The term that a variance of the gradients adds to the bound of Theorem E.1 after t rounds; ours."""
    THEOREMS["E.1"].check(p.convexity)
    left = 1 - (1 - p.convexity * eta) ** t
    return np.asarray((1 + p.alpha) * p.smoothness * eta * variance / (2 * p.convexity) * left)


_ANY, _CONVEX, _STRONG = Convexity.NONE, Convexity.CONVEX, Convexity.STRONG
THEOREMS: dict[str, Theorem] = {
    theorem.place: theorem
    for theorem in (
        Theorem("E.1", "excess", _STRONG, _one_step, _strongly_convex, single_step=True),
        Theorem("E.2", "average_excess", _CONVEX, _half_of_one_step, _convex, single_step=True),
        Theorem("E.3", "squared_gradient", _ANY, _one_step, _not_convex, single_step=True),
        Theorem("F.7", "average_excess", _CONVEX, _local_steps, _convex_local),
        Theorem("F.9", "excess", _STRONG, _local_steps, _strongly_convex_local),
        Theorem("G.2-printed", "squared_gradient", _ANY, _not_convex_local_steps, _not_convex_local_printed),
        Theorem("G.2-corrected", "squared_gradient", _ANY, _not_convex_local_steps, _not_convex_local_corrected),
    )
}
