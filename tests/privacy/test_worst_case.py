"""The worst mechanisms: against lists of all that can come out, and no more private than they should be."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.privacy import gaussian
from sketchbench.privacy.worst_case import composed_epsilon, sampled_epsilon

SHARES = (0.05, 0.3, 0.7, 0.95)  # of the way from the least possible δ to that at ε = 0


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def response(each: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Chances of (it is 1; perhaps 1; perhaps 0; it is 0), where the bit is 1 and where it is 0."""
    odds = math.exp(each)
    one = np.array([delta, (1 - delta) * odds / (1 + odds), (1 - delta) / (1 + odds), 0.0])
    return one, one[::-1]


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize(("each", "delta"), [(0.3, 0.0), (0.5, 0.01), (1.0, 1e-4)])
def test_responses_one_by_one(each: float, delta: float, times: int) -> None:
    """All 4^k sequences of answers."""
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
