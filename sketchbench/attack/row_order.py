"""Gradient inversion without the key, for messages whose numbers have a public order.

A message of Rand-K, or of a subsampled transform without signs, has m of n public numbers, in their order: the key only
hides the choice. The attacker sums over all ascending choices at once, as in a hidden Markov model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.adam import AdamOptimiser
from sketchbench.attack.square_root import square_root
from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Positive
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.operators import SketchedUpdate, on_cpu
from sketchbench.compressor.sparse import RandomK
from sketchbench.learning.model import autograd
from sketchbench.sketch.transform import SubsampledHadamard

DEVIATIONS = 3.5  # largest deviation of a number's place from its mean, in standard deviations
OUTLIER = 1e-6  # likelihood of a number that no place explains, relative to a number that its place explains exactly
FLOOR = 0.01  # least standard deviation of a number, over the root mean square of all
TINY = 1e-300  # smaller values are lost in float64

Numbers = NDArray[np.float32]
Exact = NDArray[np.float64]
Places = NDArray[np.int64]
Images = Callable[[Tensor], Tensor]  # of a prior, from coordinates (T, pixels)
Possible = Callable[[Tensor], Tensor]  # from images (T, pixels) to numbers (T, n)


class Posterior(NamedTuple):
    """The posterior of the places of a message's numbers."""

    weights: Numbers  # the mean count of numbers from each place, (T, n)
    means: Numbers  # their mean, (T, n); 0 for a place without numbers
    log_likelihood: NDArray[np.float64]  # of the message, (T,), up to a constant


def public_numbers(compressor: Compressor, at: At) -> Callable[[Tensor], Tensor]:
    """Map updates (T, d) to all n numbers that a message may have, in their public order, (T, n). They have the scale
    of the message, as if its transform had no signs. Raises ValueError for a compressor without such an order."""
    if isinstance(compressor, RandomK):
        return lambda x: x
    family = compressor.sketch_family if isinstance(compressor, SketchedUpdate) else None
    if not isinstance(family, SubsampledHadamard):
        raise ValueError(f"the numbers of {type(compressor).__name__} come in no public order; choose fiht or random_k")
    scale = (family.n / family.b) ** 0.5
    every = SubsampledHadamard(family.d, family.n, signs=False, pad=family.pad).draw(0, kernels=on_cpu(at).kernels.NAME)
    return lambda x: scale * autograd.sketch(every, x)


class Lattice:
    """The places of each of m numbers: all ascending choices of m of n, with equal probability. Places up to DEVIATIONS
    standard deviations from the number's mean place are considered."""

    def __init__(self, m: int, n: int) -> None:
        ranks = np.arange(1, m + 1)
        mean, share = ranks * (n + 1) / (m + 1) - 1, ranks / (m + 1)
        deviation = np.sqrt(share * (1 - share) * (n + 1) * (n - m) / (m + 2)).max()
        self.n, self.width = n, min(n, int(2 * DEVIATIONS * deviation) + 3)
        self.first = np.clip(np.rint(mean - self.width / 2), 0, n - self.width).astype(int)

    def posterior(self, seen: Numbers, possible: Numbers, deviations: Numbers) -> Posterior:
        """Return the posterior by the forward and backward algorithm, O(T m width).

        Arguments:
            seen: (T, m).
            possible: the n numbers, (T, n).
            deviations: standard deviation of the number from each place, (T, n), > 0.
        """
        trials = len(seen)
        counts, sums, log = np.zeros((trials, self.n)), np.zeros((trials, self.n)), np.zeros(trials)
        for t in range(trials):
            log[t] = _count(seen[t], possible[t], 1 / deviations[t], self.first, self.width, counts[t], sums[t])
        means = sums / np.maximum(counts, TINY)
        return Posterior(counts.astype(np.float32), means.astype(np.float32), log)


