"""How training samples are dealt out to clients: index arrays that share no sample."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds

Labels = NDArray[np.int64]
Parts = list[NDArray[np.int64]]
MakeParts = Callable[..., Parts]  # what a config of conf/partition gives; it wants labels and seed


def iid(labels: Labels, seed: int, clients: int, balanced: bool = False) -> Parts:
    """Equal shares at random; what is left over is dropped.

    balanced: with equally many samples of each class for every client, or one more or less, as tang2021 §4.2
    has it; else uniformly at random (zhang2021 §6.2).
    """
    _check(clients, len(labels))
    share = len(labels) // clients
    order = _shuffled(labels, seed)[: share * clients]
    if balanced:  # client c gets every clients-th sample of the order by class
        order = order[np.argsort(labels[order], kind="stable")]
        return [order[c::clients] for c in range(clients)]
    return list(order.reshape(clients, share))


def one_class(labels: Labels, seed: int, clients: int, samples: int = 5) -> Parts:
    """`samples` of a single class to each client, the classes in turn (tang2021 §4.2: 10,000 clients of 5).

    Raises ValueError where a class has too few samples.
    """
    _check(clients, len(labels))
    if samples < 1:
        raise ValueError(f"samples={samples} of a client must be >= 1")
    classes = np.unique(labels)
    order = _shuffled(labels, seed)
    own = {c: order[labels[order] == c] for c in classes}
    parts = []
    for client in range(clients):
        number = client // len(classes)
        c = classes[client % len(classes)]
        part = own[c][number * samples : (number + 1) * samples]
        if len(part) < samples:
            raise ValueError(
                f"clients={clients} with {samples} samples of one class need more than the {len(own[c])} of "
                f"class {c}; lower clients or samples"
            )
        parts.append(part)
    return parts


def dirichlet(labels: Labels, seed: int, clients: int, alpha: float = 0.5) -> Parts:
    """Each class is divided in proportions from a symmetric Dirichlet distribution: the smaller alpha, the
    more the clients differ. A client may get nothing of a class, and must get something in all.

    Raises ValueError where some client gets nothing.
    """
    _check(clients, len(labels))
    if not alpha > 0:
        raise ValueError(f"alpha={alpha} must be > 0")
    random = seeds.generator(seed, data="dirichlet", clients=clients)
    order = _shuffled(labels, seed)
    dealt: list[list[NDArray[np.int64]]] = [[] for _ in range(clients)]
    for c in np.unique(labels):
        own = order[labels[order] == c]
        cuts = np.cumsum(random.dirichlet(np.full(clients, alpha)))[:-1] * len(own)
        for client, part in enumerate(np.split(own, cuts.round().astype(int))):
            dealt[client].append(part)
    parts = [np.concatenate(part) for part in dealt]
    if empty := [client for client, part in enumerate(parts) if not len(part)]:
        raise ValueError(
            f"alpha={alpha} leaves {len(empty)} of {clients} clients without a sample; raise alpha, or lower clients"
        )
    return parts


def _check(clients: int, samples: int) -> None:
    if not 1 <= clients <= samples:
        raise ValueError(f"clients={clients} must satisfy 1 <= clients <= {samples}, the samples")


def _shuffled(labels: Labels, seed: int) -> NDArray[np.int64]:
    return seeds.generator(seed, data="partition").permutation(len(labels))
