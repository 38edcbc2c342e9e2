"""The quantities that theorems bound, along a run, and the constants that they are given."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.theorems import assumptions, find_theorem, measure
from sketchbench.federated.tuning import Tuning, hold_out
from sketchbench.kernels import load
from sketchbench.learning.dataset import synthetic
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.learning.objective.saturating import Saturating
from sketchbench.sketch.identity import Identity
from sketchbench.theory.known import Known

FAMILY = Identity(6, 6)
OBJECTIVE = Quadratic(load("numpy"), 6, 3, 0)
EXACT = Known(embedding_constant=0.0)


def test_quantities_of_gradient_descent() -> None:
    weights, w = [], OBJECTIVE.start
    for _ in range(4):
        weights.append(w)
        w = w - 0.1 * OBJECTIVE.gradient(w)
    losses = [OBJECTIVE.loss(w) - OBJECTIVE.minimum for w in weights]
    squares = [float((OBJECTIVE.gradient(w) ** 2).sum()) for w in weights]
    expected = {
        "E.1": losses,
        "E.2": [OBJECTIVE.loss(np.mean(weights[:t], axis=0)) - OBJECTIVE.minimum for t in (1, 2, 3)],
        "E.3": [np.mean(squares[1 : t + 1]) for t in (1, 2, 3)],
    }
    for place, values in expected.items():
        rounds = IterativeSketching(FAMILY, 0.1).run(OBJECTIVE, 0, trials=1, rounds=3)
        seen = list(measure(find_theorem(place), OBJECTIVE, rounds))
        np.testing.assert_allclose([float(one.values()[0]) for one in seen], values, rtol=1e-12)
        assert all(one.most[0] >= one.values()[0] for one in seen)


def test_requirements() -> None:
    p = assumptions(OBJECTIVE, find_theorem("F.9"), FAMILY, EXACT, local_steps=4)
    assert (p.local_steps, p.alpha, p.smoothness) == (4, 0.0, OBJECTIVE.smoothness)
    bumpy = Saturating(load("numpy"), 6, 3, 0)
    with pytest.raises(ValueError, match=r"Theorem E\.1 needs a strongly convex objective, μ > 0, and the"):
        assumptions(bumpy, find_theorem("E.1"), FAMILY, EXACT)
    assert assumptions(bumpy, find_theorem("E.3"), FAMILY, EXACT).convexity == bumpy.convexity
    with pytest.raises(ValueError, match=r"theorem=E\.4 is unknown; choose one of E\.1"):
        find_theorem("E.4")


# The rule for learning rates, and the split that it is applied to


def test_a_tenth_of_the_training_samples_is_held_out() -> None:
    data = synthetic.load(train=57, test=9)
    split = hold_out(data, 3)
    assert (len(split.train.labels), len(split.test.labels)) == (52, 5)
    together = np.concatenate([split.train.images, split.test.images])
    assert sorted(image.tobytes() for image in together) == sorted(image.tobytes() for image in data.train.images)
    assert not np.array_equal(hold_out(data, 4).test.images, split.test.images)


def test_users_stay_with_their_samples() -> None:
    data = dataclasses.replace(synthetic.load(train=57, test=9), users=np.arange(57))
    split = hold_out(data, 3)
    assert np.array_equal(data.train.images[split.users], split.train.images)


def test_the_best_rate_is_the_first_of_the_greatest_merit() -> None:
    data = synthetic.load(train=20, test=9)
    tried = []

    def merit(split: Any, rate: float) -> float:
        tried.append((len(split.train.labels), rate))
        return -abs(round(rate) - 2)

    assert Tuning(rates=[1.0, 2.1, 1.9], rounds=1).best(data, 0, merit) == 2.1
    assert tried == [(18, 1.0), (18, 2.1), (18, 1.9)]


def test_a_single_rate_is_not_tried() -> None:
    def merit(split: Any, rate: float) -> float:
        raise AssertionError

    assert Tuning(rates=[0.3], rounds=1).best(synthetic.load(train=5, test=5), 0, merit) == 0.3
