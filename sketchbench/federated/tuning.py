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
    """The training of a network, for any learning rate; a base class of frozen dataclasses. `participation` is the
    share of the clients in a round."""

    participation: Share

    def limit_participation(self, most: float) -> Self:
        """The same procedure with at most this share of the clients in a round."""
        return cast(Self, replace(cast(Any, self), participation=min(most, self.participation)))


@dataclass(frozen=True)
class Tuning(Checked):
    """The learning rates to choose from, and the trainings that try them."""

    rates: NonEmptyList[Positive]  # at least one; a single rate is taken without a training
    rounds: Count  # of a training that tries a rate
    participation: Share = 1.0  # the largest share of the clients in a round of such a training

    def best(self, data: Dataset, seed: int, merit: Callable[[Dataset, float], Any]) -> float:
        """The rate with the greatest merit; among equals, the first.

        Arguments:
            data: the data set; `hold_out` splits its training samples.
            seed: of the split.
            merit: trains on the split data set at a rate, and returns a number or a tuple: the larger, the better.
        """
        if len(self.rates) == 1:
            return self.rates[0]
        split = hold_out(data, seed)
        return max(self.rates, key=lambda rate: merit(split, rate))


def hold_out(data: Dataset, seed: int) -> Dataset:
    """A data set of the training samples alone: a random tenth of them replaces the test samples. Raises ValueError for
    fewer than ten training samples."""
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
