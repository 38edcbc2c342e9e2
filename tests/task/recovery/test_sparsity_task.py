"""The study of sparsity: its vectors, its transfers, and that it would notice a wrong bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.task.recovery.sparsity import KINDS, Sparsity, move_closer, vectors

QUANTITIES = ("tail", "sparsity", "concavity")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("length", [2, 3, 16, 257])
def test_rows(length: int) -> None:
    """Each quantity of each kind once, none above 1, and the largest close to it for some kind."""
    rows = Sparsity(seed=1, trials=300, length=length).run()
    assert {(row["quantity"], row["case"]) for row in rows} == {
        (quantity, kind) for quantity in QUANTITIES for kind in KINDS
    }
    for row in rows:
        assert (row["bound"], row["count"], row["trials"]) == (1.0, 0, 300)
        assert 0 <= row["minimum"] <= row["maximum"] <= 1 + 1e-9
    for quantity in QUANTITIES:
        largest = max(row["maximum"] for row in rows if row["quantity"] == quantity)
        assert largest > 0.99, quantity


def test_the_bound_on_the_tail_is_attained() -> None:
    """By 2k entries of equal magnitude: a constant smaller by 1 % would be refuted."""
    rows = Sparsity(seed=1, trials=300, length=4).run()
    (row,) = (r for r in rows if (r["quantity"], r["case"]) == ("tail", "equal"))
    assert row["maximum"] == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32), d=st.integers(2, 40))
def test_vectors(kind: str, seed: int, d: int) -> None:
    x = vectors(kind, 20, d, rng(seed))
    assert x.shape == (20, d)
    assert np.isfinite(x).all()
    assert x.any(axis=1).all()
    if kind == "equal":
        assert set(np.unique(x)) <= {0.0, 1.0}
    if kind == "powers":
        np.testing.assert_allclose(x[:, 1:], x[:, :-1] * x[:, 1:2], rtol=1e-10)


@given(st.integers(0, 2**32), st.integers(2, 30))
def test_transfers(seed: int, d: int) -> None:
    """Two magnitudes at most change, their sum does not, and both stay between what they were."""
    x = rng(seed).standard_cauchy((20, d))
    before = x.copy()
    closer = move_closer(x, rng(seed + 1))
    np.testing.assert_array_equal(x, before)
    for old, new in zip(abs(x), closer, strict=True):
        changed = np.flatnonzero(old != new)
        assert len(changed) <= 2
        if len(changed):
            low, high = old[changed].min(), old[changed].max()
            assert ((new[changed] >= low * (1 - 1e-12)) & (new[changed] <= high * (1 + 1e-12))).all()
        assert new.sum() == pytest.approx(old.sum(), rel=1e-12)
