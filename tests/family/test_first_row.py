"""Behind random signs, which row of a Hadamard matrix is never sampled can't be seen; with rows that repeat, it can."""

import itertools
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from honest_structured import _hadamard


def distribution(n: int, d: int, samples: Iterable[tuple[int, ...]]) -> dict[bytes, Fraction]:
    """The exact distribution of b RᵀR, over all signs of d columns and these equally likely samples of rows."""
    counts: Counter[bytes] = Counter()
    for rows, signs in itertools.product(list(samples), itertools.product((-1, 1), repeat=d)):
        part = _hadamard(n)[list(rows), :d] * np.array(signs)
        counts[(part.T @ part).astype(int).tobytes()] += 1
    return {matrix: Fraction(count, counts.total()) for matrix, count in counts.items()}


@pytest.mark.parametrize(("n", "d", "b"), [(4, 4, 1), (4, 4, 2), (4, 3, 2), (4, 4, 3), (8, 5, 3), (8, 6, 2)])
def test_a_row_that_is_never_sampled(n: int, d: int, b: int) -> None:
    every, but_one = (distribution(n, d, itertools.combinations(range(first, n), b)) for first in (0, 1))
    assert every == but_one
    if b > 1:
        every, but_one = (distribution(n, d, itertools.product(range(first, n), repeat=b)) for first in (0, 1))
        assert every != but_one
