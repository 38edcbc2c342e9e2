"""Decentralised double-blind learning: neighbours on a ring exchange sketched weights (zhang2021 Appendix D).

In the paper two neighbours agree upon a seed and exchange sketches of their weights; it does not say how they use them.
Here a node takes a step towards each neighbour j, W_i ← W_i + γ (W_j S - W_i S) Sᵀ, and a gradient step. The first step
is small if the two nodes agree, so that the noise of the sketches dies down.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Checked, Count, Positive
from sketchbench.learning.dataset.arrays import check_array
from sketchbench.measure.numbers import check_finite

Numbers = NDArray[np.float64]
Sketches = Callable[[int], Numbers]  # from a round to R of each link, (N, b, d); link i joins nodes i and i + 1


class PeerRound(NamedTuple):
    """The start of round t = 0, 1, ..., T."""

    t: int
    weights: Numbers  # of all nodes, (N, out, d)
    sketches: Numbers  # R of each link, (N, b, d)
    sent: Numbers  # the sketched weights that node i sends over link i, (N, out, b)


@dataclass(frozen=True)
class PeerToPeer(Checked):
    """Linear models on a ring of nodes, with one gradient step on the squared loss per round."""

    rounds: Count  # T
    rate: Positive  # the learning rate η
    mixing: Positive  # γ; the exchange is stable if 4γ times the largest squared singular value of every S is below 2

    def run(self, weights: Numbers, features: Numbers, labels: Numbers, sketches: Sketches) -> Iterator[PeerRound]:
        """Train from weights (N, out, d) on each node's features (N, n, d) and labels (N, n, out); yield rounds 0 to T.
        Raises ValueError for arrays that are not float64 or not finite, or whose shapes don't fit together; in a round,
        for sketches of another shape."""
        arrays = {"weights": weights, "features": features, "labels": labels}
        for (name, array), axes in zip(arrays.items(), ("Nod", "Nnd", "Nno"), strict=True):
            check_array(name, array, np.float64, *axes)
            check_finite(name, array)
        (nodes, outputs, d), samples = weights.shape, features.shape[1]
        if features.shape != (nodes, samples, d) or labels.shape != (nodes, samples, outputs) or not weights.size:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise ValueError(f"{shapes} must be (N, out, d), (N, n, d) and (N, n, out), and not empty")
        if not samples:
            raise ValueError(f"features {features.shape} must have at least one sample of each node")
        return self._rounds(weights, features, labels, sketches)

    def _rounds(self, weights: Numbers, features: Numbers, labels: Numbers, sketches: Sketches) -> Iterator[PeerRound]:
        for t in range(self.rounds + 1):
            R = sketches(t)
            if R.ndim != 3 or (len(R), R.shape[2]) != (len(weights), weights.shape[2]):
                raise ValueError(f"sketches {R.shape} of round {t} must be ({len(weights)}, b, {weights.shape[2]})")
            sent = weights @ R.transpose(0, 2, 1)
            yield PeerRound(t, weights, R, sent)
            returned = np.roll(weights, -1, axis=0) @ R.transpose(0, 2, 1)  # by node i + 1, over link i
            towards = (returned - sent) @ R
            errors = features @ weights.transpose(0, 2, 1) - labels
            gradients = errors.transpose(0, 2, 1) @ features / features.shape[1]
            weights = weights + self.mixing * (towards - np.roll(towards, 1, axis=0)) - self.rate * gradients


def estimate_unbiased(at: PeerRound) -> Numbers:
    """Node 1's unbiased estimate of node 0's weights: W S Sᵀ (option I of zhang2021 §6.3)."""
    return np.asarray(at.sent[0] @ at.sketches[0])


def estimate_nearest(at: PeerRound) -> Numbers:
    """Node 1's nearest estimate of node 0's weights: W S S⁺ (option II)."""
    return np.asarray(at.sent[0] @ np.linalg.pinv(at.sketches[0]).T)


def estimate_from_own(at: PeerRound) -> Numbers:
    """Node 1's estimate of node 0's weights from its own: W_1 + (W_0 - W_1) S S⁺, which is exact on the span of S."""
    own, R = at.weights[1], at.sketches[0]
    return np.asarray(own + (at.sent[0] - own @ R.T) @ np.linalg.pinv(R).T)
