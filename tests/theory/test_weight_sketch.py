"""Errors of sketched weights against every CountSketch of 3 columns and 2 buckets."""

from collections.abc import Callable
from typing import Any

import exhaustive
import numpy as np
import pytest

from sketchbench.theory import second_moment, weight_sketch

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


BALANCED = exhaustive.balanced(4, 2)
GAUSSIAN = exhaustive.gaussian(3, 2)


@pytest.mark.parametrize(
    ("distribution", "moment"),
    [(SKETCHES, second_moment.hashed), (BALANCED, second_moment.balanced), (GAUSSIAN, second_moment.gaussian)],
    ids=["count_sketch", "balanced", "gaussian"],
)
def test_product_variance(distribution: exhaustive.Distribution, moment: Callable[..., Any]) -> None:
    """Any family's, against all its operators."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, distribution.d)), rng.standard_normal((4, distribution.d))
    projections = np.einsum("mbi,mbj->mij", distribution.matrices, distribution.matrices)
    errors = ((a @ projections @ b.T - a @ b.T) ** 2).sum(axis=(1, 2))
    formula = weight_sketch.product_variance(a, b, moment, size=distribution.b)
    assert formula == pytest.approx(distribution.weights @ errors, rel=1e-12)


def test_the_listing_of_the_appendix() -> None:
    """Two columns to a bucket: the plain error is (q - 1) = 1 times the squared weights, not (d - 1)/s = 3/2 times."""
    old, new = np.random.default_rng(4).standard_normal((2, 3, 4))
    whole = (old**2).sum() + (new**2).sum()
    exact = sum(weight_sketch.product_variance(w, np.eye(4), second_moment.balanced, size=2) for w in (old, new))
    assert exact == pytest.approx(whole)
    assert weight_sketch.update_error_plain(old, new, size=2) == pytest.approx(1.5 * whole)
