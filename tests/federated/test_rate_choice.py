"""The choice of a learning rate, with merits that are functions of the rate."""

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.federated.rate_choice import BEYOND, ChosenRate, Merit, RateChoice

GRID = [0.02, 0.056, 0.157, 0.439, 1.23]
CHOICE = RateChoice(rates=GRID, first=15, trials=5)


class Trainings:
    """Trainings whose accuracy falls with the distance of the logarithm of the rate from the `best` one."""

    def __init__(self, best: float, diverges: Callable[[float], bool] = lambda rate: False) -> None:
        self.best, self.diverges = best, diverges
        self.tried: list[tuple[float, int]] = []

    def __call__(self, rates: Sequence[float], rounds: int) -> list[Merit]:
        self.tried += [(rate, rounds) for rate in rates]
        return [self.merit(rate) for rate in rates]

    def merit(self, rate: float) -> Merit:
        if self.diverges(rate):
            return Merit(False, 0.99)  # four of five trainings are good, and one diverges
        return Merit(True, 1 / (1 + math.log(rate / self.best) ** 2))

    def rounds(self) -> int:
        return sum(rounds for _, rounds in self.tried)


@given(st.floats(GRID[0] / 100, GRID[-1] * 100))
def test_the_best_rate_is_found_to_the_finest_factor(best: float) -> None:
    """Between the rates of the grid, and beyond its ends; rates are rounded to three digits."""
    trainings = Trainings(best)
    found = CHOICE.choose(50, trainings)
    assert abs(math.log(found.rate / best)) <= math.log(1.3) * 0.51 + 0.01
    assert found.accuracy == trainings.merit(found.rate).accuracy
    assert max(found.below, found.above) <= found.accuracy


@given(st.floats(1e-4, 1e4), st.integers(1, 80))
def test_at_most_so_many_rounds_are_trained(best: float, rounds: int) -> None:
    trainings = Trainings(best)
    CHOICE.choose(rounds, trainings)
    assert CHOICE.trials * trainings.rounds() <= CHOICE.all_rounds(rounds)


def test_the_last_choice_is_among_three_whole_trainings_at_least() -> None:
    trainings = Trainings(0.157)
    CHOICE.choose(50, trainings)
    assert [rounds for _, rounds in trainings.tried].count(50) == 3
    assert {rounds for _, rounds in trainings.tried} == {15, 50}


def test_a_rate_that_is_best_in_few_rounds_only_is_not_taken() -> None:
    """Large rates win the first rounds; whole trainings at them end lower."""

    def attempt(rates: Sequence[float], rounds: int) -> list[Merit]:
        return Trainings(0.5 if rounds < 50 else 0.2)(rates, rounds)

    assert abs(math.log(CHOICE.choose(50, attempt).rate / 0.2)) < math.log(1.3)


def test_a_rate_at_which_any_training_diverges_is_not_taken() -> None:
    found = CHOICE.choose(50, Trainings(0.439, diverges=lambda rate: rate > 0.3))
    assert 0.3 / 1.3 < found.rate <= 0.3


def test_where_all_diverge_smaller_rates_are_tried() -> None:
    trainings = Trainings(0.439, diverges=lambda rate: rate > 0.001)
    assert 0.001 / 1.3 < CHOICE.choose(50, trainings).rate <= 0.001
    everywhere = Trainings(0.439, diverges=lambda rate: True)
    CHOICE.choose(50, everywhere)
    assert len({rate for rate, _ in everywhere.tried}) <= len(GRID) + 2 * (BEYOND + 3)


def test_equal_rates_need_no_further_ones() -> None:
    """Such as those of a method that sends nothing."""
    trainings = Trainings(1.0)
    trainings.merit = lambda rate: Merit(True, 0.1)  # type: ignore[method-assign]
    assert CHOICE.choose(50, trainings).rate <= GRID[0]
    assert [rounds for _, rounds in trainings.tried].count(50) == 3


def test_a_single_rate_is_taken_without_a_training() -> None:
    choice = RateChoice(rates=[0.5], first=15, trials=5)
    trainings = Trainings(0.1)
    assert choice.choose(50, trainings)[:1] == ChosenRate(0.5)[:1]
    assert not trainings.tried
    assert choice.all_rounds(50) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"rates": [0.02, 0.2, 0.6]},
            r"rates=\[0.02, 0.2, 0.6\] must be a geometric grid.* are 10, 3; give",
        ),
        ({"rates": [0.6, 0.2]}, "in ascending order"),
        ({"rates": [0.2, 0.2]}, "in ascending order"),
        ({"finest": 1.0}, "finest=1 must be > 1"),
    ],
)
def test_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RateChoice(**{"rates": GRID, "first": 15, "trials": 5, **change})  # type: ignore[arg-type]
