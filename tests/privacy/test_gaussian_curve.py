"""The exact Gaussian curve against arbitrary precision, and at the ends of its range."""

import itertools
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from levels import LEVEL
from scipy import stats

from sketchbench.privacy import discrete_gaussian, gaussian, renyi
from sketchbench.privacy.discrete_gaussian import closeness, draw, epsilon, multiplier, on_grid, rounded_norm
from sketchbench.privacy.mechanism import Composed, GaussianRelease, SampledGaussian
from sketchbench.privacy.reconstruction import reconstruction_bound
from sketchbench.privacy.sampling import Sampling
from sketchbench.privacy.worst_case import composed_epsilon, sampled_epsilon

EPSILONS = np.geomspace(1e-4, 100, 9).tolist()
DELTAS = [1e-12, 1e-9, 1e-5, 1e-2, 0.3]


def precise(mu: float, epsilon: float) -> mpmath.mpf:
    """δ by its definition, with 60 digits."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))
def test_ten_digits(epsilon: float, delta: float) -> None:
    mu = gaussian.mu(epsilon, delta)
    exact = precise(mu, epsilon)
    assert abs(float(exact / delta) - 1) < 1e-10
    assert abs(gaussian.delta(mu, epsilon) / float(exact) - 1) < 1e-10
    assert abs(gaussian.epsilon(mu, delta) / epsilon - 1) < 1e-10


@pytest.mark.parametrize(("mu", "epsilon"), [(10.5, 0.0), (10.5, 0.1), (12, 3), (14, 20), (40, 100)])
def test_little_noise(mu: float, epsilon: float) -> None:
    """δ of 1 - 1e-6 and more, of which the smaller term of its definition takes off a millionth."""
    assert gaussian.delta(mu, epsilon) == pytest.approx(float(precise(mu, epsilon)), rel=1e-12)


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan])
def test_no_noise_of_this_size(mu: float) -> None:
    with pytest.raises(ValueError, match="mu="):
        gaussian.log_delta(mu, 1.0)


def test_nothing_overflows() -> None:
    for mu, level in itertools.product(np.geomspace(1e-8, 1e4, 13), np.geomspace(1e-6, 1e6, 13)):
        found = gaussian.log_delta(float(mu), float(level))
        assert found <= 1e-12
        exact = precise(float(mu), float(level))
        if float(exact) > 0:
            assert found == pytest.approx(float(mpmath.log(exact)), rel=1e-9, abs=1e-9)


def mixed(means: np.ndarray, chances: np.ndarray, epsilon: float) -> float:
    """δ of Σ w_j N(j, 1) against its mirror image, by integration."""
    x = np.linspace(-30, 30, 50_001)
    p = (chances[:, None] * stats.norm.pdf(x - means[:, None])).sum(axis=0)
    return float(np.maximum(p - math.exp(epsilon) * p[::-1], 0).sum() * (x[1] - x[0]))


@pytest.mark.parametrize(("mu", "batch", "records"), [(1.0, 4, 16), (2.0, 8, 16), (0.5, 30, 60)])
def test_resampling_is_above_a_real_pair(mu: float, batch: int, records: int) -> None:
    """A record with opposite values, all others zero: the limit is above its δ, and not vacuous."""
    times = np.arange(batch + 1)
    chances = stats.binom.pmf(times, batch, 1 / records)
    for level in (0.1, 0.5, 1.0):
        limit = gaussian.resampled_delta(mu, level, batch, records)
        assert mixed(times * mu / 2, chances, level) <= limit <= gaussian.delta(mu * batch, level)


def test_resampling_one_record_is_sampling_without_replacement() -> None:
    """With one draw only the shares' ratio is left between the limit and the exact amplification."""
    inner = math.log1p(math.expm1(0.2) * 50)
    exact = gaussian.delta(1.0, inner) / 50
    limit = gaussian.resampled_delta(1.0, 0.2, 1, 50)
    assert exact <= limit <= 1.1 * exact


# Discrete Gaussians: the sampler beside the distribution, sums and moments beside the continuous ones


DRAWS = 40_000


def pmf(variance: float) -> tuple[np.ndarray, np.ndarray]:
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
    """4,000 draws exceed a bound of β = 1e-7 with a chance of 4e-4; of many rows, all changes exceed the norm."""
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


