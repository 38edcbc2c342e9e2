"""Partitions of training samples among clients: arrays of sample numbers, disjoint between clients."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.parameters import Count, Positive, checked

Labels = NDArray[np.int64]
Parts = list[NDArray[np.int64]]  # for every client, the numbers of its samples
MakeParts = Callable[..., Parts]  # the function that a config of conf/partition makes, of labels and seed


@checked
def iid(labels: Labels, seed: int, clients: Count, balanced: bool = False) -> Parts:
    """Divide the samples at random into equal shares of n // clients; the remaining samples are dropped.

    Arguments:
        labels: classes of all samples (n,).
        seed: root of the random order of the samples.
        clients: number of clients.
        balanced: whether clients have the same number of samples of each class, up to one (tang2021 §4.2), instead of
            uniformly random samples (zhang2021 §6.2).

    Raises:
        ValueError: for more clients than samples.
    """
    _check(clients, labels)
    share = len(labels) // clients
    order = _shuffle(labels, seed)[: share * clients]
    if balanced:  # client c gets every clients-th sample of the order by class
        order = order[np.argsort(labels[order], kind="stable")]
        return [order[c::clients] for c in range(clients)]
    return list(order.reshape(clients, share))


@checked
def one_class(labels: Labels, seed: int, clients: Count, samples: Count = 5) -> Parts:
    """Give every client samples of a single class; client i has the class of number i mod classes.

    tang2021 §4.2 has 10,000 clients of 5 samples.

    Arguments:
        labels: classes of all samples (n,).
        seed: root of the random order of the samples.
        clients: number of clients.
        samples: samples of each client.

    Raises:
        ValueError: where a class has too few samples.
    """
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
    """Divide every class among the clients in proportions from a symmetric Dirichlet distribution.

    Arguments:
        labels: classes of all samples (n,).
        seed: root of the proportions, and of the random order of the samples.
        clients: number of clients.
        alpha: parameter of the distribution; the smaller it is, the more the clients differ.

    Raises:
        ValueError: where a client has no sample.
    """
    _check(clients, labels)
    random = seeds.generator(seed, data="dirichlet", clients=clients)
    order = _shuffle(labels, seed)
    by_client: list[list[NDArray[np.int64]]] = [[] for _ in range(clients)]
    for c in np.unique(labels):
        members = order[labels[order] == c]
        cuts = np.cumsum(random.dirichlet(np.full(clients, alpha)))[:-1] * len(members)
        for client, part in enumerate(np.split(members, cuts.round().astype(int))):
            by_client[client].append(part)
    parts = [np.concatenate(part) for part in by_client]
    if empty := [client for client, part in enumerate(parts) if not len(part)]:
        raise ValueError(
            f"alpha={alpha} leaves {len(empty)} of {clients} clients without a sample; raise alpha, or lower clients"
        )
    return parts


def _check(clients: int, labels: Labels) -> None:
    """Raise TypeError unless labels are an array of integers (n,), and ValueError for more clients than samples."""
    if not isinstance(labels, np.ndarray) or labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise TypeError("labels must be an array of integers of shape (n,), a class for each sample")
    samples = len(labels)
    if clients > samples:
        raise ValueError(f"clients={clients} must be <= {samples}, the samples")


def _shuffle(labels: Labels, seed: int) -> NDArray[np.int64]:
    """The numbers of all samples, in random order."""
    return seeds.generator(seed, data="partition").permutation(len(labels))
