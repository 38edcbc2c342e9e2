"""The rule for learning rates, and the split that it is applied to."""

import dataclasses
from typing import Any

import numpy as np

from sketchbench.federated.tuning import Tuning, hold_out
from sketchbench.learning.dataset import synthetic


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
