"""All operators of a family at a tiny size, with their probabilities, from the definitions alone.

Nothing here uses sketchbench: these are the oracles that its formulas are held against.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """Matrices of shape (M, b, d), and the probability of each, (M,)."""

    matrices: Matrix
    weights: Matrix

    @property
    def d(self) -> int:
        return self.matrices.shape[2]

    @property
    def b(self) -> int:
        return self.matrices.shape[1]

    def errors(self, g: Matrix, h: Matrix) -> Matrix:
        return np.asarray(((self.matrices @ g) * (self.matrices @ h)).sum(axis=1) - g @ h)

    def mean(self) -> Matrix:
        return np.einsum("m,mbi,mbj->ij", self.weights, self.matrices, self.matrices)

    def second_moment(self, g: Matrix, h: Matrix) -> float:
        return float(self.weights @ (self.errors(g, h) + g @ h) ** 2)

    def norm(self, h: Matrix) -> float:
        """E|R'Rh|^2."""
        back = np.einsum("mbi,mb->mi", self.matrices, self.matrices @ h)
        return float(self.weights @ (back**2).sum(axis=1))


def _uniform(matrices: Iterable[Any]) -> Distribution:
    stack = np.array(list(matrices), dtype=np.float64)
    return Distribution(stack, np.full(len(stack), 1 / len(stack)))


def _signs(count: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((-1, 1), repeat=count)


def _by_columns(columns: list[Any], d: int) -> Distribution:
    """Independent columns, each uniform on a list."""
    return _uniform(np.transpose(choice) for choice in itertools.product(columns, repeat=d))


def count_sketch(d: int, b: int) -> Distribution:
    return _by_columns([sign * row for row in np.eye(b) for sign in (-1, 1)], d)


def ams(d: int, b: int) -> Distribution:
    return _uniform(np.reshape(signs, (b, d)) / np.sqrt(b) for signs in _signs(d * b))


def sparse(d: int, b: int, s: int) -> Distribution:
    columns = []
    for rows in itertools.combinations(range(b), s):
        for signs in _signs(s):
            column = np.zeros(b)
            column[list(rows)] = np.array(signs) / np.sqrt(s)
            columns.append(column)
    return _by_columns(columns, d)


def block_sparse(d: int, b: int, s: int) -> Distribution:
    columns = []
    for places in itertools.product(range(b // s), repeat=s):
        for signs in _signs(s):
            column = np.zeros(b)
            column[[block * (b // s) + place for block, place in enumerate(places)]] = signs
            columns.append(column / np.sqrt(s))
    return _by_columns(columns, d)


def uniform_sampling(d: int, b: int) -> Distribution:
    rows = itertools.combinations(range(d), b)
    return _uniform(
        np.sqrt(d / b) * np.diag(signs)[list(kept)] for kept, signs in itertools.product(rows, list(_signs(d)))
    )


def _sampled(transform: Matrix, d: int, b: int, replacement: bool) -> Distribution:
    n = len(transform)
    choose: Any = itertools.product(range(n), repeat=b) if replacement else itertools.combinations(range(n), b)
    return _uniform(
        np.sqrt(n / b) * transform[list(rows), :d] * np.array(signs)
        for rows, signs in itertools.product(choose, list(_signs(d)))
    )


def srht(d: int, b: int, replacement: bool) -> Distribution:
    """Sylvester's matrix: the parity of the bits that row and column share, padded from d."""
    n = 1
    while n < d:
        n *= 2
    parity = [[(-1) ** (i & j).bit_count() for j in range(n)] for i in range(n)]
    return _sampled(np.array(parity) / np.sqrt(n), d, b, replacement)


def srct(d: int, b: int, replacement: bool) -> Distribution:
    k, j = np.arange(d)[:, None], np.arange(d)[None, :]
    transform = np.cos(np.pi * (j + 0.5) * k / d) * np.sqrt(np.where(k == 0, 1, 2) / d)
    return _sampled(transform, d, b, replacement)


def balanced(d: int, b: int) -> Distribution:
    """Position p of the permutation goes to bucket p mod b."""
    matrices = []
    for order in itertools.permutations(range(d)):
        for signs in _signs(d):
            matrix = np.zeros((b, d))
            matrix[[position % b for position in order], np.arange(d)] = signs
            matrices.append(matrix)
    return _uniform(matrices)


def gaussian(d: int, b: int) -> Distribution:
    """Three-point Gauss-Hermite nodes in every entry: exact for moments up to degree 5 in each."""
    nodes = itertools.product((-np.sqrt(3), 0.0, np.sqrt(3)), repeat=d * b)
    stack = np.array(list(nodes)).reshape(-1, b, d)
    weights = np.where(stack == 0, 2 / 3, 1 / 6).prod(axis=(1, 2))
    return Distribution(stack / np.sqrt(b), weights)


def identity(d: int) -> Distribution:
    return _uniform([np.eye(d)])
