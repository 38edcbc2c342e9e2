"""Gradient inversion without the key, where the numbers of a message come in a public order.

A message of Rand-K, or of a subsampled transform without signs, has m of n public numbers, in their order: the key only
hides which. The attacker sums over all ascending choices at once, as for a hidden Markov model.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.prior import ClassPriors
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.operators import SketchedUpdate, on_cpu
from sketchbench.compressor.sparse import RandomK
from sketchbench.model import autograd
from sketchbench.model.classification import Samples
from sketchbench.parameters import Checked, Count, NonEmptyList, Positive
from sketchbench.sketch.transform import SubsampledTransform

DEVIATIONS = 3.5  # of the place of a number from its mean, that are considered
OUTLIER = 1e-6  # likelihood of a number that no place explains
TINY = 1e-30
SMALL = 0.1  # mean square of the numbers, as a share, below which they are equally exact

Numbers = NDArray[np.float32]
Images = Callable[[Tensor], Tensor]  # of a prior, from coordinates
Possible = Callable[[Tensor], Tensor]  # from images (T, S, pixels) to numbers (T, S, n)


class Posterior(NamedTuple):
    """Where the numbers of a message come from.

    Attributes:
        weights: the precision of what the numbers tell of each place, (T, n).
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
    if not isinstance(family, SubsampledTransform):
        raise ValueError(f"the numbers of {type(compressor).__name__} come in no public order; choose fiht or random_k")
    scale = (family.n / family.b) ** 0.5
    every = replace(family, b=family.n, signs=False).draw(0, kernels=on_cpu(at).kernels.NAME)
    return lambda x: scale * autograd.sketch(every, x)


class Lattice:
    """The places from which the first `count` of m numbers may come: ascending choices of m of n, each as likely.

    A place is considered up to DEVIATIONS standard deviations from the mean place of a number. The first numbers of a
    message have the fewest places, so that they are the cheapest to explain.
    """

    def __init__(self, count: int, m: int, n: int) -> None:
        ranks = np.arange(1, count + 1)
        mean, share = ranks * (n + 1) / (m + 1) - 1, ranks / (m + 1)
        deviation = np.sqrt(share * (1 - share) * (n + 1) * (n - m) / (m + 2)).max()
        self.n, self.width = n, min(n, int(2 * DEVIATIONS * deviation) + 3)
        self.first = np.clip(np.rint(mean - self.width / 2), 0, n - self.width).astype(int)
        self._shifts = np.diff(self.first, prepend=self.first[0])

    def posterior(self, seen: Numbers, possible: Numbers, deviation: Numbers) -> Posterior:
        """By the forward and backward algorithm, O(T count width).

        Arguments:
            seen: (T, m).
            possible: the n numbers, (T, n).
            deviation: standard deviations of the numbers, (T, m).
        """
        count, trials = len(self.first), len(seen)
        forward, precision = self._likelihoods(seen, possible, deviation), deviation**-2
        log, likelihoods = np.zeros(trials), forward.copy()
        for j in range(count):
            if j:
                forward[j] *= _before(forward[j - 1], self._shifts[j])
            total = forward[j].sum(axis=1)
            forward[j] /= total[:, None]
            log += np.log(total)
        counts, sums = np.zeros((trials, self.n), np.float32), np.zeros((trials, self.n), np.float32)
        backward = np.ones_like(forward[0])
        for j in reversed(range(count)):
            share = forward[j] * backward
            share *= precision[:, [j]] / (share.sum(axis=1, keepdims=True) + TINY)
            here = slice(self.first[j], self.first[j] + self.width)
            counts[:, here] += share
            sums[:, here] += share * seen[:, [j]]
            if j:
                backward *= likelihoods[j]
                backward = _before(backward[:, ::-1], self._shifts[j])[:, ::-1]
                backward = backward / (backward.max(axis=1, keepdims=True) + TINY)
        return Posterior(counts, sums / np.maximum(counts, TINY), log)

    def log_likelihood(self, seen: Numbers, possible: Numbers, deviation: Numbers) -> NDArray[np.float64]:
        """That of `posterior` alone, (T,)."""
        likelihoods = self._likelihoods(seen, possible, deviation)
        log, last = np.zeros(len(seen)), likelihoods[0]
        for j, own in enumerate(likelihoods):
            last = own * _before(last, self._shifts[j]) if j else own
            total = last.sum(axis=1)
            last = last / total[:, None]
            log += np.log(total)
        return log

    def _likelihoods(self, seen: Numbers, possible: Numbers, deviation: Numbers) -> Numbers:
        """Of each number at each of its places, (count, T, width)."""
        values = np.stack([possible[:, start : start + self.width] for start in self.first])
        values -= seen.T[: len(self.first), :, None]
        values /= deviation.T[: len(self.first), :, None]
        np.square(values, out=values)
        values *= -0.5
        np.exp(values, out=values)
        values += OUTLIER
        return values


def _before(values: Numbers, shift: int) -> Numbers:
    """Sums of the values (T, width) at the places before each place, where places start `shift` later; at least
    TINY."""
    sums = np.cumsum(values, axis=1)
    moved = np.empty_like(sums)
    stop = max(0, values.shape[1] - shift)
    if shift:
        moved[:, :stop] = sums[:, shift - 1 : shift - 1 + stop]
        moved[:, stop:] = sums[:, -1:]
    else:
        moved[:, 0] = 0
        moved[:, 1:] = sums[:, :-1]
    return np.maximum(moved, TINY, out=moved)


