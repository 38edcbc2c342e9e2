"""The vectors that sketches are tried on: pairs (g, h) of unit norm."""

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.dataset import digits
from sketchbench.objective import logistic

Vector = NDArray[np.float64]

PAIRS = ("random", "equal", "spike", "flat", "two_spikes", "disjoint", "gradient")


def pair(name: str, d: int, seed: int) -> tuple[Vector, Vector]:
    """The pair (g, h) of a name, each of shape (d,) and norm 1; the same for every family.

    random: independent Gaussian directions. equal: g = h, a Gaussian direction. spike: g = h = the
    last unit vector. flat: g = h, all entries equal. two_spikes: g = h, at both ends. disjoint: flat
    on either half. gradient: real gradients of two clients (see `gradients`); needs d = 640.
    """
    if name not in PAIRS:
        raise ValueError(f"pair {name} is unknown; choose from {', '.join(PAIRS)}")
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
    """Gradients of two clients in a multinomial logistic regression on digits: 64 x 10 weights.

    The data is split at random into halves, one to each client; the common weights have taken ten
    steps of gradient descent (step 1) from zero, so that neither noise nor the start dominates.
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
