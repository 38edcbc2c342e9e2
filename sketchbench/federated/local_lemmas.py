"""Both sides of the inequalities of song2023 Lemmas F.3-F.6, at the local steps of a round."""

import functools
import itertools

from sketchbench.federated.iterative_sketching import LocalStep, Round
from sketchbench.kernels import Array
from sketchbench.learning.objective.objective import Objective
from sketchbench.theory import local_steps as lemmas
from sketchbench.theory.convergence import Assumptions
from sketchbench.theory.local_steps import ClientAverages

LEMMAS = ("F.3", "F.4", "F.5", "F.6")
RESOLVED = 1e-9  # share of f(w⁰) - f* below which both sides of a lemma are mostly rounding

Path = list[ClientAverages]  # one for each local step of a round, with entries of shape (T_r,)


def averages(round_: Round, objective: Objective) -> Path:
    """The clients' averages at each local step of a round that kept its path."""
    return [_averages(step, objective) for step in round_.path]


def ratios(path: Path, p: Assumptions, eta: float, objective: Objective) -> dict[str, Array]:
    """Return, for each lemma, the ratio of its smaller side to its larger side, the largest of all local steps, (T_r,).

    Lemma F.6 needs two local steps, so it is left out if a round has a single step. Ratios are 0 in trials that have
    converged up to rounding.
    """
    sides: dict[str, list[tuple[Array, Array]]] = {
        "F.3": [(at.squared_gradient, lemmas.most_gradient(p, at)) for at in path],
        "F.4": [(lemmas.least_progress(p, at), at.progress + p.smoothness / 2 * at.spread) for at in path],
        "F.5": [(sum(at.spread for at in path), lemmas.most_spread(p, eta, path))],
        "F.6": [
            (after.squared_distance, lemmas.most_distance(p, eta, before)) for before, after in itertools.pairwise(path)
        ],
    }
    xp = objective.kernels.xp
    unresolved = path[0].excess <= RESOLVED * objective.gap
    return {
        name: functools.reduce(xp.maximum, [~unresolved * small / large for small, large in pairs])
        for name, pairs in sides.items()
        if pairs
    }


def difference_after_sketch(round_: Round, path: Path, p: Assumptions, eta: float, objective: Objective) -> Array:
    """Lemma F.6 at the end of a round, where the sketch enters: ‖w - w*‖² minus the lemma's bound, (T_r,)."""
    away = round_.w - objective.kernels.asarray(objective.minimiser)
    return (away**2).sum(axis=-1) - lemmas.most_distance_after_sketch(p, eta, path)


def _averages(step: LocalStep, objective: Objective) -> ClientAverages:
    mean, gradient = step.weights.mean(axis=1), step.gradients.mean(axis=1)
    away = mean - objective.kernels.asarray(objective.minimiser)
    return ClientAverages(
        spread=((step.weights - mean[:, None]) ** 2).sum(axis=-1).mean(axis=-1),
        squared_gradient=(gradient**2).sum(axis=-1),
        excess=objective.loss(mean) - objective.minimum,
        squared_distance=(away**2).sum(axis=-1),
        progress=(away * gradient).sum(axis=-1),
    )
