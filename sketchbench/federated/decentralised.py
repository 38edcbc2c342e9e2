"""Averaging without a server: the nodes of a graph exchange messages with their neighbours only (song2023 §4)."""

from collections.abc import Iterator
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sketchbench.learning.dataset.arrays import check_array
from sketchbench.measure.numbers import check_finite

Vectors = NDArray[np.float64]


class Talk(NamedTuple):
    """The state after t = 0, 1, ... rounds."""

    t: int
    means: Vectors  # every node's estimate of the mean, (N, b)
    bytes: int  # bytes that all nodes together have sent so far


def average_by_relaying(graph: nx.Graph, messages: Vectors) -> Iterator[Talk]:
    """Average by relaying: yield the state after each round until no node receives a new message. O(N² b) a round.

    A node passes each message on to all its neighbours in the round after it first received it. Its estimate is the
    mean of its received messages. Raises ValueError for a graph with loops, directions or in pieces, or another number
    of messages than nodes.

    Arguments:
        graph: connected, undirected, without loops, of N nodes; weights of edges are ignored.
        messages: float64 (N, b), finite, the nodes' own messages, in the order of the nodes.
    """
    return _relay(_adjacency(graph, messages), messages)


def _relay(adjacency: NDArray[np.bool_], messages: Vectors) -> Iterator[Talk]:
    known = np.eye(len(messages), dtype=bool)
    new, t, sent = known, 0, 0
    while new.any():
        yield Talk(t, known @ messages / known.sum(axis=1, keepdims=True), sent)
        sent += int((adjacency.sum(axis=1) @ new).sum()) * messages[0].nbytes
        received = adjacency @ new
        new = received & ~known
        known = known | received
        t += 1


def average_by_gossip(graph: nx.Graph, messages: Vectors) -> Iterator[Talk]:
    """Average by gossip: in each round a node replaces its estimate by a weighted mean of its own and its neighbours'.
    The weights are Metropolis weights. The estimates approach the mean, and never reach it; the rounds never end.
    Arguments and errors are those of `average_by_relaying`. O(N² b) a round."""
    return _gossip(_adjacency(graph, messages), messages)


def _gossip(adjacency: NDArray[np.bool_], messages: Vectors) -> Iterator[Talk]:
    degrees = adjacency.sum(axis=1)
    weights = adjacency / (1.0 + np.maximum(degrees, degrees[:, None]))
    np.fill_diagonal(weights, 1 - weights.sum(axis=1))
    means, t, sent = messages, 0, 0
    while True:
        yield Talk(t, means, sent)
        means = weights @ means
        sent += int(degrees.sum()) * messages[0].nbytes
        t += 1


def _adjacency(graph: nx.Graph, messages: Vectors) -> NDArray[np.bool_]:
    """The adjacency matrix (N, N) of a graph. Raises ValueError for a graph that can't average N messages."""
    check_array("messages", messages, np.float64, "N", "b")
    check_finite("messages", messages)
    if not messages.size:
        raise ValueError(f"messages {messages.shape} must not be empty")
    if len(graph) != len(messages):
        raise ValueError(f"{len(messages)} messages need as many nodes, not {len(graph)}")
    if graph.is_directed():
        raise ValueError("the graph has directions, and both nodes of an edge send; make it undirected")
    if not nx.is_connected(graph):
        raise ValueError("the graph is in pieces that can never agree; connect them")
    if nx.number_of_selfloops(graph):
        raise ValueError("the graph has loops, edges from a node to itself; remove them")
    return nx.to_numpy_array(graph, weight=None).astype(bool)
