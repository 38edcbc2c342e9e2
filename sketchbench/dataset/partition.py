"""How training samples are dealt out to clients: index arrays that share no sample."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.parameters import Count, Positive, checked

Labels = NDArray[np.int64]
Parts = list[NDArray[np.int64]]  # for every client, the numbers of its samples
MakeParts = Callable[..., Parts]  # what a config of conf/partition gives; it wants labels and seed


@checked
def iid(labels: Labels, seed: int, clients: Count, balanced: bool = False) -> Parts:
    """Equal shares at random; what is left over is dropped.

    Arguments:
        labels: classes of all samples (n,).
        seed: root of the order in which samples are dealt out.
        clients: number of clients.
        balanced: give every client equally many samples of each class, or one more or less (tang2021 §4.2), instead
            of choosing uniformly at random (zhang2021 §6.2).

    Raises:
        ValueError: for more clients than samples.
    """
    _check(clients, labels)
    share = len(labels) // clients
    order = _shuffled(labels, seed)[: share * clients]
    if balanced:  # client c gets every clients-th sample of the order by class
        order = order[np.argsort(labels[order], kind="stable")]
        return [order[c::clients] for c in range(clients)]
    return list(order.reshape(clients, share))


@checked
def one_class(labels: Labels, seed: int, clients: Count, samples: Count = 5) -> Parts:
    """Samples of a single class to each client, the classes in turn (tang2021 §4.2: 10,000 clients of 5).

    Arguments:
        labels: classes of all samples (n,).
        seed: root of the order in which samples are dealt out.
        clients: number of clients.
        samples: samples of each client.

    Raises:
        ValueError: where a class has too few samples.
    """
    _check(clients, labels)
    classes = np.unique(labels)
    order = _shuffled(labels, seed)
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
    """Each class divided among the clients in proportions from a symmetric Dirichlet distribution.

    Arguments:
        labels: classes of all samples (n,).
        seed: root of the proportions, and of the order in which samples are dealt out.
        clients: number of clients.
        alpha: parameter of the distribution; the smaller, the more the clients differ.

    Raises:
        ValueError: where some client gets no sample of any class.
    """
    _check(clients, labels)
    random = seeds.generator(seed, data="dirichlet", clients=clients)
    order = _shuffled(labels, seed)
    dealt: list[list[NDArray[np.int64]]] = [[] for _ in range(clients)]
    for c in np.unique(labels):
        members = order[labels[order] == c]
        cuts = np.cumsum(random.dirichlet(np.full(clients, alpha)))[:-1] * len(members)
        for client, part in enumerate(np.split(members, cuts.round().astype(int))):
            dealt[client].append(part)
    parts = [np.concatenate(part) for part in dealt]
    if empty := [client for client, part in enumerate(parts) if not len(part)]:
        raise ValueError(
            f"alpha={alpha} leaves {len(empty)} of {clients} clients without a sample; raise alpha, or lower clients"
        )
    return parts


def _check(clients: int, labels: Labels) -> None:
    """Raise TypeError unless labels are an array of integers (n,), ValueError unless n is at least `clients`."""
    if not isinstance(labels, np.ndarray) or labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise TypeError("labels must be an array of integers of shape (n,), a class for each sample")
    samples = len(labels)
    if clients > samples:
        raise ValueError(f"clients={clients} must be <= {samples}, the samples")


def _shuffled(labels: Labels, seed: int) -> NDArray[np.int64]:
    """The numbers of all samples, in random order."""
    return seeds.generator(seed, data="partition").permutation(len(labels))
