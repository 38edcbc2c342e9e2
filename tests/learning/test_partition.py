"""Partitions: disjoint, of the shares that they promise, and the same for the same seed."""

import functools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.learning.dataset import partition

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


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 10), st.integers(0, 2**64 - 1))
def test_users_with_the_most_samples(users: list[int], clients: int, seed: int) -> None:
    """Each has all samples of its own, whatever the labels and the seed; nobody who is left out has more."""
    labels, whose = np.zeros(len(users), np.int64), np.array(users)
    deal = functools.partial(partition.by_user, clients=clients)
    if clients > len(set(users)):
        with pytest.raises(ValueError, match=rf"clients={clients} must be <= \d+, the (samples|users)"):
            partition.deal(deal, labels, seed, whose)
        return
    parts = partition.deal(deal, labels, seed, whose)
    found = [set(whose[part].tolist()) for part in parts]
    assert all(len(one) == 1 for one in found)
    assert [users.count(*one) for one in found] == [len(part) for part in parts]
    assert sorted(map(len, parts)) == sorted(map(users.count, set(users)))[-clients:]


def test_users_that_are_not_known() -> None:
    for users, message in ((None, "users=None .* give the data set users"), (np.arange(3), "users of 3 samples must")):
        with pytest.raises(ValueError, match=message):
            partition.deal(functools.partial(partition.by_user, clients=2), LABELS, 0, users)


def test_who_is_told_of_users() -> None:
    """A partition with a parameter `users` that its config leaves open, and one through `even`."""
    users = np.arange(len(LABELS)) // 300

    def named(labels: Any, seed: int, users: Any) -> partition.Parts:
        return [np.flatnonzero(users == 3)]

    def counted(labels: Any, seed: int, users: int = 4) -> partition.Parts:
        return [np.arange(users)]

    assert partition.deal(named, LABELS, 0, users)[0].tolist() == list(range(900, 1200))
    assert len(partition.deal(counted, LABELS, 0, users)[0]) == 4
    assert len(partition.deal(functools.partial(counted, users=5), LABELS, 0, users)[0]) == 5
    parts = partition.even(LABELS, 0, functools.partial(partition.by_user, clients=10), 20, users)
    assert [set(users[part].tolist()) for part in parts] == [{user} for user in range(10)]


SAMPLES = 30
ORDER = st.permutations(range(SAMPLES))


@st.composite
def right_parts(draw: st.DrawFn) -> list[np.ndarray]:
    order = np.array(draw(ORDER))
    cuts = sorted(draw(st.sets(st.integers(1, SAMPLES - 1), max_size=6)))
    parts = np.split(order, cuts)
    return parts[: draw(st.integers(1, len(parts)))]


@given(parts=right_parts(), data=st.data())
def test_one_wrong_part_is_found(parts: list[np.ndarray], data: st.DataObject) -> None:
    partition.check_parts(parts, SAMPLES)
    client = data.draw(st.integers(0, len(parts) - 1))
    part: Any = parts[client]
    place = data.draw(st.integers(0, len(part) - 1))
    kind = data.draw(st.sampled_from(["outside", "twice", "empty", "type", "not a number", "axes", "masked", "list"]))
    message = f"client {client}: "
    if kind == "outside":
        part[place] = data.draw(st.integers(-(2**63), -1) | st.integers(SAMPLES, 2**63 - 1))
        message = f"sample {part[place]} at {place} of client {client} must be 0 to 29"
    elif kind == "twice":
        other = data.draw(st.integers(0, len(parts) - 1))
        parts[other] = np.append(parts[other], part[place])
        again = len(parts[other]) - 1
        pair = sorted([(client, place), (other, again)])
        first, second = (f"sample {parts[c][i]} at {i} of client {c}" for c, i in pair)
        message = f"{first} must not be given again, as {second}"
    elif kind == "empty":
        parts[client] = part[:0]
        message = f"1 of {len(parts)} clients are without a sample, the first of them client {client}; leave"
    elif kind == "type":
        parts[client] = part.astype(data.draw(st.sampled_from(["f8", "i4", "u1", "u8", "bool", "O"])))
    elif kind == "not a number":
        parts[client] = part.astype(float)
        parts[client][place] = data.draw(st.sampled_from([np.nan, np.inf, 0.5]))
        message = f"can't hold {parts[client][place]} at {place}"
    elif kind == "axes":
        parts[client] = part[:, None]
    elif kind == "masked":
        parts[client] = np.ma.array(part, mask=np.arange(len(part)) == place)
    else:
        parts[client] = part.tolist()
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        partition.check_parts(parts, SAMPLES)
    assert "\n" not in str(caught.value)


def test_no_clients() -> None:
    for parts, message in (
        ([], "0 clients must be at least one"),
        (None, "a NoneType must be a list"),
        (np.arange(4).reshape(2, 2), "a ndarray must be a list"),
    ):
        with pytest.raises(ValueError, match=f"partition: {message}"):
            partition.check_parts(parts, SAMPLES)


def test_dirichlet_shares_of_the_largest_alpha_are_even() -> None:
    for alpha in (1e150, 1.7e308):
        counts = [len(part) for part in partition.dirichlet(LABELS, 0, 10, alpha)]
        assert np.ptp(counts) <= 10


def test_a_partition_that_writes_has_copies() -> None:
    def halves(labels: np.ndarray, seed: int, users: np.ndarray) -> list[np.ndarray]:
        labels.sort()
        users[:] = 0
        return [np.arange(20), np.arange(20, 40)]

    labels, users = np.arange(40) % 3, np.arange(40)
    partition.deal(halves, labels, 0, users)
    assert np.array_equal(labels, np.arange(40) % 3)
    assert np.array_equal(users, np.arange(40))
