"""Rounds of several clients side by side, each with its own randomness, as where they are processes."""

from typing import Any

import numpy as np

from sketchbench import kernels
from sketchbench.base.project import CONF
from sketchbench.compressor.compressor import At, Compressor, Exchange

NAMES = sorted({path.stem for path in (CONF / "compressor").glob("*.yaml")} - {"sketched_layers"})
MESSAGES = [name for name in NAMES if name != "ef21"]  # whose server remembers what clients don't know
# Whose replies are sent as steps, with more bytes than their codes need.
STEPS = {"diana_random_k", "ef21_random_k", "sign_vote", *(name for name in NAMES if "_back_" in name)}


class Each:
    """The randomness of several clients side by side, each its own."""

    def __init__(self, generators: list[np.random.Generator]) -> None:
        self.generators = generators

    def random(self, shape: tuple[int, ...], dtype: str) -> Any:
        one = (shape[0], 1, *shape[2:])
        return np.concatenate([generator.random(one, dtype=dtype) for generator in self.generators], axis=1)

    def integers(self, below: int, size: tuple[int, ...], dtype: str) -> Any:
        one = (size[0], 1, *size[2:])
        drawn = [generator.integers(below, size=one, dtype=dtype) for generator in self.generators]
        return np.concatenate(drawn, axis=1)


def at_of(seed: int, number: int, clients: list[int]) -> At:

    class SideBySide(At):
        def private(self, part: str) -> Any:
            return Each([At(*self[:4], client).private(part) for client in clients])

    return SideBySide(kernels.load("numba"), seed, number, 1)


class Simulated:
    """A compressor's rounds, with what `clients` of them remember."""

    def __init__(self, compressor: Compressor, seed: int, clients: int) -> None:
        self.compressor, self.seed = compressor, seed
        self.memory = compressor.begin(1, clients, kernels.load("numba"))

    def exchange(self, updates: np.ndarray, number: int, who: list[int] | None = None) -> Exchange:
        places = list(range(len(updates))) if who is None else who
        memory = self.memory
        if memory.clients is not None:
            memory = memory._replace(clients=memory.clients[:, places])
        done = self.compressor.exchange(updates[None], memory, at_of(self.seed, number, places))
        if memory.clients is not None:
            self.memory.clients[:, places] = done.memory.clients
        self.memory = self.memory._replace(server=done.memory.server)
        return done
