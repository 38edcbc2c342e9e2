"""Factorial designs: balanced, clear of pairs, and an effect with an interval that covers it."""

import itertools

import numpy as np
import pytest
from scipy import stats

from sketchbench.measure.factorial import design, effects

NAMES = list("ABCDEF")


@pytest.mark.parametrize("factors", range(1, 7))
def test_every_factor_is_balanced_and_clear_of_the_others(factors: int) -> None:
    levels = design(factors)
    assert (levels.T @ levels == len(levels) * np.eye(factors)).all()
    assert (levels.sum(0) == 0).all()


def test_no_factor_is_mixed_with_a_pair() -> None:
    levels = design(6)
    for a, (b, c) in itertools.product(range(6), itertools.combinations(range(6), 2)):
        if a not in (b, c):
            assert levels[:, a] @ (levels[:, b] * levels[:, c]) == 0


def test_effects_are_found_and_their_intervals_cover_as_often_as_they_say() -> None:
    random = np.random.default_rng(5)
    true = dict(zip(NAMES, [1.5, 0.0, -0.3, 0.0, 0.2, 0.0], strict=True))
    missed = 0
    for _ in range(400):
        blocks = random.normal(size=(2, 1)) * 3
        clean = blocks + design(6) @ np.array(list(true.values())) / 2
        found = effects(NAMES, clean + random.normal(size=clean.shape))
        for name, effect in found.items():
            width = stats.t.ppf(0.975, effect.freedom) * effect.error
            missed += abs(effect.mean - true[name]) > width
    assert 0.03 < missed / 2400 < 0.07  # 5 % at a standard error of 0.45 %


def test_too_few_runs_say_so() -> None:
    with pytest.raises(ValueError, match="add replicates"):
        effects(["A"], np.zeros((1, 2)))
    with pytest.raises(ValueError, match="factors=7 must be from 1 to 6"):
        design(7)