@njit(cache=True, fastmath=True)
def _count(
    seen: Numbers, possible: Numbers, precise: Numbers, first: Places, width: int, counts: Exact, sums: Exact
) -> float:
    """Add a trial's posterior weights to `counts` and weighted sums to `sums`, (n,); return the log-likelihood."""
    m, log = len(seen), 0.0
    likely, forward, totals = np.empty((m, width), np.float32), np.empty((m, width)), np.zeros(m)
    for j in range(m):
        start, number, own = first[j], seen[j], likely[j]
        for k in range(width):
            unit = precise[start + k]
            off = (possible[start + k] - number) * unit
            own[k] = np.exp(np.float32(-0.5) * off * off) * unit + np.float32(OUTLIER) * unit
        moved = start - first[j - 1] if j else width
        before = TINY if j else 1.0
        for k in range(moved if j else 0):
            before += forward[j - 1, k]
        for k in range(width):
            forward[j, k] = own[k] * before
            totals[j] += forward[j, k]
            if k + moved < width:
                before += forward[j - 1, k + moved]
        log += np.log(totals[j])
        for k in range(width):
            forward[j, k] /= totals[j]
    backward = np.ones(width)
    for j in range(m - 1, -1, -1):
        start = first[j]
        for k in range(width):
            share = forward[j, k] * backward[k]
            counts[start + k] += share
            sums[start + k] += share * seen[j]
            backward[k] *= likely[j, k] / totals[j]
        moved, after = start - first[j - 1] if j else 0, TINY
        for k in range(width - moved, width):
            after += backward[k]
        for k in range(width - 1, -1, -1):  # the places after place k of the last number begin at k - moved + 1
            last = backward[k - moved] if k >= moved else 0.0
            backward[k] = after
            after += last
    return log


@dataclass(frozen=True)
class OrderAttack(Checked):
    """Ascent on the exact likelihood of a message from the class mean, with the prior of the image's class.

    It is the EM algorithm with Adam steps for the maximisation, while the standard deviations of numbers fall. A number
    has its value at the current image as its mean, and a share of its prior standard deviation. So each place counts by
    the certainty of its number. With equal deviations, a few large numbers would decide.
    """

    passes: AtLeastTwo  # of the forward and backward algorithm, >= 2
    steps: Count  # of Adam after each pass
    rate: Positive  # of Adam, for the prior's standard normal coordinates
    draws: Count  # images of the prior from which the numbers' variation is estimated
    deviation: Positive  # a number's first standard deviation, over the prior's
    last: Positive  # the same in the last pass. It must not become so small that wrong places explain most numbers

    def run(self, seen: Tensor, possible: Possible, images: Images, pixels: int, seed: int) -> Tensor:
        """Reconstruct the images (T, pixels), in [0, 1], behind messages without noise.

        Arguments:
            seen: the m numbers of a message, (T, m).
            possible: maps images (T, pixels) to all numbers (T, n) that a message may have, in their public order.
            images: maps the prior's coordinates (T, pixels) to images.
            pixels: of an image.
            seed: of the draws.
        """
        numbers = seen.numpy()
        z = torch.zeros(len(seen), pixels)
        spread = self._spread(numbers, possible, images, seeds.generator(seed, attack="order"), z)
        lattice = Lattice(seen.shape[1], spread.shape[1])
        optimiser = AdamOptimiser([z.requires_grad_()], self.rate)
        for share in np.geomspace(self.deviation, self.last, self.passes):
            deviations = (share * spread).astype(np.float32)
            with torch.no_grad():
                found = lattice.posterior(numbers, possible(images(z)).numpy(), deviations)
            weights, means, units = map(torch.from_numpy, (found.weights, found.means, deviations))
            for _ in range(self.steps):
                off = weights * ((possible(images(z)) - means) / units).square()
                optimiser.step(torch.autograd.grad((off.sum() + z.square().sum()) / 2, z))
        return images(z).detach().clamp(0, 1)

    @torch.no_grad()
    def _spread(
        self, seen: Numbers, possible: Possible, images: Images, random: np.random.Generator, mean: Tensor
    ) -> Exact:
        """Root mean square deviation (T, n) of prior images' numbers from the mean's, at least FLOOR times `seen`'s."""
        middle, squares = possible(images(mean)), torch.zeros(())
        for _ in range(self.draws):
            z = torch.tensor(random.standard_normal(mean.shape), dtype=mean.dtype)
            squares = squares + (possible(images(z).clamp(0, 1)) - middle).square()
        size = np.sqrt(np.square(seen).mean(axis=1, keepdims=True)).clip(np.finfo(np.float32).tiny)
        return np.asarray(square_root(squares / self.draws).numpy() + FLOOR * size)
