"""Inversion of private gradients, at several ε (song2023 §6, §7)."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from sketchbench.attack.victim import Victim
from sketchbench.base.parameters import Positive
from sketchbench.task.inversion.inversion import Case, ImageInversion


@dataclass(frozen=True)
class PrivateInversion(ImageInversion):
    """`ImageInversion` of each view at each of `epsilons`, to which the view calibrates its noise. The control has no
    noise. Further columns: epsilon, delta, sigma, sensitivity, neighbours and accountant."""

    epsilons: list[Positive]

    def _defences(self, victim: Victim) -> Iterator[Case]:
        for epsilon in self.epsilons:
            for name, make in self.views.items():
                yield Case(name, functools.partial(make, epsilon=epsilon), self.family, {})
