"""Averaging without a server: nodes of a graph talk to their neighbours only (song2023 §4)."""

from collections.abc import Iterator
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float64]


class Talk(NamedTuple):
    """After t = 0, 1, ... rounds: what every node holds for the mean, (N, b), and the bytes that all
    nodes have sent so far."""

    t: int
    means: Vectors
    bytes: int


def relayed(graph: nx.Graph, messages: Vectors) -> Iterator[Talk]:
    """Every node passes on, to all its neighbours, what it heard first in the last round; it holds the mean of
    the messages that it knows. Ends when nobody has heard anything new.

    messages: (N, b), of the nodes in order. O(N² b) a round.
    """
    adjacency = _adjacency(graph, messages)
    known = np.eye(len(messages), dtype=bool)
    new, t, sent = known, 0, 0
    while new.any():
        yield Talk(t, known @ messages / known.sum(axis=1, keepdims=True), sent)
        sent += int((adjacency.sum(axis=1) @ new).sum()) * messages[0].nbytes
        heard = adjacency @ new
        new = heard & ~known
        known = known | heard
        t += 1


def gossiped(graph: nx.Graph, messages: Vectors) -> Iterator[Talk]:
    """Every node replaces what it holds by a weighted mean of its own and its neighbours', with Metropolis
    weights; it holds the mean in the limit only. Does not end.

    messages: (N, b). O(N² b) a round.
    """
    adjacency = _adjacency(graph, messages)
    degrees = adjacency.sum(axis=1)
    weights = adjacency / (1.0 + np.maximum(degrees, degrees[:, None]))
    np.fill_diagonal(weights, 1 - weights.sum(axis=1))
    held, t, sent = messages, 0, 0
    while True:
        yield Talk(t, held, sent)
        held = weights @ held
        sent += int(degrees.sum()) * messages[0].nbytes
        t += 1


def _adjacency(graph: nx.Graph, messages: Vectors) -> NDArray[np.bool_]:
    """Raises ValueError for a graph with loops or in pieces, or with another number of nodes than messages."""
    if len(graph) != len(messages):
        raise ValueError(f"{len(messages)} messages need as many nodes, not {len(graph)}")
    if not nx.is_connected(graph):
        raise ValueError("the graph is in pieces, which can never agree; connect it")
    if nx.number_of_selfloops(graph):
        raise ValueError("the graph has loops; a node does not talk to itself")
    return nx.to_numpy_array(graph, dtype=bool)
