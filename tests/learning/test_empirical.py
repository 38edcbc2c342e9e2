"""Gradients of batches, against those of single records; bounds on them; records and held-out samples."""

import functools

import numpy as np
import pytest

from sketchbench.kernels import load
from sketchbench.learning.objective.canary import Canary
from sketchbench.learning.objective.logistic import Logistic

CLIENTS, SAMPLES = 4, 375  # records of a client


@functools.cache
def digits() -> Logistic:
    return Logistic(load("numpy"), CLIENTS, 0, ridge=0.1, held_out=297)


def weights(scale: float = 3.0) -> np.ndarray:
    return scale * np.random.default_rng(0).standard_normal((2, CLIENTS, 650))


def single(w: np.ndarray, record: int) -> np.ndarray:
    """The gradient of this record of every client, without the ridge."""
    shares = np.zeros((2, CLIENTS, SAMPLES))
    shares[..., record] = 1.0
    return digits().batch_gradients(w, shares) - 0.1 * w


@pytest.mark.parametrize("taken", [3, SAMPLES])
def test_a_batch_is_the_sum_of_its_records(taken: int) -> None:
    """Few records are looked up, most are not; both are sums, with different batches in each trial."""
    random = np.random.default_rng(1)
    w, shares = weights(), np.zeros((2, CLIENTS, SAMPLES))
    for place in np.ndindex(2, CLIENTS):
        shares[place][random.permutation(SAMPLES)[:taken]] = random.random(taken)
    expected = 0.1 * w
    for record in np.flatnonzero(shares.any(axis=(0, 1))):
        expected = expected + shares[..., record, None] * single(w, int(record))
    np.testing.assert_allclose(digits().batch_gradients(w, shares), expected, atol=1e-12)


def test_all_records_in_equal_shares_are_the_gradient() -> None:
    w = weights()
    shares = np.full((2, CLIENTS, SAMPLES), 1 / SAMPLES)
    np.testing.assert_allclose(digits().batch_gradients(w, shares), digits().gradients(w))


@pytest.mark.parametrize("scale", [0.0, 3.0, 1000.0])
def test_no_record_exceeds_the_bound(scale: float) -> None:
    """√2, which weights that are sure of the wrong class come near to."""
    norms = [np.linalg.norm(single(weights(scale), i), axis=-1).max() for i in range(0, 375, 25)]
    assert max(norms) <= digits().record_bound + 1e-12
    if scale == 1000.0:
        assert max(norms) > 0.99 * digits().record_bound


@pytest.mark.parametrize("bound", [0.05, 0.5])
def test_clipping(bound: float) -> None:
    """Longer gradients get this norm and keep their direction; shorter ones stay."""
    w = weights()
    for record in (0, 7):
        free = single(w, record)
        shares = np.zeros((2, CLIENTS, SAMPLES))
        shares[..., record] = 1.0
        clipped = digits().batch_gradients(w, shares, bound) - 0.1 * w
        norm = np.linalg.norm(free, axis=-1, keepdims=True)
        np.testing.assert_allclose(clipped, free * np.minimum(1, bound / norm), atol=1e-12)


def test_records_are_dealt_out_once() -> None:
    objective = digits()
    assert objective.records.shape == (CLIENTS, SAMPLES)
    assert np.unique(objective.records).size == CLIENTS * SAMPLES


def test_accuracy_is_that_of_samples_held_out() -> None:
    objective = digits()
    assert 0.6 < float(objective.accuracy(objective.minimiser)) < 1
    assert float(objective.accuracy(np.zeros(650))) < 0.2
    assert objective.accuracy(weights()).shape == (2, CLIENTS)
    with pytest.raises(ValueError, match="held_out=0 leaves no samples"):
        Logistic(load("numpy"), 2, 0).accuracy(np.zeros(650))


def test_the_canary_alone_is_seen() -> None:
    canary = np.array([3.0, 0.0, 4.0])
    objective = Canary(load("numpy"), canary, clients=2, records=5)
    shares = np.zeros((1, 2, 5))
    shares[..., 0] = 2.0
    w = np.ones((1, 2, 3))
    found = objective.batch_gradients(w, shares)
    np.testing.assert_allclose(found[0], [[6.0, 0.0, 8.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(objective.batch_gradients(w, shares, 1.0), found / 5)
    step = objective.loss(w[0, 0] + np.array([1e-3, 0, 0])) - objective.loss(w[0, 0])
    assert step / 1e-3 == pytest.approx(3.0 / 10)
    np.testing.assert_allclose(objective.gradient(np.ones(3)), canary / 10)
