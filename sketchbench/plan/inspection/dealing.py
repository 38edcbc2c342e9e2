"""Checks of a partition: its use of the seed, and of the order of the images in their file."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.learning.dataset.partition import Parts, Users, by_user

UNUSUAL = 6  # standard deviations


def is_fixed(partition: Callable[..., Any]) -> bool:
    """Return whether a partition says that it ignores the seed: by its attribute `fixed`, or as `by_user`."""
    while isinstance(partition, functools.partial):
        partition = partition.func
    return partition is by_user or getattr(partition, "fixed", False) is True


def shares(parts: Parts) -> set[bytes]:
    """The clients' shares, without the order of clients and of samples."""
    return {np.sort(part).tobytes() for part in parts}


def order(parts: Parts, labels: NDArray[np.int64], users: Users = None) -> str:
    """Name a partition that follows the order of the images: return a note, or "".

    The number of consecutive images of one client is compared with its mean over all deals that give each client as
    many images of each class, or of each user if `users` are given. So clients of one class are no surprise in a file
    in the order of its classes. A note stands for a distance of UNUSUAL standard deviations, which a random deal has
    with a probability of about 2e-9. A block of the file for each client is seen from 36 pairs on.
    """
    clients = np.full(len(labels), -1)
    for client, part in enumerate(parts):
        clients[part] = client
    dealt = clients >= 0
    groups = np.unique(labels if users is None else users, return_inverse=True)[1]
    counts = np.zeros((groups.max() + 1, len(parts)))
    np.add.at(counts, (groups[dealt], clients[dealt]), 1)
    one, other = (part[dealt[:-1] & dealt[1:]] for part in (groups[:-1], groups[1:]))
    together = dealt[:-1] & dealt[1:] & (clients[:-1] == clients[1:])
    totals = counts.sum(axis=1)
    joint = counts @ counts.T
    alike = joint / np.maximum(np.outer(totals, totals), 1)
    same = (joint.diagonal() - totals) / np.maximum(totals * (totals - 1), 1)  # two different images of a group
    chances = np.where(one == other, same[one], alike[one, other])
    expected, deviation = chances.sum(), np.sqrt((chances * (1 - chances)).sum())
    if abs(together.sum() - expected) <= UNUSUAL * deviation:
        return ""
    given = "class" if users is None else "user"
    return (
        f"clients follow the order of the images in their file: {together.sum():,} of {len(one):,} consecutive images "
        f"are of one client, and {expected:,.0f} would be in a random deal of each {given}; shuffle them by `seed`, "
        "unless this is meant"
    )


def classes_of_clients(parts: Parts, labels: NDArray[np.int64], users: Users = None) -> str:
    """State the number of classes, and of users if known, of a client: `1 to 3 classes, 1 user`."""
    found = {"class": labels} if users is None else {"class": labels, "user": users}
    words = []
    for name, numbers in found.items():
        counts = [len(np.unique(numbers[part])) for part in parts]
        least, most = min(counts), max(counts)
        plural = name if most == 1 else f"{name}es" if name == "class" else f"{name}s"
        words.append(f"{most if least == most else f'{least} to {most}'} {plural}")
    return ", ".join(words)
