"""Discrete Gaussians: the sampler beside the distribution, sums beside one of them, moments beside the continuous ones,
and what rounding adds to a norm."""

import itertools
import math

import numpy as np
import pytest
from levels import LEVEL
from scipy import stats

from sketchbench.privacy import discrete_gaussian, renyi
from sketchbench.privacy.discrete_gaussian import closeness, draw, epsilon, multiplier, on_grid, rounded_norm

DRAWS = 40_000


def pmf(variance: float) -> tuple[np.ndarray, np.ndarray]:
    """The integers within 12 σ, and their probabilities."""
    x = np.arange(-math.ceil(12 * variance**0.5) - 2, math.ceil(12 * variance**0.5) + 3)
    weights = np.exp(-(x**2) / (2 * variance))
    return x, weights / weights.sum()


@pytest.mark.statistical
@pytest.mark.parametrize("variance", [0.25, 1.0, 9.0625, 400.0])
def test_draws_have_the_distribution(variance: float) -> None:
    """χ² of cells with 20 draws and more, and the rest, at LEVEL; with the variance of the next size it fails."""
    drawn = draw(np.random.default_rng(5), variance, (DRAWS,))

    def surprise(claimed: float) -> float:
        x, share = pmf(claimed)
        common = share * DRAWS >= 20
        counts = np.array([(drawn == one).sum() for one in x[common]])
        seen = np.append(counts, DRAWS - counts.sum())
        wanted = DRAWS * np.append(share[common], max(1 - share[common].sum(), 1e-3))
        return float(stats.chi2.sf(((seen - wanted) ** 2 / wanted).sum(), len(wanted) - 1))

    assert surprise(variance) > LEVEL
    assert surprise(on_grid(1.2 * variance)) < LEVEL


@pytest.mark.statistical
@pytest.mark.parametrize("variance", [0.0625, 3.0, 5_000.0, 1e7])
def test_draws_have_the_variance(variance: float) -> None:
    """To 5 standard errors, √(2/n) of normal numbers, or √(kurtosis/n) of rare ones."""
    x, share = pmf(variance) if variance < 1e6 else (np.zeros(1), np.ones(1))
    exact = float((share * x**2).sum()) or variance
    fourth = float((share * x**4).sum()) or 3 * variance**2
    drawn = draw(np.random.default_rng(6), variance, (4, DRAWS // 4)).astype(np.float64)
    assert abs((drawn**2).mean() - exact) <= 5 * ((fourth - exact**2) / DRAWS) ** 0.5
    assert abs(drawn.mean()) <= 5 * (exact / DRAWS) ** 0.5


@pytest.mark.parametrize("variance", [0.0, 0.1, 5000.5, 2.0**26])
def test_variances_are_those_of_the_grid(variance: float) -> None:
    with pytest.raises(ValueError, match=r"variance=.* must be > 0, <= 33554432, and a multiple of 1/16"):
        draw(np.random.default_rng(0), variance, (3,))
    assert on_grid(0.1) == 0.125
    assert on_grid(5000.5) == 5001


@pytest.mark.parametrize(("sigma", "clients"), [(0.5, 2), (0.6, 3), (0.8, 4), (1.0, 2)])
def test_sums_are_as_close_as_stated(sigma: float, clients: int) -> None:
    """Exact convolutions, where the ratio is well above the rounding of float64."""
    _, one = pmf(sigma**2)
    total = np.ones(1)
    for _ in range(clients):
        total = np.convolve(total, one)
    middle = len(total) // 2
    near = int(6 * sigma * clients**0.5)
    whole = np.exp(-(np.arange(-400, 401) ** 2) / (2 * clients * sigma**2))
    whole = whole[400 - near : 401 + near] / whole.sum()
    ratios = abs(np.log(total[middle - near : middle + near + 1] / whole))
    assert 1e-9 < ratios.max() <= closeness(sigma, clients)


def test_closeness_needs_half_a_step() -> None:
    with pytest.raises(ValueError, match="must be >= 1/2"):
        closeness(0.4, 3)
    assert closeness(3.0, 1) == 0


@pytest.mark.parametrize(("sigma", "shift", "rate"), [(2.0, 1, 0.1), (2.0, 3, 0.1), (5.0, 4, 0.4)])
@pytest.mark.parametrize("order", [2, 3, 6])
def test_moments_of_integer_orders_are_the_continuous_ones(sigma: float, shift: int, rate: float, order: int) -> None:
    """Of Poisson batches, summed over the integers, and no larger the other way."""
    x = np.arange(-150, 151).astype(np.float64)
    share = np.exp(-(x**2) / (2 * sigma**2))
    share /= share.sum()
    ratio = 1 - rate + rate * np.exp((2 * shift * x - shift**2) / (2 * sigma**2))
    forth, back = ((share * ratio**power).sum() for power in (order, 1 - order))
    assert math.log(forth) == pytest.approx(renyi.poisson_log_moment(order - 1.0, rate, sigma / shift), rel=1e-9)
    assert back <= forth


def test_epsilon_is_hardly_above_that_of_all_orders() -> None:
    for count, rate, noise in itertools.product((1, 50), (0.1, 1.0), (1.5, 6.0)):
        own, every = epsilon(count, rate, noise, 1e-4), renyi.epsilon(count, rate, noise, 1e-4)
        assert every * (1 - 1e-3) <= own <= 1.05 * every  # the coarsest orders are a half apart, of 2
    found = multiplier(50, 0.1, 1.0, 1e-4)
    assert epsilon(50, 0.1, found, 1e-4) <= 1 < epsilon(50, 0.1, found * 0.999, 1e-4)


def test_goals_out_of_reach_are_refused() -> None:
    with pytest.raises(ValueError, match="integer orders give no epsilon=1e-08"):
        multiplier(50, 0.1, 1e-8, 1e-4)


@pytest.mark.parametrize(("rows", "norm"), [(10, 0.0), (400, 3.0), (400, 60.0)])
def test_rounded_vectors_are_as_long_as_stated(rows: int, norm: float) -> None:
    """In 4,000 draws, of which one exceeds a bound of β = 1e-7 with a chance of 4e-4. Rounding is seen: of many rows,
    all changes exceed the norm itself."""
    random = np.random.default_rng(7)
    y = random.standard_normal((4000, rows)) * 100
    x = random.standard_normal(rows)
    x *= norm / np.linalg.norm(x)
    u = random.random((4000, rows))
    changes = np.linalg.norm(np.floor(y + x + u) - np.floor(y + u), axis=1)  # what a record changes
    alone = np.linalg.norm(np.floor(x + u), axis=1)
    for sizes in (changes, alone):
        assert sizes.max() <= rounded_norm(norm, rows, 1e-7) <= norm + rows**0.5
    if rows == 400 and norm == 3:
        assert changes.min() > norm
    assert stats.ks_2samp(changes, alone).pvalue > LEVEL  # the change is rounded as the vector alone is


def test_orders_are_integers() -> None:
    assert all(isinstance(order, int) and order > 1 for order in discrete_gaussian.ORDERS)
