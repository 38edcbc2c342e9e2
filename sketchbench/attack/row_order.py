"""Gradient inversion without the key, where the numbers of a message come in a public order.

A message of Rand-K, or of a subsampled transform without signs, has m of n public numbers, in their order: the key only
hides which. The attacker sums over all ascending choices at once, as for a hidden Markov model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.adam import Adam
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.operators import SketchedUpdate, on_cpu
from sketchbench.compressor.sparse import RandomK
from sketchbench.model import autograd
from sketchbench.parameters import Checked, Count, Positive, Several
from sketchbench.sketch.transform import SubsampledHadamard

DEVIATIONS = 3.5  # of the place of a number from its mean, that are considered
OUTLIER = 1e-6  # likelihood of a number that no place explains
TINY = 1e-300  # what is smaller is lost in float64, and would be in float32 from 1e-38 on

Numbers = NDArray[np.float32]
Images = Callable[[Tensor], Tensor]  # of a prior, from coordinates (T, pixels)
Possible = Callable[[Tensor], Tensor]  # from images (T, pixels) to numbers (T, n)


class Posterior(NamedTuple):
    """Where the numbers of a message come from.

    Attributes:
        weights: the mean number of numbers that come from each place, (T, n).
        means: their mean, (T, n); 0 where there are none.
        log_likelihood: of the message, (T,), up to a constant.
    """

    weights: Numbers
    means: Numbers
    log_likelihood: NDArray[np.float64]


def public_numbers(compressor: Compressor, at: At) -> Callable[[Tensor], Tensor]:
    """All n numbers of updates (T, d) that a message may have, in their public order, (T, n), with the constant of the
    message, as if its transform had no signs.

    Raises:
        ValueError: for a compressor without such an order.
    """
    if isinstance(compressor, RandomK):
        return lambda x: x
    family = compressor.sketch_family if isinstance(compressor, SketchedUpdate) else None
    if not isinstance(family, SubsampledHadamard):
        raise ValueError(f"the numbers of {type(compressor).__name__} come in no public order; choose fiht or random_k")
    scale = (family.n / family.b) ** 0.5
    every = SubsampledHadamard(family.d, family.n, signs=False, pad=family.pad).draw(0, kernels=on_cpu(at).kernels.NAME)
    return lambda x: scale * autograd.sketch(every, x)


class Lattice:
    """The places from which each of m numbers may come: ascending choices of m of n, each as likely.

    A place is considered up to DEVIATIONS standard deviations from the mean place of a number.
    """

    def __init__(self, m: int, n: int) -> None:
        ranks = np.arange(1, m + 1)
        mean, share = ranks * (n + 1) / (m + 1) - 1, ranks / (m + 1)
        deviation = np.sqrt(share * (1 - share) * (n + 1) * (n - m) / (m + 2)).max()
        self.n, self.width = n, min(n, int(2 * DEVIATIONS * deviation) + 3)
        self.first = np.clip(np.rint(mean - self.width / 2), 0, n - self.width).astype(int)
        self._shifts = np.diff(self.first, prepend=self.first[0])

    def posterior(self, seen: Numbers, possible: Numbers, deviation: Numbers) -> Posterior:
        """By the forward and backward algorithm, O(T m width).

        Arguments:
            seen: (T, m).
            possible: the n numbers, (T, n).
            deviation: standard deviation of a number, (T,).
        """
        count, trials = len(self.first), len(seen)
        likelihoods = self._likelihoods(seen, possible, deviation)
        forward, sums_before = np.empty_like(likelihoods), np.empty(likelihoods.shape[1:])
        log = np.zeros(trials)
        for j in range(count):
            if j:
                _before(forward[j - 1], self._shifts[j], sums_before)
                np.multiply(likelihoods[j], sums_before, out=forward[j])
            else:
                forward[j] = likelihoods[j]
            total = forward[j].sum(axis=1)
            forward[j] /= total[:, None]
            log += np.log(total)
        counts, sums = np.zeros((trials, self.n)), np.zeros((trials, self.n))
        backward = np.ones_like(sums_before)  # from the last place to the first, for which sums need no copy
        share = np.empty_like(sums_before)
        for j in reversed(range(count)):
            np.multiply(forward[j], backward[:, ::-1], out=share)
            share /= share.sum(axis=1, keepdims=True) + TINY
            here = slice(self.first[j], self.first[j] + self.width)
            counts[:, here] += share
            share *= seen[:, [j]]
            sums[:, here] += share
            if j:
                backward *= likelihoods[j][:, ::-1]
                _before(backward, self._shifts[j], sums_before)
                np.divide(sums_before, sums_before.max(axis=1, keepdims=True) + TINY, out=backward)
        means = sums / np.maximum(counts, TINY)
        return Posterior(counts.astype(np.float32), means.astype(np.float32), log)

    def _likelihoods(self, seen: Numbers, possible: Numbers, deviation: Numbers) -> NDArray[np.float64]:
        """Of each number at each of its places, (m, T, width)."""
        values = np.stack([possible[:, start : start + self.width] for start in self.first])
        values -= seen.T[:, :, None]
        values /= deviation[:, None]
        np.square(values, out=values)
        values *= -0.5
        np.exp(values, out=values)
        return values.astype(np.float64) + OUTLIER


def _before(values: NDArray[np.float64], shift: int, out: NDArray[np.float64]) -> None:
    """Sums of the values (T, width) at the places before each place, where places start `shift` later; at least
    TINY."""
    sums, width = np.cumsum(values, axis=1), values.shape[1]
    if shift:
        stop = max(0, width - shift + 1)
        np.maximum(sums[:, shift - 1 :], TINY, out=out[:, :stop])
        np.maximum(sums[:, -1:], TINY, out=out[:, stop:])
    else:
        out[:, 0] = TINY
        np.maximum(sums[:, :-1], TINY, out=out[:, 1:])


@dataclass(frozen=True)
class OrderAttack(Checked):
    """Ascent on the exact likelihood of a message, with the prior of the image's class, from the class mean: the EM
    algorithm, with steps of Adam in the place of a maximum, while the standard deviation of a number falls.

    Arguments:
        passes: of the forward and backward algorithm, >= 2.
        steps: of Adam after each pass.
        rate: of Adam, for the prior's standard normal coordinates.
        deviation: of a number at first, over the root mean square of all.
        last: the same in the last pass.
    """

    passes: Several
    steps: Count
    rate: Positive
    deviation: Positive
    last: Positive

    def run(self, seen: Tensor, possible: Possible, images: Images, pixels: int) -> Tensor:
        """Reconstruct the images (T, pixels), in [0, 1], behind messages without noise.

        Arguments:
            seen: the m numbers of a message, (T, m).
            possible: all numbers (T, n), in their public order, that messages of images (T, pixels) may have, of which
                a message has m.
            images: of the prior, from coordinates (T, pixels).
            pixels: of an image.
        """
        numbers = seen.numpy()
        size = np.sqrt(np.square(numbers).mean(axis=1)).clip(np.finfo(np.float32).tiny)
        z = torch.zeros(len(seen), pixels)
        with torch.no_grad():
            lattice = Lattice(seen.shape[1], possible(images(z)).shape[1])
        optimiser = Adam([z.requires_grad_()], self.rate)
        for share in np.geomspace(self.deviation, self.last, self.passes):
            deviation = (share * size).astype(np.float32)
            with torch.no_grad():
                found = lattice.posterior(numbers, possible(images(z)).numpy(), deviation)
            weights, means = torch.from_numpy(found.weights), torch.from_numpy(found.means)
            unit = torch.from_numpy(deviation)[:, None]
            for _ in range(self.steps):
                off = weights * ((possible(images(z)) - means) / unit).square()
                optimiser.step(torch.autograd.grad((off.sum() + z.square().sum()) / 2, z))
        return images(z).detach().clamp(0, 1)
