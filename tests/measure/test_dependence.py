"""The search for dependence alarms as rarely as its interval says, and finds what claims C5-C7 say that it finds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from levels import LEVEL
from numpy.typing import NDArray
from scipy.stats import binom

from sketchbench.measure.dependence import HEAVIEST, products, scale_of, strongest
from sketchbench.measure.interval import mean_interval
from sketchbench.measure.summary import summarize

pytestmark = pytest.mark.statistical
Floats = NDArray[np.float64]
Drawn = Callable[[np.random.Generator, tuple[int, int]], Floats]


def mixed(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    third = [draw(random, (shape[0], shape[1] // 3)) for draw in (normal, rare, skewed)]
    return np.concatenate(third, axis=1)


def normal(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.standard_normal(shape)


def signs(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.choice([-1.0, 1.0], shape)


def rare(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """As uneven as features may be: kurtosis 7.1."""
    return (random.random(shape) < 1 / 9).astype(float)


def skewed(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.gamma(3.0, size=shape)


DRAWN = pytest.mark.parametrize("drawn", [normal, signs, rare, skewed, mixed])


def alarm(one: Floats, other: Floats, error: float) -> bool:
    half = len(one) // 2
    scales = scale_of(one[:half]), scale_of(other[:half])
    left, right = (scale.apply(values) for scale, values in zip(scales, (one, other), strict=True))
    pair = strongest(left[:half], right[:half])
    found: dict[str, Any] = summarize(products(left[half:], right[half:], pair))
    low, high = mean_interval(found["mean"], found["sd"], found["skewness"], half, error=error)
    return not low <= 0 <= high


@DRAWN
def test_false_alarms(drawn: Drawn) -> None:
    """Of 500 searches among 24 x 24 independent pairs at 2 %: at most what 2.5 % would explain, at 1e-6."""
    random = np.random.default_rng(1)
    alarms = sum(alarm(drawn(random, (800, 24)), drawn(random, (800, 24)), 0.02) for _ in range(500))
    assert alarms <= binom.isf(1e-6, 500, 0.025)


def test_power() -> None:
    """A correlation of 0.13 of one pair of 150 x 150 is noticed at the level of a run in 30 of 30 cases: with a
    probability above 0.8, at 1e-3. Claim C6 has 7e4 pairs at 28 places, of which the largest by chance is 5.3/√4000 =
    0.084 in place of 0.067, and so misses one in fifty at 0.12."""
    random, noticed, trials = np.random.default_rng(2), 0, 4000
    for _ in range(30):
        one, other = (signs(random, (2 * trials, 150)) for _ in range(2))
        shared = random.random(2 * trials) < 0.13
        other[:, 17] = np.where(shared, one[:, 90], other[:, 17])
        noticed += alarm(one, other, LEVEL)
    assert noticed == 30


def test_uneven_features_are_left_out() -> None:
    random = np.random.default_rng(3)
    features = np.column_stack([random.random((4000, 10)), random.random((4000, 3)) < 0.01, np.full(4000, 7.0)])
    assert scale_of(features).used.tolist() == list(range(10))
    assert scale_of(features[:, 10:]).used.tolist() == [0, 1, 2]
    assert scale_of(features[:, 13:]).used.tolist() == []
    assert HEAVIEST < 1 / 0.01


def test_what_is_found() -> None:
    """The pair, and the sign of its correlation."""
    random = np.random.default_rng(4)
    left = random.standard_normal((1000, 5))
    right = random.standard_normal((1000, 6))
    right[:, 4] = -left[:, 1]
    pair = strongest(left, right)
    assert (pair.left, pair.right) == (1, 4)
    assert products(left, right, pair).mean() == pytest.approx(1, abs=0.2)
