"""Thresholds of tails and inner products against the text of song2023, Appendix D."""

import math
from collections.abc import Callable

import exhaustive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.theory import inner_product, tail

deltas = st.floats(1e-9, 0.5)
dimensions = st.integers(2, 10**6)
sizes = st.integers(1, 10**5)
# The union over n^2 pairs of the bound that each proof has for one of them, at threshold t.
UNIONS: dict[str, tuple[Callable[..., float], Callable[..., float]]] = {
    "gaussian": (inner_product.derived_gaussian, lambda t, n, b: n**2 * 2 * math.exp(-b / 4 * min(t**2, t))),
    "hadamard": (inner_product.derived_hadamard, lambda t, n, b: n**2 * 4 * math.exp(-(t**2) * b / 8)),
    "ams": (inner_product.derived_ams, lambda t, n, b: n**2 * 2 * math.exp(-(t**2) * b / 2)),
    "sparse": (
        lambda delta, *, d, b: inner_product.derived_sparse(delta, d=d, b=10**6, s=b),
        lambda t, n, s: n**2 * 2 * math.exp(-(t**2) * s / 2),
    ),
}


def test_values_of_the_lemmas() -> None:
    """At d/delta = e^4, b = 16 and s = 9, where each is a round number."""
    d, delta = 32, 32 * math.exp(-4)
    assert tail.dense(delta, d=d, b=16) == pytest.approx(4**1.5 / 4)
    assert tail.sparse(delta, d=d, b=16, s=9) == pytest.approx(4**1.5 / 3)
    assert tail.count_sketch(math.exp(-3), d=d, b=16) == pytest.approx(3)
    assert tail.count_sketch_chebyshev(0.01, d=d, b=16) == pytest.approx(2.5)
    assert tail.uniform_sampling(0.01, d=64, b=16) == 5
    assert inner_product.printed(delta, d=d, b=16) == pytest.approx(2 / 4)
    assert inner_product.printed_sparse(delta, d=d, b=16, s=9) == pytest.approx(2 / 3)
    assert inner_product.count_sketch() == 1


@pytest.mark.parametrize("kind", UNIONS)
@given(deltas, dimensions, sizes)
def test_derived_thresholds_do_what_they_are_for(kind: str, delta: float, d: int, b: int) -> None:
    threshold, union = UNIONS[kind]
    t = threshold(delta, d=d, b=b)
    assert union(t, d, b) == pytest.approx(delta, rel=1e-8)
    assert union(0.999 * t, d, b) > delta


@pytest.mark.parametrize("kind", ["gaussian", "hadamard", "ams"])
@given(deltas, dimensions, sizes)
def test_printed_thresholds_are_below_the_derived(kind: str, delta: float, d: int, b: int) -> None:
    assert inner_product.printed(delta, d=d, b=b) < UNIONS[kind][0](delta, d=d, b=b)


def test_printed_sparse_is_below_the_derived() -> None:
    for delta in (0.5, 0.01, 1e-6):
        printed = inner_product.printed_sparse(delta, d=100, b=50, s=4)
        assert printed < inner_product.derived_sparse(delta, d=100, b=50, s=4)


def largest_inner_products(matrices: np.ndarray) -> np.ndarray:
    gram = abs(matrices.swapaxes(1, 2) @ matrices)
    gram[:, range(gram.shape[1]), range(gram.shape[1])] = 0
    return gram.max(axis=(1, 2))


def test_count_sketch_inner_products() -> None:
    """At most 1 in every draw, and reached (song2023 Lemma D.21)."""
    largest = largest_inner_products(exhaustive.count_sketch(3, 2).matrices)
    assert largest.max() == inner_product.count_sketch()


@pytest.mark.parametrize("delta", [0.5, 0.3, 0.2])
def test_derived_threshold_holds_of_all_small_operators(delta: float) -> None:
    """Some AMS matrices reach it, and at most a share delta of them."""
    distribution = exhaustive.ams(2, 8)
    threshold = inner_product.derived_ams(delta, d=2, b=8)
    reached = largest_inner_products(distribution.matrices) >= threshold
    assert 0 < distribution.weights @ reached <= delta


def test_uniform_sampling_tail_is_never_exceeded() -> None:
    """song2023 Lemma D.28, and it is nearly reached where b of d spikes are missed or kept."""
    distribution = exhaustive.uniform_sampling(5, 1)
    limit = tail.uniform_sampling(0.1, d=5, b=1)
    pairs = [*np.random.default_rng(0).standard_normal((50, 2, 5)), np.eye(5)[[0, 0]]]
    worst = 0.0
    for g, h in pairs:
        scale = np.linalg.norm(g) * np.linalg.norm(h)
        worst = max(worst, float(abs(distribution.errors(g, h)).max() / scale))
    assert limit - 2.001 < worst <= limit


@pytest.mark.parametrize("delta", [0.4, 0.3, 0.25])
def test_tails_hold_of_all_small_operators(delta: float) -> None:
    """Some CountSketches and AMS matrices exceed the threshold, and at most 2 delta of them."""
    for draw, threshold in (
        (exhaustive.count_sketch(4, 2), tail.count_sketch),
        (exhaustive.count_sketch(4, 2), tail.count_sketch_chebyshev),
        (exhaustive.ams(3, 4), tail.dense),
    ):
        d, level = draw.d, threshold(delta, d=draw.d, b=draw.b)
        shares = []
        for g, h in [*np.random.default_rng(1).standard_normal((10, 2, d)), np.ones((2, d))]:
            scale = np.linalg.norm(g) * np.linalg.norm(h)
            shares.append(draw.weights @ (abs(draw.errors(g, h)) >= level * scale))
        assert 0 < max(shares) <= 2 * delta
