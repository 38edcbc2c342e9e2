"""Decentralised double-blind learning, against loops over nodes and links."""

from itertools import islice

import networkx as nx
import numpy as np
import pytest

from sketchbench.federated.decentralised import average_by_gossip, average_by_relaying
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


def test_a_ring_has_three_nodes_or_more() -> None:
    with pytest.raises(ValueError, match="nodes=2 must be >= 3"):
        Ring(nodes=2, outputs=1, samples=1, heterogeneity=0)


# Averaging over graphs, against messages passed one by one


def passed_on(graph: nx.Graph, messages: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """Every node's mean, and all bytes sent, round by round, with a set of messages for each node."""
    known = {node: {node} for node in graph}
    new = {node: {node} for node in graph}
    seen, sent = [], 0
    while any(new.values()):
        seen.append((np.array([messages[sorted(known[n])].mean(0) for n in graph]), sent))
        heard: dict[int, set[int]] = {node: set() for node in graph}
        for node in graph:
            for neighbour in graph[node]:
                heard[neighbour] |= new[node]
                sent += len(new[node]) * messages[0].nbytes
        new = {node: heard[node] - known[node] for node in graph}
        known = {node: known[node] | heard[node] for node in graph}
    return seen


@pytest.mark.parametrize(
    "graph",
    [nx.cycle_graph(7), nx.star_graph(5), nx.complete_graph(4), nx.path_graph(6)],
    ids=["ring", "star", "complete", "path"],
)
def test_relaying(graph: nx.Graph) -> None:
    messages = np.random.default_rng(0).standard_normal((len(graph), 3))
    talks = list(average_by_relaying(graph, messages))
    expected = passed_on(graph, messages)
    assert len(talks) == len(expected) == nx.diameter(graph) + 1
    for t, (talk, (means, sent)) in enumerate(zip(talks, expected, strict=True)):
        assert (talk.t, talk.bytes) == (t, sent)
        np.testing.assert_allclose(talk.means, means, atol=1e-14)
    np.testing.assert_allclose(talks[-1].means, np.tile(messages.mean(0), (len(graph), 1)))


def test_gossip_keeps_the_mean_and_approaches_it() -> None:
    graph = nx.path_graph(5)
    messages = np.random.default_rng(1).standard_normal((5, 2))
    talks = list(islice(average_by_gossip(graph, messages), 100))
    for talk in talks:
        np.testing.assert_allclose(talk.means.mean(0), messages.mean(0), atol=1e-14)
    assert abs(talks[-1].means - messages.mean(0)).max() < 1e-3
    assert talks[2].bytes == 2 * 2 * 4 * messages[0].nbytes


def test_bad_graphs() -> None:
    messages = np.zeros((4, 2))
    pieces = nx.Graph([(0, 1), (2, 3)])
    loops = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 3)])
    for graph, message in (
        (nx.path_graph(3), "4 messages need as many nodes, not 3"),
        (pieces, "the graph is in pieces"),
        (loops, "the graph has loops"),
    ):
        with pytest.raises(ValueError, match=message):
            next(average_by_relaying(graph, messages))