@dataclass(frozen=True)
class OrderAttack(Checked):
    """Ascent on the exact likelihood of a message, with the prior of the image's class, in stages that explain more and
    more of its first numbers, from fewer and fewer starts.

    Arguments:
        counts: of the first numbers that a stage explains; the last one explains all, whatever its count.
        starts: of each stage: the likeliest of `candidates` training images of the class, then of the last stage.
        candidates: training images of the class.
        passes: of the forward and backward algorithm in each stage.
        steps: of Adam after each pass.
        rate: of Adam, for the prior's standard normal coordinates.
        deviation: of a number, over the root mean square of those explained, at first; it falls by `fall` in each
            stage.
        fall: a share.
    """

    counts: NonEmptyList[Count]
    starts: NonEmptyList[Count]
    candidates: Count
    passes: Count
    steps: Count
    rate: Positive
    deviation: Positive
    fall: Positive

    def run(self, seen: Tensor, possible: Possible, labels: Tensor, classes: ClassPriors, known: Samples) -> Tensor:
        """Reconstruct the images (T, pixels), in [0, 1], behind messages without noise.

        Arguments:
            seen: the m numbers of a message, (T, m).
            possible: all numbers (T, S, n) in their public order that messages of S images (T, S, pixels) may have, of
                which a message has m.
            labels: the classes of the images, (T,).
            classes: the priors of the images of each class.
            known: training images (n, pixels) and their labels.
        """
        numbers = seen.numpy()
        z = self._candidates(labels, classes, known)
        deviation = self.deviation
        for stage, (count, starts) in enumerate(zip(self.counts, self.starts, strict=True)):
            last = stage == len(self.counts) - 1
            images = classes.of(labels[:, None].expand(z.shape[:2]))
            with torch.no_grad():
                n = possible(images(z)).shape[2]
            lattice = Lattice(numbers.shape[1] if last else min(count, numbers.shape[1]), numbers.shape[1], n)
            explained = _Explained(lattice, numbers, possible)
            z = self._best(z, images, explained, deviation, starts)
            images = classes.of(labels[:, None].expand(z.shape[:2]))
            z, deviation = self._ascend(z, images, explained, deviation)
        z = self._best(z, images, explained, deviation, 1)
        return classes.of(labels[:, None])(z)[:, 0].clamp(0, 1)

    def _candidates(self, labels: Tensor, classes: ClassPriors, known: Samples) -> Tensor:
        """The coordinates (T, S, pixels) of the class mean, and of training images of the class."""
        inverses = torch.linalg.inv(classes.roots)
        several = []
        for label in labels.tolist():
            own = known.images[known.labels == label][: self.candidates]
            z = (own - classes.means[label]) @ inverses[label]
            more = self.candidates - len(z)
            several.append(torch.cat([torch.zeros(1 + more, z.shape[1]), z]))
        return torch.stack(several)

    def _best(self, z: Tensor, images: Images, explained: "_Explained", deviation: float, count: int) -> Tensor:
        """The likeliest `count` of the coordinates (T, S, pixels)."""
        if count >= z.shape[1]:
            return z
        with torch.no_grad():
            log = explained.log_likelihood(images(z), deviation) - z.square().sum(dim=2) / 2
        best = log.topk(count, dim=1).indices
        return z.gather(1, best[..., None].expand(-1, -1, z.shape[2]))

    def _ascend(self, z: Tensor, images: Images, explained: "_Explained", deviation: float) -> tuple[Tensor, float]:
        """Maximise the likelihood and the prior by the EM algorithm, with steps of Adam in the place of a maximum."""
        z = z.clone().requires_grad_()
        optimiser = torch.optim.Adam([z], lr=self.rate)
        for number in range(self.passes):
            if number:
                deviation *= self.fall ** (1 / (self.passes - 1))
            expected = explained.expect(images(z.detach()), deviation)
            for _ in range(self.steps):
                loss = explained.misfit(images(z), expected) + z.square().sum() / 2
                (z.grad,) = torch.autograd.grad(loss, z)
                optimiser.step()
        return z.detach(), deviation


class _Explained:
    """Messages (T, m), and the numbers (T, S, n) that messages of images (T, S, pixels) may have."""

    def __init__(self, lattice: Lattice, seen: Numbers, possible: Possible) -> None:
        self._lattice, self._seen, self._possible = lattice, seen, possible
        size = np.square(seen[:, : len(lattice.first)]).mean(axis=1, keepdims=True)
        self._sizes = np.sqrt(np.square(seen) + SMALL * size).clip(TINY)

    def log_likelihood(self, images: Tensor, deviation: float) -> Tensor:
        log = self._lattice.log_likelihood(*self._each(images, deviation))
        return torch.from_numpy(log.reshape(images.shape[:2])).float()

    def expect(self, images: Tensor, deviation: float) -> tuple[Tensor, Tensor]:
        """`Posterior.weights` and `means` of each image, (T, S, n)."""
        with torch.no_grad():
            found = self._lattice.posterior(*self._each(images, deviation))
        shape = (*images.shape[:2], -1)
        return torch.from_numpy(found.weights).view(shape), torch.from_numpy(found.means).view(shape)

    def misfit(self, images: Tensor, expected: tuple[Tensor, Tensor]) -> Tensor:
        """Minus the expected log-likelihood, summed."""
        weights, means = expected
        return (weights * (self._possible(images) - means).square()).sum() / 2

    def _each(self, images: Tensor, deviation: float) -> tuple[Numbers, Numbers, Numbers]:
        possible = self._possible(images)
        starts = possible.shape[1]
        units = (self._sizes * deviation).astype(np.float32)
        return self._seen.repeat(starts, axis=0), possible.flatten(0, 1).numpy(), units.repeat(starts, axis=0)
