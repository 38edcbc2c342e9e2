"""Test vectors for sketches: pairs (g, h) of unit norm."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import choose
from sketchbench.learning.dataset import digits
from sketchbench.learning.objective import logistic

Vector = NDArray[np.float64]

Pair = Literal["random", "equal", "spike", "flat", "two_spikes", "disjoint", "gradient"]


def pair(name: str, d: int, seed: int) -> tuple[Vector, Vector]:
    """A pair of test vectors, (d,) each, the same for every family of sketches.

    Raises ValueError for an unknown name, or a d that the pair can't have. Names:
        random: independent Gaussian directions.
        equal: g = h, a Gaussian direction.
        spike: g = h, the last basis vector.
        flat: g = h, all entries equal.
        two_spikes: g = h, the first and the last entry equal, the others 0.
        disjoint: g is constant on the first half of the entries and 0 on the other, h the reverse; needs d >= 2.
        gradient: gradients of two clients (see `gradients`); needs d = 640.
    """
    choose("pair", name, get_args(Pair))
    random = seeds.generator(seed, data="pairs", d=d, pair=name)
    position = np.arange(d)
    if name == "random":
        return _unit(random.standard_normal(d)), _unit(random.standard_normal(d))
    if name == "gradient":
        return gradients(d, seed)
    if name == "disjoint":
        if d < 2:
            raise ValueError(f"pair disjoint needs d >= 2, not d={d}")
        half = position < d // 2
        return _unit(half.astype(float)), _unit((~half).astype(float))
    same = {
        "equal": random.standard_normal(d),
        "spike": (position == d - 1).astype(float),
        "flat": np.ones(d),
        "two_spikes": ((position == 0) | (position == d - 1)).astype(float),
    }[name]
    return _unit(same), _unit(same)


def gradients(d: int, seed: int) -> tuple[Vector, Vector]:
    """Gradients of two clients in a multinomial logistic regression on the digits data, 64 x 10 weights.

    Returns two gradients of shape (640,), scaled to norm 1. Each client has a random half of the data. Both gradients
    are taken at the weights after ten steps of gradient descent with step size 1 on all data, from zero weights, where
    neither noise nor the start dominates them. Raises ValueError unless d is 640.
    """
    data = digits.load()
    features, labels = data.features(data.whole), data.whole.labels
    size = features.shape[1] * (int(labels.max()) + 1)
    if d != size:
        raise ValueError(f"pair gradient needs d={size}, not d={d}; leave it out of task.pairs")
    weights = np.zeros(size)
    for _ in range(10):
        weights -= logistic.gradient(weights, features, labels)
    order = seeds.generator(seed, data="digits split").permutation(len(labels))
    halves = np.array_split(order, 2)
    g, h = (logistic.gradient(weights, features[half], labels[half]) for half in halves)
    return _unit(g), _unit(h)


def _unit(v: Vector) -> Vector:
    return v / np.linalg.norm(v)
