"""The membership statistic: against the formula without a sketch, and what of the canary is visible through one."""

import numpy as np
import pytest

from sketchbench.attack.membership import Evidence, likelihood_ratio, most_visible, worlds
from sketchbench.attack.property import RandomForest
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.kernels import load
from sketchbench.privacy.sampling import Neighbours, Sampling
from sketchbench.sketch import CountSketch, Family, Gaussian, Identity

KERNELS = load("numba")
D, RECORDS, ROUNDS = 8, 4, 3
DIRECTION = np.eye(D)[2]


def evidence(family: Family, neighbours: Neighbours = "replace_one", sigma: float = 0.0) -> list[Evidence]:
    training = PrivateSketching(IterativeSketching(family, 1.0), Sampling("full", RECORDS, RECORDS), sigma, bound=1.0)
    both = worlds(DIRECTION, neighbours, clients=2, records=RECORDS, kernels=KERNELS)
    return [
        likelihood_ratio(training.run(world, 1, 2, trials=5, rounds=ROUNDS), DIRECTION, KERNELS, rounds=ROUNDS)
        for world in both
    ]


@pytest.mark.parametrize(("neighbours", "other"), [("replace_one", -1.0), ("add_remove", 0.0)])
def test_without_noise_and_sketch_it_is_the_canarys_share(neighbours: Neighbours, other: float) -> None:
    """Each round's mean gradient is u/records with the canary."""
    present, absent = evidence(Identity(D, D), neighbours)
    np.testing.assert_allclose(present.statistic, ROUNDS / RECORDS, rtol=1e-6)
    np.testing.assert_allclose(absent.statistic, other * ROUNDS / RECORDS, rtol=1e-6)
    np.testing.assert_allclose(present.visible, 1, rtol=1e-6)


def test_a_sketch_hides_a_part() -> None:
    present, _ = evidence(CountSketch(D, 3))
    assert present.visible.shape == (5,)
    assert (present.visible < 1).all()
    np.testing.assert_allclose(present.statistic, ROUNDS / RECORDS * present.visible**2, rtol=1e-6)


def test_noise_blurs_the_worlds() -> None:
    present, absent = evidence(Identity(D, D), sigma=10.0)
    assert np.std(present.statistic) > 1
    np.testing.assert_allclose(present.statistic - absent.statistic, 2 * ROUNDS / RECORDS, rtol=1e-6)


def test_the_most_visible_record_of_one_round_is_wholly_visible() -> None:
    """It is in the row space: the projection onto the rows leaves it as it is."""
    stack = Gaussian(D, 3).draw(5, operators=4, kernels="numba")
    found = most_visible([stack], KERNELS)
    for R, u in zip(stack.materialize(), found, strict=True):
        np.testing.assert_allclose(np.linalg.pinv(R) @ R @ u, u, atol=1e-6)
        assert np.linalg.norm(u) == pytest.approx(1)


def test_the_most_visible_record_of_several_rounds() -> None:
    """No other is more visible: Σ_t ‖P_t u‖² is the largest squared singular value of the stacked row spaces' bases."""
    rounds = [CountSketch(D, 3).draw(5, operators=4, first=4 * t, kernels="numba") for t in range(ROUNDS)]
    found = most_visible(rounds, KERNELS)
    for trial, u in enumerate(found):
        matrices = [stack.materialize()[trial] for stack in rounds]
        bases = [np.linalg.svd(R)[2][: np.linalg.matrix_rank(R)] for R in matrices]
        seen = sum(np.linalg.norm(basis @ u) ** 2 for basis in bases)
        assert seen == pytest.approx(np.linalg.norm(np.vstack(bases), 2) ** 2, rel=1e-6)


def test_each_trial_may_have_its_own_record() -> None:
    directions = np.eye(D)[:5]
    training = PrivateSketching(IterativeSketching(Identity(D, D), 1.0), Sampling("full", RECORDS, RECORDS), 0.0, 1.0)
    present, _ = worlds(directions, "replace_one", clients=2, records=RECORDS, kernels=KERNELS)
    found = likelihood_ratio(training.run(present, 1, 2, trials=5, rounds=ROUNDS), directions, KERNELS, rounds=ROUNDS)
    np.testing.assert_allclose(found.statistic, ROUNDS / RECORDS, rtol=1e-6)


# Property inference: the forest


def test_the_forest() -> None:
    random = np.random.default_rng(0)
    labels, truth = random.random(200) < 0.2, random.random(400) < 0.2
    own, noise = random.standard_normal((2, 200, 10)).astype(np.float32)
    seen = random.standard_normal((400, 10)).astype(np.float32)
    own[:, 3] += 6 * labels
    told = seen.copy()
    told[:, 3] += 6 * truth
    forest = RandomForest(30)
    high, low = forest.area_under_roc(own, labels, [told, seen], truth, seed=1)
    assert high > 0.97
    assert abs(low - 0.5) < 0.15
    assert forest.area_under_roc(own, labels, [told], truth, seed=1) == [high]
    assert abs(forest.area_under_roc(noise, labels, [told], truth, seed=1)[0] - 0.5) < 0.15
