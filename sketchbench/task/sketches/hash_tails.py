"""Exact tails of sketches with the hash functions of song2023 Definitions D.4, D.5 and D.7."""

import itertools
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sketchbench.base.parameters import Checked, Count, NonEmptyList, Probability
from sketchbench.measure.row import Row
from sketchbench.theory import hash_tails, tail

ROUNDING = 1e-12  # of an error, relative
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HashTails(Checked):
    """The probability that |gᵀRᵀRg - gᵀg|/‖g‖² reaches a lemma's threshold, for hash functions that are as independent
    as the definitions ask, and no more (`theory.hash_tails`). There is no randomness.

    Row `tail`, by `lemma`, `case` (g: `flat`, or `two`, the sum of two unit vectors), `b`, `s` and `delta`; bound: 2δ.
        Lemma D.25, Lemma D.26: for CountSketch, over all draws. `tail_quarter`: of b/4 buckets, at the threshold for b,
            a near miss.
        Lemma D.23, Lemma D.27: for AMS sketches and sparse embeddings, the probability of one event with a larger error
            than the threshold; that of the tail may be larger. δ is n⁻⁴ and (ns)⁻⁴.
    """

    bits: Count  # m; CountSketch has n = 2^m columns
    buckets: NonEmptyList[Count]  # of CountSketch
    deltas: NonEmptyList[Probability]  # of CountSketch, beside n⁻⁴
    ams: tuple[Count, Count]  # n and b
    sparse: tuple[Count, Count, Count]  # n, s and b

    def run(self) -> list[Row]:
        return [*self._count_sketch(), *self._ams(), *self._sparse()]

    def _count_sketch(self) -> Iterator[Row]:
        n = 2**self.bits
        two = np.zeros(n)
        two[[0, n - 1]] = 0.5**0.5
        for case, vector in (("flat", np.full(n, n**-0.5)), ("two", two)):
            errors = {b: self._errors(b, vector) for b in {*self.buckets, *(b // 4 for b in self.buckets)} if b}
            for b, delta in itertools.product(self.buckets, (float(n) ** -4, *self.deltas)):
                row = Row("tail", case=case, d=n, b=b, delta=delta, bound=2 * delta)
                for lemma, threshold in (
                    ("Lemma D.25", tail.count_sketch(delta, d=n, b=b)),
                    ("Lemma D.26", tail.count_sketch_chebyshev(delta, d=n, b=b)),
                ):
                    for quantity, buckets in (("tail", b), ("tail_quarter", b // 4)):
                        if buckets:
                            reached = errors[buckets] >= threshold * (1 - ROUNDING)
                            yield row.replace(quantity=quantity, lemma=lemma).number(float(reached.mean()))

    def _errors(self, buckets: int, vector: hash_tails.Numbers) -> hash_tails.Numbers:
        log.info("%d buckets", buckets)
        return hash_tails.count_sketch_errors(self.bits, buckets, vector)

    def _ams(self) -> Iterator[Row]:
        n, b = self.ams
        delta = float(n) ** -4
        found = hash_tails.constant_row(n, b) if n / b - 1 > tail.dense(delta, d=n, b=b) else 0.0
        yield Row("tail", lemma="Lemma D.23", case="flat", d=n, b=b, delta=delta, bound=2 * delta).number(found)

    def _sparse(self) -> Iterator[Row]:
        n, s, b = self.sparse
        delta = float(n * s) ** -4
        found = hash_tails.alike(n, s) if n - 1 > tail.sparse(delta, d=n, b=b, s=s) else 0.0
        row = Row("tail", lemma="Lemma D.27", case="flat", d=n, b=b, s=s, delta=delta, bound=2 * delta)
        yield row.number(found)
