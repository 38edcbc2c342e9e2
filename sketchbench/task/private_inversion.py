"""Inversion of private gradients, over ε (song2023 §6, §7)."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from sketchbench.attack.victim import Victim
from sketchbench.parameters import Positive
from sketchbench.task.inversion import Case, ImageInversion


@dataclass(frozen=True)
class PrivateInversion(ImageInversion):
    """The same for every view with its noise calibrated to each of `epsilons`, by the mechanism that makes it.

    The control has no noise. Rows have the further columns epsilon, delta, sigma, sensitivity, neighbours and
    accountant.
    """

    epsilons: list[Positive]

    def _defended(self, victim: Victim) -> Iterator[Case]:
        for epsilon in self.epsilons:
            for name, make in self.views.items():
                yield Case(name, functools.partial(make, epsilon=epsilon), self.family, {})
