"""The one rule for learning rates: the best one on held-out training samples is taken."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.dataset.dataset import Dataset, Split
from sketchbench.parameters import Checked, Count, NonEmptyList, Positive, Share

HELD_OUT = 10  # a tenth of the training samples is held out


@dataclass(frozen=True)
class Tuning(Checked):
    """The learning rates to choose from, and how each of them is tried.

    Arguments:
        rates: at least one; a single one is not tried.
        rounds: of each trial training.
        participation: the largest share of the clients in a round of it.
    """

    rates: NonEmptyList[Positive]
    rounds: Count
    participation: Share = 1.0

    def best(self, data: Dataset, seed: int, merit: Callable[[Dataset, float], Any]) -> float:
        """The rate whose training has the greatest merit; the first of those that draw.

        Arguments:
            data: whose training samples are split by `held_out`.
            seed: of that split.
            merit: of a training on the split data set, with this rate.
        """
        if len(self.rates) == 1:
            return self.rates[0]
        split = hold_out(data, seed)
        return max(self.rates, key=lambda rate: merit(split, rate))


def hold_out(data: Dataset, seed: int) -> Dataset:
    """The training samples alone, with a random tenth of them in the place of the test samples.

    Arguments:
        data: the data set.
        seed: root of the randomness.
    """
    images, labels = data.train
    order = seeds.generator(seed, data="held out").permutation(len(labels))
    test, train = (Split(images[part], labels[part]) for part in np.split(order, [len(order) // HELD_OUT]))
    return replace(data, train=train, test=test)
