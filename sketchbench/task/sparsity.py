"""Two facts about sparsity that tang2021's convergence theorem rests on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import exceeding
from sketchbench.measure.sparsity import sparsity, tail_norms
from sketchbench.measure.summary import summarize

KINDS = ("normal", "cauchy", "sparse", "equal", "powers")


@dataclass(frozen=True)
class Sparsity:
    """For vectors of this length of each kind, and k drawn at random, rows

    `tail`: 2√k ‖x - x^[k]‖₂ / ‖x‖₁, which never exceeds 1;
    `sparsity`: sp(x), which never exceeds 1;
    `concavity`: sp(x) / sp(Tx), where T moves two magnitudes closer together (a step of Robin Hood's,
    of which all majorisation is made), which never exceeds 1 if sp is Schur-concave.
    """

    kernels: Kernels
    seed: int
    trials: int
    length: int

    def run(self) -> list[dict[str, Any]]:
        d = self.length
        if d < 2:
            raise ValueError(f"length={d} must be >= 2")
        rows: list[dict[str, Any]] = []
        for kind in KINDS:
            random = seeds.generator(self.seed, data="sparsity", d=d, kind=kind)
            x = vectors(kind, self.trials, d, random)
            counts = random.integers(1, d, self.trials, endpoint=True)
            tails = [tail_norms(v, int(k)).two for v, k in zip(x, counts, strict=True)]
            for quantity, values in (
                ("tail", 2 * np.sqrt(counts) * np.array(tails) / abs(x).sum(-1)),
                ("sparsity", sparsity(x)),
                ("concavity", sparsity(x) / sparsity(brought_closer(x, random))),
            ):
                count = exceeding(values, 1.0)
                shared = {"quantity": quantity, "case": kind, "bound": 1.0, "count": count}
                rows.append({**shared, **summarize(values)})
        return rows


def vectors(kind: str, count: int, d: int, random: np.random.Generator) -> Any:
    """Vectors (count, d), none of them zero: normal or Cauchy entries; some normal entries and zeros;
    some entries of equal magnitude and zeros (where the tail's bound is attained); powers of one base."""
    if kind == "normal":
        return random.standard_normal((count, d))
    if kind == "cauchy":
        return random.standard_cauchy((count, d))
    if kind == "powers":
        return random.uniform(0.1, 1, (count, 1)) ** np.arange(d)
    nonzeros = random.integers(1, d, (count, 1), endpoint=True)
    chosen = random.permuted(np.tile(np.arange(d), (count, 1)), axis=1) < nonzeros
    return chosen * (1.0 if kind == "equal" else random.standard_normal((count, d)))


def brought_closer(x: Any, random: np.random.Generator) -> Any:
    """The magnitudes of x (count, d), with two of each vector's replaced by weighted means of the two."""
    closer, rows = abs(x), np.arange(len(x))
    one, other = random.permuted(np.tile(np.arange(x.shape[1]), (len(x), 1)), axis=1)[:, :2].T
    share = random.uniform(0, 1, len(x))
    a, b = closer[rows, one], closer[rows, other]
    closer[rows, one], closer[rows, other] = (
        share * a + (1 - share) * b,
        (1 - share) * a + share * b,
    )
    return closer
