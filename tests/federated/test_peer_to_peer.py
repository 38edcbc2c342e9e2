"""Decentralised double-blind learning, against loops over nodes and links."""

import numpy as np
import pytest

from sketchbench.federated.peer_to_peer import (
    PeerRound,
    PeerToPeer,
    estimate_from_own,
    estimate_nearest,
    estimate_unbiased,
)
from sketchbench.task.double_blind.peer_to_peer import Ring

NODES, OUT, D, B = 4, 2, 5, 3
RANDOM = np.random.default_rng(1)
WEIGHTS = RANDOM.standard_normal((NODES, OUT, D))
FEATURES = RANDOM.standard_normal((NODES, 7, D))
LABELS = RANDOM.standard_normal((NODES, 7, OUT))
SKETCHES = RANDOM.standard_normal((4, NODES, B, D))


def test_rounds() -> None:
    """Every node by itself, with its two links."""
    expected = WEIGHTS.copy()
    for at in PeerToPeer(rounds=3, rate=0.1, mixing=0.2).run(WEIGHTS, FEATURES, LABELS, lambda t: SKETCHES[t]):
        np.testing.assert_allclose(at.weights, expected)
        R = SKETCHES[at.t]
        np.testing.assert_allclose(at.sent, [expected[i] @ R[i].T for i in range(NODES)])
        old = expected.copy()
        for i in range(NODES):
            after, before = (i + 1) % NODES, (i - 1) % NODES
            expected[i] += 0.2 * (old[after] - old[i]) @ R[i].T @ R[i]
            expected[i] += 0.2 * (old[before] - old[i]) @ R[before].T @ R[before]
            for x, y in zip(FEATURES[i], LABELS[i], strict=True):
                expected[i] -= 0.1 * np.outer(old[i] @ x - y, x) / 7
    assert at.t == 3


def seen(weights: np.ndarray, R: np.ndarray) -> PeerRound:
    return PeerRound(0, weights, R, weights @ R.transpose(0, 2, 1))


def test_estimates() -> None:
    """By the projection onto the rows of R, from the QR decomposition."""
    at = seen(WEIGHTS, SKETCHES[0])
    basis, _ = np.linalg.qr(SKETCHES[0, 0].T)
    P = basis @ basis.T
    np.testing.assert_allclose(estimate_unbiased(at), WEIGHTS[0] @ SKETCHES[0, 0].T @ SKETCHES[0, 0])
    np.testing.assert_allclose(estimate_nearest(at), WEIGHTS[0] @ P)
    np.testing.assert_allclose(estimate_from_own(at), WEIGHTS[0] @ P + WEIGHTS[1] @ (np.eye(D) - P))


def test_whoever_has_the_same_weights_knows_them() -> None:
    same = np.broadcast_to(WEIGHTS[:1], WEIGHTS.shape)
    np.testing.assert_allclose(estimate_from_own(seen(same, SKETCHES[0])), WEIGHTS[0])


def test_a_ring_has_three_nodes_or_more() -> None:
    with pytest.raises(ValueError, match="nodes=2 must be >= 3"):
        Ring(nodes=2, outputs=1, samples=1, heterogeneity=0)
