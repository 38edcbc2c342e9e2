"""The number of rounds until all nodes of a graph know the mean of their sketches."""

import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, NonEmptyList, Range
from sketchbench.federated.decentralised import Talk, average_by_gossip, average_by_relaying
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family

log = logging.getLogger(__name__)

GraphName = Literal["ring", "grid", "star", "complete"]
GRAPHS: dict[GraphName, Callable[[int], nx.Graph]] = {
    "ring": nx.cycle_graph,
    "grid": lambda n: nx.convert_node_labels_to_integers(nx.grid_2d_graph(math.isqrt(n), math.isqrt(n))),
    "star": lambda n: nx.star_graph(n - 1),
    "complete": nx.complete_graph,
}
EXACT = 1e-9  # relative distance that rounding can explain


@dataclass(frozen=True)
class Consensus(Checked):
    """Measures after how many rounds every node of a graph knows the mean of all nodes' sketches (song2023 §4).

    Each node starts with the sketch of a random vector, all by one operator, and exchanges messages with its neighbours
    only. The numbers have no spread: they depend on the graph alone. Raises ValueError for a number of nodes that is
    not a square.

    Rows for each graph (`case`) and number of `nodes`:
        relayed: rounds until all nodes have the mean up to rounding, by passing on each other's messages; bound: the
            graph's diameter.
        gossiped: rounds until all nodes have the mean up to `tolerance`, by averaging with their neighbours; bound:
            ln(1/tolerance) times the diameter.
        bytes: bytes that a node has sent by the end of the relaying, in the mean over the nodes.

    Arguments:
        graphs: names of graphs.
        nodes: numbers of nodes, squares of at least 4, so that a grid has as many rows as columns.
        tolerance: the largest distance of a node's estimate from the mean, relative to the largest norm of a sketch.
    """

    family: Family
    kernels: Kernels
    seed: int
    graphs: NonEmptyList[GraphName]
    nodes: NonEmptyList[Annotated[int, Range(4)]]
    tolerance: Annotated[float, Range(0, 1, open_low=True, open_high=True)]

    def __post_init__(self) -> None:
        super().__post_init__()
        for nodes in self.nodes:
            if math.isqrt(nodes) ** 2 != nodes:
                raise ValueError(f"nodes={nodes} must be a square number, which a grid needs")

    def run(self) -> list[Row]:
        """Measure all graphs. O(nodes² b) for each round."""
        return [row for graph in self.graphs for nodes in self.nodes for row in self._rows(graph, nodes)]

    def _rows(self, name: GraphName, nodes: int) -> list[Row]:
        graph, messages = GRAPHS[name](nodes), self._messages(nodes)
        diameter = nx.diameter(graph)
        patience = math.log(1 / self.tolerance) * diameter
        relay = _first_agreement(average_by_relaying(graph, messages), messages, EXACT)
        gossip = _first_agreement(average_by_gossip(graph, messages), messages, self.tolerance)
        log.info("%s of %d nodes: %d rounds by relaying, %d by averaging", name, nodes, relay.t, gossip.t)
        graph_columns = {"case": name, "nodes": nodes, "diameter": diameter}
        return [
            Row("relayed", **graph_columns, bound=float(diameter)).number(relay.t),
            Row("gossiped", **graph_columns, bound=patience).number(gossip.t),
            Row("bytes", **graph_columns).number(relay.bytes / nodes),
        ]

    def _messages(self, nodes: int) -> NDArray[np.float64]:
        random = seeds.generator(self.seed, data="consensus", nodes=nodes, d=self.family.d)
        changes = self.kernels.asarray(random.standard_normal((nodes, self.family.d)))
        key = seeds.key(self.seed, task="consensus", family=repr(self.family))
        sketch = self.family.draw(key, kernels=self.kernels)
        return self.kernels.to_numpy(sketch.sketch(changes))


def _first_agreement(rounds: Iterator[Talk], messages: NDArray[np.float64], tolerance: float) -> Talk:
    """The first round after which each node's estimate is within `tolerance` of the mean of the messages."""
    mean, largest = messages.mean(axis=0), np.linalg.norm(messages, axis=1).max()
    return next(talk for talk in rounds if np.linalg.norm(talk.means - mean, axis=1).max() <= tolerance * largest)
