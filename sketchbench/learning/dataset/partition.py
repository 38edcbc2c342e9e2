"""Partitions of training samples among clients: arrays of sample numbers, disjoint between clients. Functions take
`labels`, the classes of all samples (n,), the `seed` of everything random, and mostly the number of `clients`."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import Count, Positive, checked
from sketchbench.learning.dataset.arrays import check_array

EVEN = 1e200  # a parameter of Dirichlet distributions with equal proportions, whose sums don't overflow
Labels = NDArray[np.int64]
Users = NDArray[np.int64] | None  # each sample's user (n,), if known
Parts = list[NDArray[np.int64]]  # for every client, the numbers of its samples
MakeParts = Callable[..., Parts]  # a config of conf/partition makes this function of labels, seed, perhaps users


def deal(partition: MakeParts, labels: Labels, seed: int, users: Users = None) -> Parts:
    """The checked partition of samples with these labels. It gets copies, into which it may write; `users`, too, if it
    has such a parameter. Raises ValueError as `check_parts` and the partition do."""
    given = {"users": None if users is None else users.copy()} if takes_users(partition) else {}
    parts = partition(labels=labels.copy(), seed=seed, **given)
    check_parts(parts, len(labels))
    return parts


def takes_users(partition: Callable[..., Any]) -> bool:
    """Return whether a partition has a parameter `users`, to which its config gives no value."""
    try:
        wanted = inspect.signature(partition).parameters.get("users")
    except ValueError:  # a function of C may have none
        return False
    return wanted is not None and (wanted.default is inspect.Parameter.empty or wanted.default is None)


def check_parts(parts: Any, samples: int) -> None:
    """Check that every client has its own samples, of `samples` in all. O(samples). Raises ValueError, with the client,
    the number and its place, for no client, a client without a sample, numbers that are not a plain int64 array or
    outside 0 to samples - 1, and a sample that is given twice."""
    if not isinstance(parts, list | tuple):
        raise ValueError(f"partition: a {type(parts).__name__} must be a list of each client's sample numbers")
    if not parts:
        raise ValueError("partition: 0 clients must be at least one; give it sample numbers")
    for client, part in enumerate(parts):
        check_array(f"partition: the sample numbers of client {client}", part, np.int64, "n")
    if empty := [client for client, part in enumerate(parts) if not len(part)]:
        raise ValueError(
            f"partition: {len(empty)} of {len(parts)} clients are without a sample, the first of them client "
            f"{empty[0]}; leave them out"
        )
    numbers = np.concatenate(parts)
    outside = (numbers < 0) | (numbers >= samples)
    if outside.any():
        raise ValueError(
            f"partition: {_place(parts, int(outside.argmax()))} must be 0 to {samples - 1}, the number of a sample"
        )
    places = np.arange(len(numbers))
    last = np.zeros(samples, np.int64)
    last[numbers] = places
    if (again := last[numbers] != places).any():
        first = int(again.argmax())
        raise ValueError(
            f"partition: {_place(parts, first)} must not be given again, as {_place(parts, int(last[numbers[first]]))}"
        )


def _place(parts: Sequence[NDArray[np.int64]], place: int) -> str:
    """The sample number at a place of all parts one after the other, with its client: `7 at 2 of client 3`."""
    for client, part in enumerate(parts):
        if place < len(part):
            return f"sample {part[place]} at {place} of client {client}"
        place -= len(part)
    raise IndexError(place)


@checked
def iid(labels: Labels, seed: int, clients: Count, balanced: bool = False) -> Parts:
    """Divide the samples at random into equal shares of n // clients; the remaining samples are dropped. `balanced`
    clients have the same number of samples of each class, up to one (tang2021 §4.2), others uniformly random samples
    (zhang2021 §6.2). Raises ValueError for more clients than samples."""
    _check(clients, labels)
    share = len(labels) // clients
    order = _shuffle(labels, seed)[: share * clients]
    if balanced:  # client c gets every clients-th sample of the order by class
        order = order[np.argsort(labels[order], kind="stable")]
        return [order[c::clients] for c in range(clients)]
    return list(order.reshape(clients, share))


@checked
def one_class(labels: Labels, seed: int, clients: Count, samples: Count = 5) -> Parts:
    """Give every client `samples` of a single class; client i has the class of number i mod classes. tang2021 §4.2 has
    10,000 clients of 5 samples. Raises ValueError if a class has too few samples."""
    _check(clients, labels)
    classes = np.unique(labels)
    order = _shuffle(labels, seed)
    by_class = {c: order[labels[order] == c] for c in classes}
    parts = []
    for client in range(clients):
        number = client // len(classes)
        c = classes[client % len(classes)]
        part = by_class[c][number * samples : (number + 1) * samples]
        if len(part) < samples:
            raise ValueError(
                f"clients={clients} with {samples} samples of one class need more than the {len(by_class[c])} of "
                f"class {c}; lower clients or samples"
            )
        parts.append(part)
    return parts


@checked
def dirichlet(labels: Labels, seed: int, clients: Count, alpha: Positive = 0.5) -> Parts:
    """Divide every class among the clients in proportions from a symmetric Dirichlet distribution; the smaller its
    parameter alpha, the more the clients differ. Raises ValueError if a client has no sample."""
    _check(clients, labels)
    random = seeds.generator(seed, data="dirichlet", clients=clients)
    order = _shuffle(labels, seed)
    by_client: list[list[NDArray[np.int64]]] = [[] for _ in range(clients)]
    for c in np.unique(labels):
        members = order[labels[order] == c]
        cuts = np.cumsum(random.dirichlet(np.full(clients, min(alpha, EVEN))))[:-1] * len(members)
        for client, part in enumerate(np.split(members, cuts.round().astype(int))):
            by_client[client].append(part)
    parts = [np.concatenate(part) for part in by_client]
    if empty := [client for client, part in enumerate(parts) if not len(part)]:
        raise ValueError(
            f"alpha={alpha} leaves {len(empty)} of {clients} clients without a sample; raise alpha, or lower clients"
        )
    return parts


@checked
def by_user(labels: Labels, seed: int, clients: Count, users: Users = None) -> Parts:
    """Give every client the samples of one user, for a natural partition: of the users with the most samples, in the
    order of their numbers. `users` is each sample's user, integers (n,). Nothing is random, and the seed has no effect.
    Raises ValueError without users, or for more clients than users."""
    _check(clients, labels)
    if users is None:
        raise ValueError("users=None must be a number for each sample; give the data set users, or deal it otherwise")
    if len(users) != len(labels):
        raise ValueError(f"users of {len(users)} samples must be of all {len(labels)}")
    users = np.asarray(users)
    numbers, counts = np.unique(users, return_counts=True)
    if clients > len(numbers):
        raise ValueError(f"clients={clients} must be <= {len(numbers)}, the users with a sample")
    most = np.sort(numbers[np.argsort(-counts, kind="stable")[:clients]])
    return [np.flatnonzero(users == number) for number in most]


@checked
def even(labels: Labels, seed: int, partition: MakeParts, samples: Count, users: Users = None) -> Parts:
    """Keep equally many samples of every client of another partition, a function of `labels`, `seed`, and perhaps
    `users`; they are drawn at random. Raises ValueError as `deal` does, and for a client with fewer samples."""
    parts = deal(partition, labels, seed, users)
    fewest = min(map(len, parts))
    if samples > fewest:
        raise ValueError(f"samples={samples} must be <= {fewest}, those of the client with the fewest")
    random = seeds.generator(seed, data="even")
    return [np.sort(random.choice(part, samples, replace=False)) for part in parts]


def _check(clients: int, labels: Labels) -> None:
    """Raise TypeError unless labels are an array of integers (n,), ValueError for more clients than samples."""
    masked = isinstance(labels, np.ma.MaskedArray)
    if masked or not isinstance(labels, np.ndarray) or labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise TypeError("labels must be an array of integers of shape (n,), without a mask, a class for each sample")
    samples = len(labels)
    if clients > samples:
        raise ValueError(f"clients={clients} must be <= {samples}, the samples")


def _shuffle(labels: Labels, seed: int) -> NDArray[np.int64]:
    return seeds.generator(seed, data="partition").permutation(len(labels))
