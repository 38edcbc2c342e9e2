"""Inversion of private gradients, over ε (song2023 §6, §7)."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from sketchbench.attack.victim import Victim
from sketchbench.task.inversion import Case, ImageInversion


@dataclass(frozen=True)
class PrivateInversion(ImageInversion):
    """Every view with its noise calibrated to each of `epsilons`, accounted for by the mechanism that made it.
    The control is to have none. Rows have the columns epsilon, delta, sigma, sensitivity, neighbours and accountant.
    """

    epsilons: list[float]

    def _cases(self, victims: list[Victim]) -> Iterator[Case]:
        for epsilon in self.epsilons:
            for name, make in self.views.items():
                yield Case(name, functools.partial(make, epsilon=epsilon), self.family, {})
