"""Facts about sparse approximations that underlie tang2021's convergence theorem."""

import logging
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked
from sketchbench.measure.row import Row
from sketchbench.measure.sparsity import sparsity, tail_norms

log = logging.getLogger(__name__)

Vectors = NDArray[np.float64]
Kind = Literal["normal", "cauchy", "sparse", "equal", "powers"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Sparsity(Checked):
    """Measures three ratios of vectors x that never exceed 1 if the facts are true.

    Rows for each kind of vectors (`case`, see `vectors`): the mean ratio, and the number of vectors above the bound 1:
        tail: 2√k ‖x - x^[k]‖₂ / ‖x‖₁, for a random k.
        sparsity: sp(x) = ‖x‖₁² / (‖x‖₂² d).
        concavity: sp(x) / sp(Tx), where T moves two magnitudes closer together. Majorisation is a sequence of such
            transfers, so that the ratio never exceeds 1 if sp is Schur-concave.
    """

    seed: int
    trials: AtLeastTwo  # number of vectors of each kind
    length: AtLeastTwo  # d, entries of a vector

    def run(self) -> list[Row]:
        return [row for kind in KINDS for row in self._rows(kind)]

    def _rows(self, kind: Kind) -> list[Row]:
        random = seeds.generator(self.seed, data="sparsity", d=self.length, kind=kind)
        x = vectors(kind, self.trials, self.length, random)
        counts = random.integers(1, self.length, self.trials, endpoint=True)
        tails = np.array([tail_norms(v, int(k)).two for v, k in zip(x, counts, strict=True)])
        ratios = {
            "tail": 2 * np.sqrt(counts) * tails / abs(x).sum(-1),
            "sparsity": sparsity(x),
            "concavity": sparsity(x) / sparsity(move_closer(x, random)),
        }
        log.info("%s: %d vectors of length %d", kind, self.trials, self.length)
        return [Row(name, case=kind).exceedances(values, 1.0).mean(values) for name, values in ratios.items()]


def vectors(kind: Kind, count: int, d: int, random: np.random.Generator) -> Vectors:
    """Draw vectors of a kind, none of them zero, (count, d).

    Kinds:
        normal, cauchy: independent entries with that distribution.
        sparse: a random number of normal entries at random places, the others 0.
        equal: a random number of ones at random places, the others 0, which attain the bound of the tail.
        powers: 1, c, c², ... for a random c between 0.1 and 1.
    """
    if kind == "normal":
        return random.standard_normal((count, d))
    if kind == "cauchy":
        return random.standard_cauchy((count, d))
    if kind == "powers":
        return np.asarray(random.uniform(0.1, 1, (count, 1)) ** np.arange(d))
    nonzeros = random.integers(1, d, (count, 1), endpoint=True)
    chosen = random.permuted(np.tile(np.arange(d), (count, 1)), axis=1) < nonzeros
    return np.asarray(chosen * (1.0 if kind == "equal" else random.standard_normal((count, d))))


def move_closer(x: Vectors, random: np.random.Generator) -> Vectors:
    """Move two random magnitudes of each vector (count, d), d >= 2, closer together, with their sum unchanged. Returns
    the magnitudes of the results, (count, d); x is not changed."""
    closer, rows = abs(x), np.arange(len(x))
    one, other = random.permuted(np.tile(np.arange(x.shape[1]), (len(x), 1)), axis=1)[:, :2].T
    share = random.uniform(0, 1, len(x))
    a, b = closer[rows, one], closer[rows, other]
    closer[rows, one] = share * a + (1 - share) * b
    closer[rows, other] = (1 - share) * a + share * b
    return closer