# The bound of reconstruction against privacy curves, and against the best attack on a prior of two records


BASELINES = st.floats(1e-6, 0.999)
MULTIPLIERS = st.floats(0.05, 50)  # sensitivity over σ


@examples(15)
@given(BASELINES, MULTIPLIERS, st.floats(0, 20), st.integers(1, 50))
def test_below_all_private_curves_and_above_the_guess(baseline: float, mu: float, epsilon: float, times: int) -> None:
    """An (ε, δ)-private mechanism blows κ up to at most exp(ε) κ + δ."""
    bound = reconstruction_bound(Composed(GaussianRelease(mu, 1.0), times), baseline)
    blown = math.exp(epsilon) * baseline + gaussian.delta(math.sqrt(times) * mu, epsilon)
    assert baseline * (1 - 1e-9) <= bound <= min(1.0, blown) * (1 + 1e-9)


@examples(15)
@given(BASELINES, st.floats(0.05, 5))
def test_touched_by_a_private_curve(baseline: float, mu: float) -> None:
    """At the ε of the ratio of densities where the event ends, the two are equal."""
    bound = reconstruction_bound(GaussianRelease(mu, 1.0), baseline)
    threshold = -stats.norm.ppf(baseline)  # of the event under noise alone, in units of σ
    epsilon = mu * threshold - mu**2 / 2  # the logarithm of the ratio of densities there
    if epsilon >= 0:
        assert bound == pytest.approx(math.exp(epsilon) * baseline + gaussian.delta(mu, epsilon), rel=1e-9)


def test_two_opposite_records() -> None:
    """The best attack on N(±μ, 1) is right with probability Φ(μ): the bound is reached."""
    assert reconstruction_bound(GaussianRelease(0.7, 1.0), 0.5) == pytest.approx(stats.norm.cdf(0.7))


def test_random_batches_are_refused() -> None:
    step = SampledGaussian(GaussianRelease(1.0, 1.0), Sampling("poisson", 2, 10), "add_remove")
    with pytest.raises(ValueError, match="sampling=poisson must be full"):
        reconstruction_bound(step, 0.1)


# The worst mechanisms: against lists of all that can come out, and no more private than they should be


