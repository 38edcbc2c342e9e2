"""A membership game: did the victim's data hold one particular record, the canary?

The attacker knows everything but the canary: all other records, the algorithm, and the operators of every round. From
what private iterative sketching (song2023 Algorithm 2) sends, it computes the likelihood ratio of the two worlds.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.federated.iterative_sketching import Round
from sketchbench.kernels import Array, Kernels
from sketchbench.objective.canary import Canary
from sketchbench.objective.problem import Vector
from sketchbench.privacy.sampling import Neighbours
from sketchbench.sketch.operator import Sketch

RIDGE = 1e-9  # keeps RRᵀ invertible where a row of R is empty

Statistics = NDArray[np.float64]


class Evidence(NamedTuple):
    """What the attacker makes of each of some independent trainings.

    Attributes:
        statistic: (trials,), monotone in the likelihood ratio for full batches: large with the canary.
        visible: (trials,), the part of the canary's norm that the sketches leave visible, √(mean of ‖P u‖² over the
            rounds), P the projection onto the rows of a round's operator; never more than 1.
    """

    statistic: Statistics
    visible: Statistics


def most_visible(operators: Sequence[Sketch], kernels: Kernels) -> Array:
    """The record that sketches show best: the unit vector u with the largest Σ_t ‖P_t u‖², for each training.

    P_t is the projection onto the rows of the operator of round t. Operators are public, and privacy is promised for
    all records, so also for those that were chosen to fit them. Where b = d, or in a single round, all of u is visible:
    ‖P u‖ = 1, and a sketch hides nothing of what is noisy.

    Arguments:
        operators: of each round, stacks of as many as there are trainings.
        kernels: what computes.

    Returns:
        (trainings, d), of any sign. O(d³) for each training.
    """
    xp = kernels.xp
    total: Array = 0
    for stack in operators:
        R = stack.materialize()
        total = total + R.swapaxes(-1, -2) @ xp.linalg.solve(_gram(R, kernels), R)
    return xp.linalg.eigh(total)[1][..., -1]


def worlds(
    direction: Vector, neighbours: Neighbours, *, clients: int, records: int, kernels: Kernels
) -> tuple[Canary, Canary]:
    """Two neighbouring data sets: with the canary, and without.

    With it, one record has the gradient u, a unit vector; without it, -u (neighbours `replace_one`) or none
    (`add_remove`). All other records have none.

    Arguments:
        direction: u, (d,), or (trials, d) for one of its own in each trial.
        neighbours: what the two data sets differ by.
        clients: their number.
        records: of each client.
        kernels: what computes.
    """
    other = -direction if neighbours == "replace_one" else 0 * direction
    present, absent = (Canary(kernels, vector, clients, records) for vector in (direction, other))
    return present, absent


def likelihood_ratio(sent: Iterable[Round], direction: Vector, kernels: Kernels, *, rounds: int) -> Evidence:
    """-Σ_t (R_t u)ᵀ (R_t R_tᵀ)⁻¹ y_t, of the sketches y_t that the victim, the first client, sends in each round.

    Arguments:
        sent: what can be seen of some trainings, such as those of `PrivateSketching.run` in one of the `worlds`.
        direction: u, (d,) or (trials, d), the canary's gradient.
        kernels: what computes.
        rounds: of each training.

    O(b² (b + d)) for each training and round.
    """
    xp = kernels.xp
    u = kernels.asarray(direction)
    statistic: Array = 0
    visible: Array = 0
    for at in sent:
        if at.messages is None or at.operators is None:
            continue
        R = at.operators.materialize()
        sketched = (R @ u[..., None])[..., 0]
        weights = xp.linalg.solve(_gram(R, kernels), sketched[..., None])[..., 0]
        statistic = statistic - (weights * at.messages[:, 0]).sum(axis=-1)  # clients step downhill
        visible = visible + (weights * sketched).sum(axis=-1) / rounds
    return Evidence(kernels.to_numpy(statistic), kernels.to_numpy(xp.sqrt(visible)))


def _gram(R: Array, kernels: Kernels) -> Array:
    """R Rᵀ, for each of a stack of matrices, invertible."""
    return R @ R.swapaxes(-1, -2) + RIDGE * kernels.xp.eye(R.shape[-2])
