"""The two numbers, printed and measured, of each counterexample to zhang2021, from the definitions alone."""

import itertools
from collections.abc import Callable

import numpy as np
from scipy import stats

from sketchbench.sketch.count_sketch import CountSketch

Numbers = tuple[float, float]


def relative_error_of_ones(d: int) -> float:
    """E(aᵀSSᵀb - aᵀb)²/(aᵀb)² for a = b = (1, ..., 1) and one bucket: aᵀSSᵀb is the square of a sum of d signs."""
    plus = np.arange(d + 1)
    errors = (2.0 * plus - d) ** 2 - d
    return float(stats.binom.pmf(plus, d, 0.5) @ errors**2) / d**2


def lemma_6() -> Numbers:
    return 1000 / 10, relative_error_of_ones(1000) / relative_error_of_ones(10)


def appendix_e() -> Numbers:
    """Over all permutations and signs; the last of the three columns is dealt to no bucket."""
    products = []
    for order, signs in itertools.product(itertools.permutations(range(3)), itertools.product((-1, 1), repeat=3)):
        sketch = np.zeros((3, 1))
        dealt = list(order[:2])
        sketch[dealt, 0] = np.array(signs)[dealt]
        products.append(sketch @ sketch.T)
    mean = np.mean(products, axis=0)
    np.testing.assert_allclose(mean, mean[0, 0] * np.eye(3), atol=1e-12)
    return 1.0, float(mean[0, 0])


def seen_and_update(outputs: int, inputs: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(W_old S_old, -W_new S_new) side by side, and Δ, for normal weights."""
    rng = np.random.default_rng(0)
    old, new = rng.standard_normal((2, outputs, inputs))
    matrices = CountSketch(inputs, size).draw(1, operators=2, kernels="numpy").materialize()
    return np.hstack([old @ matrices[0].T, -new @ matrices[1].T]), old - new


def remark_1() -> Numbers:
    """A minimum above 0 needs one direction at least that the sketched weights don't span."""
    seen, _ = seen_and_update(2, 400, 1)
    return 1.0, float(2 - np.linalg.matrix_rank(seen))


def theorem_2() -> Numbers:
    """The mean of ‖w S Sᵀ - w‖² over all dealings of four columns into two buckets of two, and all signs."""
    weights = np.array([0.1, -0.5, 0.7, 0.5])
    assert abs(weights @ weights - 1) < 1e-12
    errors = []
    for order, signs in itertools.product(itertools.permutations(range(4)), itertools.product((-1, 1), repeat=4)):
        sketch = np.zeros((4, 2))
        for place, column in enumerate(order):
            sketch[column, place // 2] = signs[column]
        errors.append(((weights @ sketch @ sketch.T - weights) ** 2).sum())
    return (4 - 1) / 2, float(np.mean(errors))


def dropout() -> Numbers:
    """A sum over the kept features, each twice as large; one draw of two is the same with replacement."""
    kept = np.array(list(itertools.product((0, 1), repeat=2)))
    alone = np.eye(2)
    return float(np.var(2 * kept.sum(axis=1))), float(np.var(2 * alone.sum(axis=1)))


COUNTEREXAMPLES: dict[str, Callable[[], Numbers]] = {
    "zhang2021-appendix-E": appendix_e,
    "zhang2021-dropout": dropout,
    "zhang2021-lemma-6": lemma_6,
    "zhang2021-remark-1": remark_1,
    "zhang2021-theorem-2": theorem_2,
}