SHARES = (0.05, 0.3, 0.7, 0.95)  # of the way from the least possible δ to that at ε = 0


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def response(each: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    odds = math.exp(each)
    one = np.array([delta, (1 - delta) * odds / (1 + odds), (1 - delta) / (1 + odds), 0.0])
    return one, one[::-1]


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize(("each", "delta"), [(0.3, 0.0), (0.5, 0.01), (1.0, 1e-4)])
def test_responses_one_by_one(each: float, delta: float, times: int) -> None:
    one, zero = response(each, delta)
    p, q = (np.array([math.prod(s) for s in itertools.product(side, repeat=times)]) for side in (one, zero))
    least, most = hockey_stick(p, q, 50.0), hockey_stick(p, q, 0.0)
    for goal in (least + share * (most - least) for share in SHARES):
        epsilon = composed_epsilon(each, delta, times, goal)
        assert hockey_stick(p, q, epsilon) == pytest.approx(goal, abs=1e-11)
    assert composed_epsilon(each, delta, times, most + 1e-12) == 0.0


def test_a_single_response_is_as_private_as_it_says() -> None:
    assert composed_epsilon(0.4, 1e-3, 1, 1e-3 * (1 + 1e-9)) == pytest.approx(0.4, rel=1e-6)


def test_responses_compose_to_less_privacy_than_gaussian_releases() -> None:
    for each, times in itertools.product((0.01, 0.3, 1.0), (2, 10, 100)):
        goal = (times + 1) * 1e-6
        gaussians = gaussian.epsilon(math.sqrt(times) * gaussian.mu(each, 1e-6), goal)
        assert composed_epsilon(each, 1e-6, times, goal) > gaussians


def test_more_is_given_away_than_allowed() -> None:
    assert composed_epsilon(0.1, 1e-3, 10, 1e-3) == math.inf


def counter(each: float, delta: float, start: float, batch: int) -> np.ndarray:
    """Chances of (given away, many, few) for a batch where j records count: (batch + 1, 3)."""
    many = [start]
    for _ in range(batch):
        many.append(min(math.exp(each) * many[-1], 1 - math.exp(-each) * (1 - many[-1])))
    hidden = (1 - delta) ** np.arange(batch + 1)
    return np.stack([1 - hidden, hidden * np.array(many), hidden * (1 - np.array(many))], axis=1)


@pytest.mark.parametrize(("batch", "records"), [(1, 2), (2, 5), (3, 6)])
@pytest.mark.parametrize(("each", "delta"), [(0.5, 0.0), (1.0, 0.01)])
def test_counters_batch_by_batch(each: float, delta: float, batch: int, records: int) -> None:
    """All n^m batches, and the counter of largest δ."""
    drawn = [sum(i == 0 for i in places) for places in itertools.product(range(records), repeat=batch)]
    starts = [math.exp(-i * each) / (1 + math.exp(each)) for i in range(batch + 1)]
    counters = [counter(each, delta, start, batch) for start in starts]

    def worst(epsilon: float) -> float:
        return max(hockey_stick(chances[drawn].mean(axis=0), chances[0], epsilon) for chances in counters)

    least, most = worst(50.0), worst(0.0)
    for goal in (least + share * (most - least) for share in SHARES):
        assert worst(sampled_epsilon(each, delta, batch, records, goal)) == pytest.approx(goal, abs=1e-11)
    assert sampled_epsilon(each, delta, batch, records, most + 1e-12) == 0.0


@pytest.mark.parametrize(("each", "delta"), [(0.1, 0.0), (0.5, 0.01), (1.0, 1e-5)])
def test_a_counter_is_as_private_as_it_says(each: float, delta: float) -> None:
    """On batches that differ in one record, either way."""
    for start in (1 / (1 + math.exp(each)), math.exp(-3 * each) / (1 + math.exp(each))):
        chances = counter(each, delta, start, 6)
        for one, other in itertools.pairwise(chances):
            assert hockey_stick(other, one, each) <= delta + 1e-12
            assert hockey_stick(one, other, each) <= delta + 1e-12


def test_sampling_amplifies_less_than_by_its_share() -> None:
    """One draw of a pure counter is exact amplification: log(1 + (exp(ε) - 1)/n)."""
    assert sampled_epsilon(1.0, 0.0, 1, 50, 1e-15) == pytest.approx(math.log1p(math.expm1(1.0) / 50), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian.epsilon(1.0, 1.0), "delta=1.0 must satisfy 0 < delta < 1"),
        (lambda: gaussian.epsilon(0.0, 0.1), "mu=0.0 must satisfy"),
        (lambda: gaussian.mu(0.0, 0.1), "epsilon=0.0 must satisfy 0 < epsilon"),
        (lambda: gaussian.mu(1.0, 0.0), "delta=0.0 must satisfy"),
        (lambda: gaussian.delta(1.0, -1.0), "epsilon=-1.0 must be >= 0"),
        (lambda: composed_epsilon(0.1, 1e-9, 10**9, 0.9), "times=1000000000 must be <= 10,000,000"),
        (lambda: sampled_epsilon(400.0, 1e-9, 2, 10, 1e-3), r"each=400.0 must be <= 200, 600/\(batch \+ 1\)"),
        (lambda: sampled_epsilon(1.0, 1e-9, 1, 1, 1e-3), "batch=1 and records=1 must be >= 1 and >= 2"),
    ],
)
def test_limits_are_named(call: Callable[[], float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@examples(20)
@given(
    each=st.floats(math.log(1e-9), math.log(50)).map(math.exp),
    log_delta=st.floats(-690, -1),
    times=st.integers(1, 50),
    share=st.floats(1.01, 100),
)
def test_far_ends(each: float, log_delta: float, times: int, share: float) -> None:
    """At least nothing, at most the sum of all."""
    delta = math.exp(log_delta)
    goal = min(0.99, times * delta * share)
    composed = composed_epsilon(each, delta, times, goal)
    if composed == math.inf:
        assert -math.expm1(times * math.log1p(-delta)) > goal
    else:
        assert 0 <= composed <= times * each * (1 + 1e-9) + 1e-13
    batch = min(times, 4)
    revealed = max(goal, -math.expm1(batch * math.log1p(-delta)))
    assert 0 <= sampled_epsilon(each, delta, batch, 2 * batch, revealed) <= batch * each * (1 + 1e-9) + 1e-13
