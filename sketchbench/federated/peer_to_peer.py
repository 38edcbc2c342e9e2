"""Decentralised double-blind learning: neighbours on a ring exchange sketched weights (zhang2021 Appendix D).

The paper says that two neighbours agree upon a seed and exchange the sketches of their parameters, and not what they
make of them. Here a node moves a little towards what it sees of its neighbour, W_i ← W_i + γ (W_j S - W_i S) Sᵀ for
every neighbour j, and takes a gradient step: what it adds is small where the two agree, so that the sketches' noise
dies down.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.parameters import Checked, Count, Positive

Numbers = NDArray[np.float64]
Sketches = Callable[[int], Numbers]  # from the round to R of each link, (N, b, d); link i is that of nodes i and i + 1


class PeerRound(NamedTuple):
    """The start of round t = 0, 1, ..., T: all nodes' weights, (N, out, d), the sketches of the round's links,
    (N, b, d), and what node i sends over link i, (N, out, b)."""

    t: int
    weights: Numbers
    sketches: Numbers
    sent: Numbers


@dataclass(frozen=True)
class PeerToPeer(Checked):
    """Linear models on a ring of nodes, with one gradient step of the squared loss in a round.

    Arguments:
        rounds: T.
        rate: the learning rate η.
        mixing: γ; the exchange is stable where 4γ times the largest squared singular value of every S is below 2.
    """

    rounds: Count
    rate: Positive
    mixing: Positive

    def run(self, weights: Numbers, features: Numbers, labels: Numbers, sketches: Sketches) -> Iterator[PeerRound]:
        """Train from the given weights, (N, out, d), on each node's features (N, n, d) and labels (N, n, out)."""
        for t in range(self.rounds + 1):
            R = sketches(t)
            sent = weights @ R.transpose(0, 2, 1)
            yield PeerRound(t, weights, R, sent)
            returned = np.roll(weights, -1, axis=0) @ R.transpose(0, 2, 1)  # by node i + 1, over link i
            towards = (returned - sent) @ R
            errors = features @ weights.transpose(0, 2, 1) - labels
            gradients = errors.transpose(0, 2, 1) @ features / features.shape[1]
            weights = weights + self.mixing * (towards - np.roll(towards, 1, axis=0)) - self.rate * gradients


def estimate_unbiased(at: PeerRound) -> Numbers:
    """Node 1's estimate of node 0's weights: W S Sᵀ (option I of zhang2021 §6.3)."""
    return np.asarray(at.sent[0] @ at.sketches[0])


def estimate_nearest(at: PeerRound) -> Numbers:
    """W S S⁺ (option II)."""
    return np.asarray(at.sent[0] @ np.linalg.pinv(at.sketches[0]).T)


def estimate_from_own(at: PeerRound) -> Numbers:
    """Node 1's own weights, but for the part that it sees of node 0's: W_1 + (W_0 - W_1) S S⁺."""
    own, R = at.weights[1], at.sketches[0]
    return np.asarray(own + (at.sent[0] - own @ R.T) @ np.linalg.pinv(R).T)
