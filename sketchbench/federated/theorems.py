"""The theorems on iterative sketching applied to a run: constants, step sizes, and the bounded quantities."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from sketchbench.base.parameters import choose
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.kernels import Array
from sketchbench.learning.objective.objective import Objective
from sketchbench.sketch.family import Family
from sketchbench.theory.convergence import THEOREMS, Assumptions, Measured, Theorem
from sketchbench.theory.known import Known

Alpha = Literal["claimed", "exact"]


class Measurement(NamedTuple):
    """The quantity that a theorem bounds, at one round."""

    at: Round
    most: Array  # a limit of the quantity in each trial, (T_r,), cheaper than a loss
    values: Callable[[], Array]  # computes the quantity in each trial, (T_r,)


Measurements = Iterator[Measurement]


def find_theorem(name: str) -> Theorem:
    """The theorem with this number in song2023, such as "F.9". Raises ValueError for an unknown number."""
    return THEOREMS[choose("theorem", name, THEOREMS)]


def assumptions(
    objective: Objective,
    theorem: Theorem,
    family: Family,
    known: Known,
    *,
    local_steps: int = 1,
    alpha: Alpha = "claimed",
) -> Assumptions:
    """The constants of an objective and a sketch, from which a theorem computes its step size and its bound. Raises
    ValueError for an objective outside the theorem, or a sketch without a variance parameter.

    Arguments:
        theorem: checks the objective's convexity.
        family: of the sketch.
        known: the moments and bounds that the sketch's config states.
        local_steps: K, local steps of a round.
        alpha: `claimed` takes the variance parameter α that the config claims, `exact` the exact α.
    """
    theorem.check(objective.convexity)
    d, b = family.d, family.b
    return Assumptions(
        smoothness=objective.smoothness,
        convexity=objective.convexity,
        gradient_bound=objective.gradient_bound,
        gap=objective.gap,
        squared_distance=objective.squared_distance,
        heterogeneity=objective.heterogeneity,
        alpha=known.exact_alpha(d, b) if alpha == "exact" else known.claimed_alpha(d, b),
        local_steps=local_steps,
    )


def algorithm_of(
    theorem: Theorem,
    objective: Objective,
    family: Family,
    known: Known,
    *,
    factor: float = 1.0,
    local_steps: int = 1,
    alpha: Alpha = "claimed",
) -> tuple[IterativeSketching, Assumptions]:
    """Iterative sketching with `factor` times a theorem's largest step size, and the theorem's constants. Arguments and
    errors are those of `assumptions`."""
    p = assumptions(objective, theorem, family, known, local_steps=local_steps, alpha=alpha)
    return IterativeSketching(family, factor * theorem.rate(p), local_steps), p


def measure(theorem: Theorem, objective: Objective, rounds: Iterator[Round]) -> Measurements:
    """Yield the quantity that the theorem bounds, at each round where it is defined."""
    return _MEASURED[theorem.measured](objective, rounds)


def _excess(objective: Objective, rounds: Iterator[Round]) -> Measurements:
    """f(w^t) - f* at each round t."""
    for at in rounds:
        yield _excess_at(objective, at, at.w)


def _average_excess(objective: Objective, rounds: Iterator[Round]) -> Measurements:
    """f(w̄) - f* from round 1 on, for the mean w̄ of the weights at which gradients were taken."""
    total: Array = 0
    for at in rounds:
        if at.t:
            total = total + at.local
            yield _excess_at(objective, at, total / at.t)


def _excess_at(objective: Objective, at: Round, w: Array) -> Measurement:
    """f(w) - f*, which is at most L/2 ‖w - w*‖²."""
    squared = ((w - objective.kernels.asarray(objective.minimiser)) ** 2).sum(axis=-1)
    return Measurement(at, objective.smoothness / 2 * squared, lambda: objective.loss(w) - objective.minimum)


def _squared_gradient(objective: Objective, rounds: Iterator[Round]) -> Measurements:
    """The mean of ‖∇f(w^s)‖² over s = 1, ..., t, from round t = 1 on."""
    total: Array = 0
    for at in rounds:
        if at.t:
            total = total + (objective.gradient(at.w) ** 2).sum(axis=-1)
            yield _known(at, total / at.t)


def _known(at: Round, values: Array) -> Measurement:
    return Measurement(at, values, lambda: values)


_MEASURED: dict[Measured, Callable[[Objective, Iterator[Round]], Measurements]] = {
    "excess": _excess,
    "average_excess": _average_excess,
    "squared_gradient": _squared_gradient,
}
