"""The choice of a method's learning rate: a coarse grid, steps by halves around its best rate, and whole trainings.

A training that compresses is compared with one that does not. If the grid missed the best rate of either of them, the
difference would be that of the rates, not of the compression.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sketchbench.base.parameters import Checked, Count, NonEmptyList, Positive

BEYOND = 6  # rates that are tried at most beyond an end of the grid, and as many beyond an end of the last choice
SAME = 0.01  # relative difference of factors between neighbours of a grid: rates have three digits


class Merit(NamedTuple):
    """The merit of a rate: trainings none of which diverged are better than others, whatever their accuracy."""

    sound: bool  # whether no training diverged
    accuracy: float  # mean over the trainings, on held-out images; 0 for one that diverged


class ChosenRate(NamedTuple):
    """A rate, and the held-out accuracy of whole trainings at the rate and at its neighbours."""

    rate: float
    accuracy: float = math.nan  # nan for a single rate, which is taken without a training
    below: float = math.nan  # at the next smaller rate that was tried
    above: float = math.nan  # at the next larger rate that was tried


@dataclass(frozen=True)
class RateChoice(Checked):
    """The rates to choose from, and the trainings that try them.

    First, `first` rounds try the rates of a geometric grid. While the best rate is an end of the grid, the grid is
    extended, by at most `BEYOND` rates. Then the factor between neighbours is halved (its square root is taken), and
    the two new neighbours of the best rate are tried, until the factor is at most `finest`. Last, whole trainings
    compare the best rate and its two neighbours, and, while the best is an end, at most `BEYOND` further rates. A rate
    at which any training diverged is taken only if all of them diverge.
    """

    rates: NonEmptyList[Positive]  # a geometric grid, ascending; a single rate is taken without a training
    first: Count  # rounds of the trainings that try the grid, and that halve its steps
    trials: Count  # the number of trainings that try a rate, beside the judged trainings. All rates form one stack
    finest: Positive = 1.3  # the largest factor between the rates of the last choice

    def __post_init__(self) -> None:
        super().__post_init__()
        factors = [after / before for before, after in zip(self.rates, self.rates[1:], strict=False)]
        if factors and (min(factors) <= 1 or max(factors) > min(factors) * (1 + SAME)):
            raise ValueError(
                f"rates={list(self.rates)} must be a geometric grid, in ascending order, and the factors between "
                f"neighbours are {', '.join(f'{one:.4g}' for one in factors)}; give for example 0.02, 0.06, 0.18, 0.54"
            )
        if self.finest <= 1:
            raise ValueError(f"finest={self.finest:g} must be > 1, a factor between rates; give for example 1.3")

    @property
    def halvings(self) -> int:
        """How often the factor between neighbours is halved."""
        if len(self.rates) == 1:
            return 0
        # SAME / 10: rates have three digits, and a factor of 1.3001 need not be halved once more
        return max(0, math.ceil(math.log2(math.log(self.rates[1] / self.rates[0]) / math.log(self.finest)) - SAME / 10))

    def most(self, rounds: int) -> list[tuple[int, int]]:
        """The most rates that a choice tries for so many rounds each: in its first part, and in the last choice of
        trainings of `rounds` rounds."""
        if len(self.rates) == 1:
            return []
        return [(len(self.rates) + BEYOND + 2 * self.halvings, min(self.first, rounds)), (3 + BEYOND, rounds)]

    def all_rounds(self, rounds: int) -> int:
        """The most rounds of all trainings of a choice, for trainings of `rounds` rounds."""
        return self.trials * sum(math.prod(part) for part in self.most(rounds))

    def choose(self, rounds: int, attempt: Callable[[Sequence[float], int], Sequence[Merit]]) -> ChosenRate:
        """The best rate for trainings of `rounds` rounds; among equals the smallest.

        `attempt` trains at each of the given rates for so many rounds.
        """
        if len(self.rates) == 1:
            return ChosenRate(self.rates[0])
        short, step = min(self.first, rounds), self.rates[1] / self.rates[0]
        tried = _Tried(lambda rates: attempt(rates, short))
        tried.add(self.rates)
        best = tried.extend(step)
        for _ in range(self.halvings):
            step = math.sqrt(step)
            tried.add([best / step, best * step])
            best = tried.best
        whole = _Tried(lambda rates: attempt(rates, rounds))
        whole.add([best / step, best, best * step])
        return whole.around(whole.extend(step))


class _Tried:
    """The merits of the rates that were tried, by rate."""

    def __init__(self, attempt: Callable[[Sequence[float]], Sequence[Merit]]) -> None:
        self._attempt = attempt
        self._merits: dict[float, Merit] = {}

    def add(self, rates: Sequence[float]) -> None:
        """Try rates, rounded to three digits as they are reported, that were not tried yet."""
        new = [rate for rate in (float(f"{rate:.3g}") for rate in rates) if rate not in self._merits]
        if new:
            self._merits = dict(sorted((self._merits | dict(zip(new, self._attempt(new), strict=True))).items()))

    @property
    def best(self) -> float:
        """The best rate; among equals the smallest."""
        return max(self._merits, key=lambda rate: self._merits[rate])

    def extend(self, step: float) -> float:
        """Try further rates while the best is an end and better than its neighbour, or diverges; return the best."""
        for _ in range(BEYOND):
            rates, merits = list(self._merits), list(self._merits.values())
            if self.best == rates[0] and (merits[0] > merits[1] or not merits[0].sound):
                self.add([rates[0] / step])
            elif self.best == rates[-1]:
                self.add([rates[-1] * step])
            else:
                break
        return self.best

    def around(self, rate: float) -> ChosenRate:
        """A rate with the accuracies beside it."""
        accuracies = [one.accuracy for one in self._merits.values()]
        padded = [math.nan, *accuracies, math.nan]
        place = list(self._merits).index(rate)
        return ChosenRate(rate, padded[place + 1], padded[place], padded[place + 2])
