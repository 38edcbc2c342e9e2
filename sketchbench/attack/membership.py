"""A membership game: does the victim's data contain one particular record, the canary?

The attacker knows all other records, the algorithm, and the operators of every round. It computes the likelihood ratio
of the worlds with and without the canary from messages of private iterative sketching (song2023 Algorithm 2).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count, checked
from sketchbench.federated.iterative_sketching import Round
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.canary import Canary
from sketchbench.measure.numbers import Sample, check_some
from sketchbench.privacy.sampling import Neighbours
from sketchbench.sketch.operator import Sketch

RIDGE = 1e-9  # keeps RRᵀ invertible if a row of R is empty

Statistics = NDArray[np.float64]


class Evidence(NamedTuple):
    """The attacker's evidence in each of some independent trainings. `statistic` is large with the canary; for full
    batches it is monotone in the likelihood ratio. `visible` is √(mean of ‖P u‖² over the rounds) <= 1 for the
    projection P onto the rows of a round's operator."""

    statistic: Statistics  # (trials,)
    visible: Statistics  # (trials,), the part of the canary's norm that sketches show


def most_visible(operators: Sequence[Sketch], kernels: Kernels) -> Array:
    """The record that the sketches show best: the unit vector u with the largest Σ_t ‖P_t u‖², for each training.

    P_t projects onto the rows of round t's operator. Operators are public, and privacy is promised for all records,
    also for one chosen to fit the operators. If b = d, or in a single round, ‖P u‖ = 1: sketches hide nothing of u.

    `operators` has a stack for each round, with one operator a training. Returns u, (trainings, d), with an arbitrary
    sign. O(d³) for each training.
    """
    check_some("operators", operators)
    xp = kernels.xp
    shapes = {(stack.operators, stack.d) for stack in operators}
    if len(shapes) > 1:
        raise ValueError(f"stacks of operators have trials and d {shapes}, and must all have the same")
    total: Array = 0
    for stack in operators:
        R = stack.materialize()
        total = total + R.swapaxes(-1, -2) @ xp.linalg.solve(_gram(R, kernels), R)
    return xp.linalg.eigh(total)[1][..., -1]


@checked
def worlds(
    direction: Sample, neighbours: Neighbours, *, clients: Count, records: Count, kernels: Kernels
) -> tuple[Canary, Canary]:
    """Two neighbouring data sets: with the canary, and without. The canary's gradient is the unit vector u =
    `direction`, (d,), or (trials, d). Without the canary, its record has the gradient -u (neighbours `replace_one`) or
    0 (`add_remove`). Each client's other `records` have the gradient 0."""
    other = -direction if neighbours == "replace_one" else 0 * direction
    present, absent = (Canary(kernels, vector, clients, records) for vector in (direction, other))
    return present, absent


@checked
def likelihood_ratio(sent: Iterable[Round], direction: Sample, kernels: Kernels, *, rounds: Count) -> Evidence:
    """The statistic -Σ_t (R_t u)ᵀ (R_t R_tᵀ)⁻¹ y_t for the victim's sketches y_t. O(b² (b + d)) a training and round.

    Arguments:
        sent: rounds of some trainings, such as by `PrivateSketching.run` in a world; the victim is the first client.
        direction: the canary's gradient u, (d,) or (trials, d).
        rounds: the number of rounds of each training.
    """
    xp = kernels.xp
    u = kernels.asarray(direction)
    statistic: Array = 0
    visible: Array = 0
    kept = 0
    for at in sent:
        if at.messages is None or at.operators is None:
            continue
        if u.shape not in ((at.operators.d,), (at.operators.operators, at.operators.d)):
            wanted = (at.operators.operators, at.operators.d)
            raise ValueError(f"direction of shape {u.shape} must be (d,) or (trials, d), for operators of {wanted}")
        kept += 1
        R = at.operators.materialize()
        sketched = (R @ u[..., None])[..., 0]
        weights = xp.linalg.solve(_gram(R, kernels), sketched[..., None])[..., 0]
        statistic = statistic - (weights * at.messages[:, 0]).sum(axis=-1)  # clients step downhill
        visible = visible + (weights * sketched).sum(axis=-1) / rounds
    if not kept:
        raise ValueError("no round has messages and operators; run the training so that it keeps them")
    if kept != rounds:
        raise ValueError(f"rounds={rounds} must be {kept}, the rounds that have messages and operators")
    return Evidence(kernels.to_numpy(statistic), kernels.to_numpy(xp.sqrt(visible)))


def _gram(R: Array, kernels: Kernels) -> Array:
    """R Rᵀ + RIDGE I for each of a stack of matrices, which is invertible."""
    return R @ R.swapaxes(-1, -2) + RIDGE * kernels.xp.eye(R.shape[-2])
