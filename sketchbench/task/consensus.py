"""How many rounds it takes all nodes of a graph to have the mean of the sketches."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from sketchbench import seeds
from sketchbench.federated.decentralised import Talk, gossiped, relayed
from sketchbench.kernels import Kernels
from sketchbench.sketch.family import Family

GRAPHS: dict[str, Callable[[int], nx.Graph]] = {
    "ring": nx.cycle_graph,
    "grid": lambda n: nx.convert_node_labels_to_integers(nx.grid_2d_graph(math.isqrt(n), math.isqrt(n))),
    "star": lambda n: nx.star_graph(n - 1),
    "complete": nx.complete_graph,
}
EXACT = 1e-9  # relative


@dataclass(frozen=True)
class Consensus:
    """Each node has a sketch of a random change, all by the same operator. Rows, by graph (`case`) and
    number of `nodes`:

    `relayed`: rounds until every node's mean is the mean of all, to rounding, against the diameter;
    `gossiped`: rounds until it is so to `tolerance`, relative, against ln(1/tolerance) diameters;
    `bytes`: what a node has sent by then, on average, with relaying.

    These numbers have no spread: they depend on the graph only.
    """

    family: Family
    kernels: Kernels
    seed: int
    graphs: list[str]
    nodes: list[int]
    tolerance: float

    def run(self) -> list[dict[str, Any]]:
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance={self.tolerance} must satisfy 0 < tolerance < 1")
        return [row for name in self.graphs for n in self.nodes for row in self._rows(name, n)]

    def _rows(self, name: str, nodes: int) -> list[dict[str, Any]]:
        if name not in GRAPHS:
            raise ValueError(f"graph {name} is unknown; choose from {', '.join(GRAPHS)}")
        if nodes < 3 or math.isqrt(nodes) ** 2 != nodes:
            raise ValueError(f"nodes={nodes} must be a square number >= 4, which a grid needs")
        graph = GRAPHS[name](nodes)
        random = seeds.generator(self.seed, data="consensus", nodes=nodes, d=self.family.d)
        changes = self.kernels.asarray(random.standard_normal((nodes, self.family.d)))
        key = seeds.key(self.seed, task="consensus", family=repr(self.family))
        sketch = self.family.draw(key, kernels=self.kernels)
        messages = self.kernels.to_numpy(sketch.sketch(changes))
        mean = messages.mean(axis=0)
        diameter = nx.diameter(graph)

        def agreed(talk: Talk, tolerance: float) -> bool:
            away = np.linalg.norm(talk.means - mean, axis=1).max()
            return bool(away <= tolerance * np.linalg.norm(messages, axis=1).max())

        told = next(talk for talk in relayed(graph, messages) if agreed(talk, EXACT))
        mixed = next(talk for talk in gossiped(graph, messages) if agreed(talk, self.tolerance))
        patient = math.log(1 / self.tolerance) * diameter
        shared = {"case": name, "nodes": nodes, "diameter": diameter}
        return [
            {"quantity": "relayed", **shared, "bound": float(diameter), "value": float(told.t)},
            {"quantity": "gossiped", **shared, "bound": patient, "value": float(mixed.t)},
            {"quantity": "bytes", **shared, "value": told.bytes / nodes},
        ]
