"""Training's mechanisms, for tests."""

from typing import Any

from sketchbench.privacy.mechanism import Mechanism, mean_step, private_training
from sketchbench.privacy.sampling import Sampling

CLIENTS = (frozenset({0, 1}), frozenset({2, 3}))
KINDS: list[Any] = ["full", "poisson", "without_replacement", "with_replacement"]


def training(
    kind: Any = "full",
    multiplier: float = 20.0,
    rounds: int = 10,
    local_steps: int = 2,
    batch: int = 100,
    records: int = 1000,
) -> Mechanism:
    sampling = Sampling(kind, records if kind == "full" else batch, records)
    unit = mean_step(1.0, 1.0, sampling, sampling.neighbours).mechanism.sensitivity
    step = mean_step(1.0, multiplier * unit, sampling, sampling.neighbours)
    return private_training(step, local_steps=local_steps, rounds=rounds, records=CLIENTS, sketch="R")
