"""Partitions: disjoint, of the shares that they promise, and the same for the same seed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.dataset import partition

LABELS = np.random.default_rng(0).integers(0, 10, 3000)


@given(seed=st.integers(0, 99), clients=st.integers(1, 40), kind=st.sampled_from("ibd"))
def test_no_sample_twice(seed: int, clients: int, kind: str) -> None:
    def parts(seed: int) -> partition.Parts:
        if kind == "d":
            return partition.dirichlet(LABELS, seed, clients, 5.0)
        return partition.iid(LABELS, seed, clients, balanced=kind == "b")

    dealt = parts(seed)
    assert len(dealt) == clients
    every = np.concatenate(dealt)
    assert len(np.unique(every)) == len(every) > len(LABELS) - clients
    if kind != "d":
        assert {len(part) for part in dealt} == {len(LABELS) // clients}
    assert all(np.array_equal(a, b) for a, b in zip(dealt, parts(seed), strict=True))
    assert not np.array_equal(every, np.concatenate(parts(seed + 100)))


def test_balanced_shares_have_every_class_alike() -> None:
    """tang2021 Appendix C.2: 50 samples of each class for each of 100 clients."""
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 500))
    for part in partition.iid(labels, 0, 10, balanced=True):
        assert np.bincount(labels[part]).tolist() == [50] * 10
    some = labels[:4987]  # 13 too few: as many of each class as can be, and nobody's share is larger
    counts = [np.bincount(some[part], minlength=10) for part in partition.iid(some, 0, 10, balanced=True)]
    assert {int(count.sum()) for count in counts} == {498}
    assert np.ptp(counts, axis=0).max() == 1
    uneven = [np.bincount(labels[part], minlength=10) for part in partition.iid(labels, 0, 10)]
    assert np.ptp(uneven) > 10


def test_one_class_to_a_client() -> None:
    """As many clients of each class, with five samples each, which nobody else has."""
    labels = np.random.default_rng(2).permutation(np.repeat(np.arange(10), 50))
    dealt = partition.one_class(labels, 0, 100, 5)
    assert len(np.unique(np.concatenate(dealt))) == 500
    found = [set(labels[part]) for part in dealt]
    assert [len(classes) for classes in found] == [1] * 100
    assert np.bincount([classes.pop() for classes in found]).tolist() == [10] * 10


def test_dirichlet_shares_differ_the_more_the_smaller_alpha() -> None:
    def spread(alpha: float) -> float:
        dealt = partition.dirichlet(LABELS, 0, 10, alpha)
        shares = [np.bincount(LABELS[part], minlength=10) / len(part) for part in dealt]
        return float(np.std(shares, axis=0).mean())

    assert spread(0.3) > 2 * spread(3.0) > 4 * spread(100.0)
