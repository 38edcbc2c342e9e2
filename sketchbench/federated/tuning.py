"""The choice of learning rates: the rate with the best training on held-out samples is taken."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count, NonEmptyList, Positive, Share
from sketchbench.learning.dataset.dataset import Dataset, Split

HELD_OUT = 10  # one of so many training samples is held out


class Procedure(Checked):
    """How a network is trained, whatever the learning rate; a base class of frozen dataclasses.

    Attributes:
        participation: the share of the clients that take part in a round.
    """

    participation: Share

    def limit_participation(self, most: float) -> Self:
        """The same procedure with at most this share of the clients in a round."""
        return cast(Self, replace(cast(Any, self), participation=min(most, self.participation)))


@dataclass(frozen=True)
class Tuning(Checked):
    """The learning rates to choose from, and how a training tries each of them.

    Arguments:
        rates: at least one; a single rate is taken without a training.
        rounds: of a training that tries a rate.
        participation: the largest share of the clients in a round of such a training.
    """

    rates: NonEmptyList[Positive]
    rounds: Count
    participation: Share = 1.0

    def best(self, data: Dataset, seed: int, merit: Callable[[Dataset, float], Any]) -> float:
        """The rate with the greatest merit; of several, the first.

        Arguments:
            data: the data set, whose training samples `hold_out` splits.
            seed: of that split.
            merit: trains on the split data set at a rate, and returns a number or a tuple: the larger, the better.
        """
        if len(self.rates) == 1:
            return self.rates[0]
        split = hold_out(data, seed)
        return max(self.rates, key=lambda rate: merit(split, rate))


def hold_out(data: Dataset, seed: int) -> Dataset:
    """A data set of the training samples alone: a random tenth of them takes the place of the test samples.

    Arguments:
        data: the data set.
        seed: root of the randomness.

    Raises:
        ValueError: for fewer than ten training samples.
    """
    images, labels = data.train
    if len(labels) < HELD_OUT:
        raise ValueError(
            f"{data.label}: {len(labels)} training samples must be >= {HELD_OUT} for a choice of learning rates, as "
            f"one of {HELD_OUT} is held out; give a single rate"
        )
    order = seeds.generator(seed, data="held out").permutation(len(labels))
    tested, kept = np.split(order, [len(order) // HELD_OUT])
    test, train = (Split(images[part], labels[part]) for part in (tested, kept))
    users = None if data.users is None else data.users[kept]
    return replace(data, train=train, test=test, users=users)
