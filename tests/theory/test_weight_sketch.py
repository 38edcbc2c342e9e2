"""Errors of sketched weights against every CountSketch of 3 columns and 2 buckets."""

import exhaustive
import numpy as np
import pytest

from sketchbench.theory import weight_sketch

D, SIZE = 3, 2
SKETCHES = exhaustive.count_sketch(D, SIZE)
PROJECTIONS = np.einsum("mbi,mbj->mij", SKETCHES.matrices, SKETCHES.matrices)  # S S' of each


def weights(kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Old and new weights (2, D) and features (4, D)."""
    rng = np.random.default_rng(7)
    if kind == "random":
        return rng.standard_normal((2, D)), rng.standard_normal((2, D)), rng.standard_normal((4, D))
    if kind == "constant":
        return np.ones((2, D)), 2 * np.ones((2, D)), np.ones((4, D))
    return np.eye(D)[:2], np.eye(D)[1:], np.eye(4, D)


KINDS = pytest.mark.parametrize("kind", ["random", "constant", "spikes"])


@KINDS
def test_product(kind: str) -> None:
    a, _, b = weights(kind)
    errors = ((a @ PROJECTIONS @ b.T - a @ b.T) ** 2).sum(axis=(1, 2))
    assert weight_sketch.product_error(a, b, size=SIZE) == pytest.approx(errors.mean(), rel=1e-12)


@KINDS
def test_product_equals_the_printed_sum(kind: str) -> None:
    """zhang2021 Lemma 5, term by term."""
    a, _, b = weights(kind)
    total = sum(
        a[i, k] ** 2 * b[j, m] ** 2 + a[i, k] * b[j, k] * a[i, m] * b[j, m]
        for i in range(len(a))
        for j in range(len(b))
        for k in range(D)
        for m in range(D)
        if k != m
    )
    assert weight_sketch.product_error(a, b, size=5) == pytest.approx(total / 5, rel=1e-12)


@KINDS
def test_update(kind: str) -> None:
    """Old and new weights sketched apart: every pair of sketches."""
    old, new, v = weights(kind)
    sketched_old, sketched_new = (w @ PROJECTIONS for w in (old, new))
    change = sketched_old[:, None] - sketched_new[None] - (old - new)
    assert weight_sketch.update_error(old, new, v, size=SIZE) == pytest.approx(
        ((change @ v.T) ** 2).sum(axis=(2, 3)).mean(), rel=1e-12
    )
    assert weight_sketch.update_error_plain(old, new, size=SIZE) == pytest.approx(
        (change**2).sum(axis=(2, 3)).mean(), rel=1e-12
    )
