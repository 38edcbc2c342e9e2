"""What ties a run of iterative sketching to the theorems about it: their constants, and the quantities they bound."""

from collections.abc import Callable, Iterator
from typing import Literal

from sketchbench.federated.iterative_sketching import Round
from sketchbench.kernels import Array
from sketchbench.objective.objective import Objective
from sketchbench.parameters import choose
from sketchbench.sketch.family import Family
from sketchbench.theory.convergence import THEOREMS, Assumptions, Measured, Theorem
from sketchbench.theory.known import Known

Alpha = Literal["claimed", "exact"]
Measurements = Iterator[tuple[Round, Array]]


def find_theorem(name: str) -> Theorem:
    """The theorem of this place in song2023; ValueError for one that is unknown."""
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
    """The constants that a theorem's step and bound are made of.

    Arguments:
        objective: with its constants.
        theorem: whose requirement is checked.
        family, known: the sketch, and what its config claims of it.
        local_steps: K.
        alpha: the sketch's variance parameter as its config claims it, or its exact one.

    Raises:
        ValueError: for an objective that the theorem does not hold for, or a sketch without a variance parameter.
    """
    if not theorem.needs.holds(objective.convexity):
        raise ValueError(
            f"Theorem {theorem.place} needs {theorem.needs.value}, and the objective has μ = "
            f"{objective.convexity:g}; choose another theorem or objective"
        )
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


def measure(theorem: Theorem, objective: Objective, rounds: Iterator[Round]) -> Measurements:
    """Rounds of a run, each with the quantity (T_r,) that the theorem bounds (see `Theorem`)."""
    return _MEASURED[theorem.measured](objective, rounds)


def _excess(objective: Objective, rounds: Iterator[Round]) -> Measurements:
    """f(w^t) - f*."""
    for at in rounds:
        yield at, objective.loss(at.w) - objective.minimum


def _average_excess(objective: Objective, rounds: Iterator[Round]) -> Measurements:
    """f of the mean of the weights at which gradients were taken, less f*; from round 1 on."""
    total: Array = 0
    for at in rounds:
        if at.t:
            total = total + at.local
            yield at, objective.loss(total / at.t) - objective.minimum


def _squared_gradient(objective: Objective, rounds: Iterator[Round]) -> Measurements:
    """The mean of ‖∇f(w^s)‖² over s = 1, ..., t; from round 1 on."""
    total: Array = 0
    for at in rounds:
        if at.t:
            total = total + (objective.gradient(at.w) ** 2).sum(axis=-1)
            yield at, total / at.t


_MEASURED: dict[Measured, Callable[[Objective, Iterator[Round]], Measurements]] = {
    "excess": _excess,
    "average_excess": _average_excess,
    "squared_gradient": _squared_gradient,
}
