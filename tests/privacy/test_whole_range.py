"""Accountants, calibration and curves from one end of their ranges to the other: a right number, or a named limit."""

import math
from collections.abc import Callable
from typing import Any

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import rdp
from examples import examples
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import optimize

from sketchbench.privacy import gaussian, renyi
from sketchbench.privacy.accountant import ACCOUNTANTS, FloorError, RefusedError, epsilon
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import Composed, GaussianRelease, Mechanism, SampledGaussian, Steps
from sketchbench.privacy.sampling import Sampling
from sketchbench.theory.privacy import Guarantee, OutOfRangeError

RECORDS = 10**7
FORMULAS = ["paper", "advanced", "classical", "exact"]
FIXED = "without_replacement"


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers that are uniform in their logarithm."""
    return st.floats(math.log(low), math.log(high)).map(lambda log: min(max(math.exp(log), low), high))


DELTAS = powers(1e-300, 0.9)
SIGMAS = powers(1e-6, 1e9)
STEPS = powers(1, 1e9).map(round)
RATES = powers(1e-7, 1)
GOALS = powers(1e-6, 1e3)


def release(sigma: float, steps: int, kind: Any = "full", rate: float = 1.0) -> Mechanism:
    batch = RECORDS if kind == "full" else max(1, round(rate * RECORDS))
    sampling = Sampling(kind, batch, RECORDS)
    return Composed(SampledGaussian(GaussianRelease(1.0, sigma), sampling, sampling.neighbours), steps)


def known(name: str, mechanism: Mechanism, delta: float) -> float | None:
    """ε, or None where the accountant names a limit and what to use instead."""
    found, reason = None, ""
    try:
        found = epsilon(name, mechanism, delta)
    except (RefusedError, OutOfRangeError) as error:
        reason = str(error)
    assert "use " in reason if found is None else 0 <= found < math.inf
    return found


def exact(mechanism_sigma: float, steps: int, delta: float) -> float:
    return gaussian.epsilon(math.sqrt(steps) / mechanism_sigma, delta)


@examples(60)
@given(name=st.sampled_from(FORMULAS), sigma=SIGMAS, steps=STEPS, delta=DELTAS)
def test_formulas_on_full_batches(name: str, sigma: float, steps: int, delta: float) -> None:
    """Never below the exact curve (the paper's theorem has no constants), which `exact` is, for any number of steps."""
    found, true = known(name, release(sigma, steps), delta), exact(sigma, steps, delta)
    if name == "exact":
        assert found is not None
    if found is not None and name != "paper":
        assert found >= true * (1 - 1e-9)
    if found:
        reached = gaussian.log_delta(math.sqrt(steps) / sigma, found) if name == "exact" else math.log(delta)
        assert reached == pytest.approx(math.log(delta), rel=1e-9, abs=1e-9 + 1e-15 * steps / sigma**2)


@examples(60)
@given(
    kind=st.sampled_from(["poisson", FIXED, "with_replacement"]), rate=RATES, sigma=SIGMAS, steps=STEPS, delta=DELTAS
)
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_on_samples(name: str, kind: str, rate: float, sigma: float, steps: int, delta: float) -> None:
    known(name, release(sigma, steps, kind, rate), delta)


@examples(15)
@given(rate=RATES | st.just(1.0), sigma=SIGMAS, steps=STEPS, delta=DELTAS)
def test_renyi_is_between_what_is_proven(rate: float, sigma: float, steps: int, delta: float) -> None:
    """Between the exact ε of one batch and that of full batches, which is within 0.5 % of the best of all orders."""
    sampled, full = (
        known("rdp", release(sigma, steps, "poisson", rate), delta),
        known("rdp", release(sigma, steps), delta),
    )
    assert full is not None
    assert sampled is not None
    assert exact(sigma, steps, delta) * (1 - 1e-9) <= full <= best_order(steps / sigma**2 / 2, delta) * 1.005
    assert single(sigma, rate, delta) * (1 - 1e-6) <= sampled <= full * (1 + 1e-6)


def best_order(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke's bound for divergence α ρ at the best order 1 + t: ρ + log(δ (1 + t))/t² = 0."""
    if delta**2 + math.expm1(-rho) > 0:
        return 0.0
    top = math.log(math.sqrt(-math.log(delta) / rho))
    t = math.exp(optimize.brentq(lambda x: rho * math.exp(2 * x) + math.log(delta) + np.logaddexp(0, x), -80, top))
    return max(0.0, rho * (1 + t) + math.log(t / (1 + t)) - (math.log(delta) + math.log1p(t)) / t)


@examples(3, deadline=None)
@given(rate=powers(1e-6, 0.9), sigma=powers(0.3, 1e3), steps=powers(1, 1e6).map(round), delta=powers(1e-100, 0.5))
@example(rate=1e-5, sigma=6.49, steps=263, delta=2.48e-6)  # twice the best, were orders doubled from 63 on
@example(rate=9e-6, sigma=13.6, steps=86, delta=3e-10)
def test_renyi_has_the_best_order(rate: float, sigma: float, steps: int, delta: float) -> None:
    """Against a search of twice as many orders on either side of the best one."""
    tried: list[float] = []

    def lowest(at: Callable[[int], float], low: int, high: int) -> int:
        tried.append(renyi.ORDERS[found := search(at, low, high)])
        return found

    search = renyi.lowest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renyi, "lowest", lowest)
        found = renyi.epsilon(steps, rate, sigma, delta)
    for t in tried[0] * np.geomspace(0.97, 1.03, 41) if tried else ():
        kept = math.log(t) - math.log1p(t) - (math.log(delta) + math.log1p(t)) / t
        assert found <= max(0.0, steps * renyi.divergence(t, rate, sigma) + kept) * 1.005 + 1e-12


def single(sigma: float, rate: float, delta: float) -> float:
    """The exact ε of one Poisson batch, from which a record is removed."""
    rate = max(1, round(rate * RECORDS)) / RECORDS
    if delta >= rate:
        return 0.0
    inner = gaussian.epsilon(1 / sigma, delta / rate)
    return inner + math.log(rate + (1 - rate) * math.exp(-inner)) if inner > 1 else math.log1p(rate * math.expm1(inner))


@examples(25)
@given(order=st.integers(2, 60), rate=RATES, sigma=SIGMAS)
@example(order=43, rate=0.005, sigma=0.002)  # one maximum in an interval of 20,000
def test_moments_of_integer_orders(order: int, rate: float, sigma: float) -> None:
    """Against the sum of positive terms, with 40 digits."""
    assume(rate < 1)
    with mpmath.workdps(40):
        q, double = mpmath.mpf(rate), 2 * mpmath.mpf(sigma) ** 2
        terms = (
            mpmath.binomial(order, i) * (1 - q) ** (order - i) * q**i * mpmath.expm1((i * i - i) / double)
            for i in range(2, order + 1)
        )
        true = float(mpmath.log1p(mpmath.fsum(terms)))
    assert renyi.poisson_log_moment(order - 1, rate, sigma) == pytest.approx(true, rel=1e-11)


@pytest.mark.parametrize(
    ("t", "rate", "sigma"), [(1e-6, 0.3, 2.0), (0.37, 1e-4, 0.7), (2.5, 0.9, 30.0), (7.3, 0.01, 1e4)]
)
def test_moments_of_other_orders(t: float, rate: float, sigma: float) -> None:
    with mpmath.workdps(30):

        def excess(y: Any) -> Any:
            u = rate * mpmath.expm1(y / sigma - 1 / (2 * mpmath.mpf(sigma) ** 2))
            return mpmath.npdf(y) * ((1 + u) ** (1 + t) - 1 - (1 + t) * u)

        points = [-14, -4, 0, 4, *((1 + t) / sigma + shift for shift in (0, 4, 14))]
        true = float(mpmath.log1p(mpmath.quad(excess, sorted(points))))
    assert renyi.poisson_log_moment(t, rate, sigma) == pytest.approx(true, rel=1e-9)


@examples(4, deadline=None)
@given(sigma=powers(1e-2, 1e9), steps=STEPS, delta=DELTAS)
def test_loss_distributions_of_full_batches(sigma: float, steps: int, delta: float) -> None:
    """Within 0.2 % of the exact curve, or 1e-9."""
    found, true = known("pld", release(sigma, steps), delta), exact(sigma, steps, delta)
    if found is None:
        assert delta < 1e-12 or math.sqrt(steps) / sigma > 7000
    else:
        assert true * (1 - 1e-9) - 1e-12 <= found <= true * 1.002 + 1e-9


@examples(3, deadline=None)
@given(rate=RATES, sigma=powers(0.3, 1e9), steps=powers(1, 1e3).map(round), delta=powers(1e-13, 0.9))
def test_loss_distributions_of_samples(rate: float, sigma: float, steps: int, delta: float) -> None:
    """At least the exact ε of one batch, at most 1 % above that by Rényi divergences and that of full batches."""
    found = known("pld", release(sigma, steps, "poisson", rate), delta)
    assume(found is not None)
    assert found is not None
    if delta > 1e-10:
        assert found >= single(sigma, rate, delta) * (1 - 1e-6) - 1e-9
    assert found <= epsilon("rdp", release(sigma, steps, "poisson", rate), delta) * 1.01 + 1e-9
    assert found <= exact(sigma, steps, delta) * 1.01 + 1e-9


@pytest.mark.parametrize(("sigma", "rate", "delta"), [(1e-6, 1e-5, 1e-200), (0.3, 0.9, 1e-5), (1e5, 0.9, 0.01)])
def test_fixed_sizes_at_the_ends(sigma: float, rate: float, delta: float) -> None:
    found = known("rdp", release(sigma, 10**6, FIXED, rate), delta)
    assert found is not None
    assert single(sigma, rate, delta) <= found <= epsilon("rdp", release(sigma, 10**6), delta) * (1 + 1e-9)


def test_dp_accounting_takes_the_noise_relative_to_the_distance_of_replaced_records() -> None:
    """Of order 2, T steps have T log(1 + q² min(4(e^(1/σ²) - 1), 2e^(1/σ²))) (Wang, Balle and Kasiviswanathan 2019,
    Theorem 27). A `Sampling` counts the distance twice already; a version that doubles it, too, is not for us."""
    rate, sigma, steps = 1e-3, 2.0, 10**6
    batches = dp_accounting.SampledWithoutReplacementDpEvent(1000, 1, dp_accounting.GaussianDpEvent(sigma))
    spent = []
    for count in (steps, 2 * steps):
        accountant = rdp.RdpAccountant([2.0], dp_accounting.NeighboringRelation.REPLACE_ONE)
        spent.append(accountant.compose(batches, count).get_epsilon(1e-5))
    once = min(4 * math.expm1(1 / sigma**2), 2 * math.exp(1 / sigma**2))
    assert spent[1] - spent[0] == pytest.approx(steps * math.log1p(rate**2 * once), rel=1e-6)


def test_a_floor_is_named() -> None:
    with pytest.raises(FloorError, match=r"how far ε is below 1.33 at delta=1e-300.*orders end at 1024; use classical"):
        epsilon("rdp", release(1e4, 10, FIXED, 1e-3), 1e-300)
    with pytest.raises(RefusedError, match=r"needs σ <= 1e.06 times the sensitivity .* use classical"):
        epsilon("rdp", release(1e7, 10, FIXED, 1e-3), 1e-5)


@pytest.mark.parametrize("goal", [1e-4, 0.009, 0.011, 0.5])
def test_calibration_above_a_floor(goal: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is found where ε is above the floor, although more noise is not accounted; below it, the error is seen."""

    def floored(own: Steps, delta: float) -> Guarantee:
        if (found := exact(own.multiplier, own.count, delta)) < 0.01:
            raise FloorError("use another", 0.01)
        return Guarantee(found, delta)

    monkeypatch.setitem(ACCOUNTANTS, "rdp", floored)
    if goal < 0.01:
        with pytest.raises(FloorError, match="use another"):
            calibrated_sigma("rdp", release(1.0, 10), goal, 1e-5)
    else:
        sigma = calibrated_sigma("rdp", release(1.0, 10), goal, 1e-5)
        assert sigma == pytest.approx(math.sqrt(10) / gaussian.mu(goal, 1e-5), rel=2e-5)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("poisson", "pld"),
        *((kind, name) for kind in ("poisson", FIXED) for name in ("exact", "rdp", "paper", "classical")),
    ],
)
def test_whole_batches_are_no_samples(kind: str, name: str) -> None:
    """Where each record is in each batch, ε is that of full batches."""
    same = epsilon(name, release(60.0, 12, kind, 1.0), 1e-5)
    assert same == pytest.approx(epsilon(name, release(60.0, 12), 1e-5), rel=1e-3)


def test_batches_with_replacement_are_never_whole() -> None:
    """A record may be in such a batch several times, so that the exact curve would be too low."""
    with pytest.raises(RefusedError, match="with_replacement"):
        epsilon("exact", release(60.0, 12, "with_replacement", 1.0), 1e-5)


@examples(30)
@given(name=st.sampled_from(["paper", "advanced", "classical", "exact", "rdp"]), steps=STEPS, delta=DELTAS, goal=GOALS)
def test_calibration(name: str, steps: int, delta: float, goal: float) -> None:
    """ε is at most the goal, and above it with 1 % less noise."""
    sigma = calibrated_sigma(name, release(1.0, steps), goal, delta)
    assert epsilon(name, release(sigma, steps), delta) <= goal
    less = known(name, release(sigma * 0.99, steps), delta)
    assert less is None or less > goal
    if name == "exact":
        assert sigma == pytest.approx(math.sqrt(steps) / gaussian.mu(goal, delta), rel=2e-5)
    if name == "rdp":
        assert 1 - 1e-5 <= sigma / math.sqrt(steps) * gaussian.mu(goal, delta) < 2.5


@examples(3, deadline=None)
@given(rate=RATES, steps=powers(1, 1e9).map(round), delta=DELTAS, goal=GOALS)
def test_calibration_of_samples(rate: float, steps: int, delta: float, goal: float) -> None:
    sigma = calibrated_sigma("rdp", release(1.0, steps, "poisson", rate), goal, delta)
    assert epsilon("rdp", release(sigma, steps, "poisson", rate), delta) <= goal
    less = known("rdp", release(sigma * 0.99, steps, "poisson", rate), delta)
    assert less is None or less > goal
    assert sigma <= calibrated_sigma("rdp", release(1.0, steps), goal, delta) * (1 + 1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: epsilon("pld", release(1.0, 1), 1e-16),
            "pld needs delta >= 1e-12 for 1 steps, not 1e-16.*; use exact",
        ),
        (lambda: epsilon("pld", release(1.0, 10**6, "poisson", 0.1), 1e-10), r"needs delta >= 1e-09 .*; use rdp"),
        (lambda: epsilon("pld", release(1.0, 10**7, "poisson", 0.1), 1e-5), r"at most 1,000,000 steps.*; use rdp"),
        (lambda: calibrated_sigma("pld", release(1.0, 1), 1.0, 1e-16), "pld needs delta >= 1e-12"),
        (lambda: epsilon("pld", release(1e-6, 1), 1e-5), "use more noise, or accountant=exact"),
        (lambda: epsilon("classical", release(1e-3, 1), 1e-5), r"step's 0 <= ε <= 600.*or accountant=exact"),
        (lambda: epsilon("classical", release(1.0, 10**20), 1e-300), "divides δ.*use exact"),
        (lambda: epsilon("exact", release(1e-60, 1), 1e-5), "sigma=1e-60 over sensitivity=1 must be >= 1e-50"),
        (lambda: epsilon("exact", release(1.0, 10**400), 1e-5), "more than 1e.50 steps"),
        (lambda: calibrated_sigma("exact", release(1.0, 1), 1e80, 1e-5), "epsilon=1e.80 is so large"),
    ],
)
def test_limits_are_named(call: Callable[[], float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_was_reported() -> None:
    """The exact answer by orders that go far enough; zero where there is no loss; seconds where it had hung."""
    assert calibrated_sigma("rdp", GaussianRelease(1, 1), 0.003, 1e-5) < 2.5 / gaussian.mu(0.003, 1e-5)
    assert epsilon("classical", GaussianRelease(1, 1e6), 1e-5) == 0.0
    small = Composed(SampledGaussian(GaussianRelease(1, 0.5), Sampling("poisson", 10, 10**6), "add_remove"), 1000)
    assert single(0.5, 1e-5, 1e-6) < epsilon("pld", small, 1e-6) < epsilon("rdp", small, 1e-6)


@pytest.mark.parametrize("multiplier", [0.0265, 0.0266, 0.02665, 0.0267, 0.0268])
def test_losses_near_the_end_of_exponentials(multiplier: float) -> None:
    """Where ε is about 710, and dp-accounting divides by a probability that is no normal float."""
    assert epsilon("pld", release(multiplier, 1), 0.3) == pytest.approx(exact(multiplier, 1, 0.3), rel=2e-3)


def test_accountants_that_are_wrong_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders that end at 1024, half of the divergence, and batches that cost nothing."""
    check: Any = test_renyi_is_between_what_is_proven.hypothesis.inner_test  # type: ignore[attr-defined]
    whole, batches = (1.0, 1e4, 1, 1e-5), (0.01, 2.0, 1, 1e-5)
    broken: list[tuple[str, Any, tuple[float, ...]]] = [
        ("ORDERS", [t for t in renyi.ORDERS if 0.1 <= t < 1024], whole),
        ("divergence", lambda t, rate, sigma: (1 + t) / (4 * sigma**2), (1.0, 1.0, 1, 1e-5)),
        ("poisson_log_moment", lambda t, rate, sigma: 0.0, batches),
    ]
    for name, wrong, arguments in broken:
        check(*arguments)
        with monkeypatch.context() as patch:
            patch.setattr(renyi, name, wrong)
            with pytest.raises(AssertionError):
                check(*arguments)
