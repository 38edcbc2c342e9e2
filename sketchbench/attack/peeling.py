"""All images of a batch from its exact gradient, one at a time: linear programmes over the rows of the first layer.

The gradient by the first layer's weights is G = Σ_i δ_i x_iᵀ/n, of rank n. Its rows span the n images, which are
nonnegative, and have many zeros. So an image is often an extreme ray of the cone of nonnegative vectors in the span,
and linear programmes find extreme rays. A ray whose pixels are multiples of the unit of pixels is an image: with
hundreds of pixels, no other ray looks like one. Without its part of G the others span a smaller cone, with other rays.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linprog
from torch import Tensor

from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.attack.door import check_axes, check_labels
from sketchbench.attack.target import Target
from sketchbench.base import seeds
from sketchbench.base.parameters import Count, checked

EXACT = 1e-5  # a singular value of a float32 gradient below this share of the largest is rounding
WHOLE = 0.02  # distance of a pixel from a multiple of the unit that rounding allows, in units
FAINT = 1e-6  # a pixel below this share of a ray's largest is a zero of the linear programme

Matrix = NDArray[np.float64]


class Peeled(NamedTuple):
    """The images found in T gradients."""

    images: Tensor  # (T, n, pixels), in [0, 1], at the place of a label of theirs; 0 where not found
    found: Tensor  # (T, n), whether the image was found


def peel_batches(target: Target, otherwise: Tensor, *, programmes: int) -> Tensor | None:
    """The images (T, n, pixels) behind the first message, with the images of `otherwise` instead of images that are not
    found; None if the message has no exact gradient, or if the pixels of public images have no unit."""
    (networks, *_), (sight, *_) = target.networks, target.sights
    unit = unit_of(target.public.images)
    if unit is None:
        return None
    peeled = peel(sight.decoded(), networks, target.labels, unit, target.seed, programmes=programmes)
    return None if peeled is None else torch.where(peeled.found[..., None], peeled.images, otherwise)


@checked
def peel(
    update: Tensor, networks: DenseNetworks, labels: Tensor, unit: float, seed: int, *, programmes: Count
) -> Peeled | None:
    """Find the images behind the mean gradients of n images, in T trials; None unless all gradients have rank n.

    Arguments:
        update: the gradients, float32, (T, d).
        networks: the networks, whose first layer has no projection, and more than n units.
        labels: the classes of the n images, (T, n).
        unit: pixels are multiples of it.
        seed: of the objectives of linear programmes.
        programmes: the number of linear programmes in a row without a new image that ends the search.

    About 10 ms for each programme of 784 pixels and 32 images.
    """
    check_axes("update", update, networks.trials, networks.layout.d)
    classes = networks.layout.shapes[-1][0]
    check_labels("labels", labels, classes, networks.trials, "n")
    units, pixels = networks.layout.shapes[0]
    size = labels.shape[1]
    if networks.first_projection is not None or size >= min(units, pixels):
        return None
    steep = update[:, : units * pixels].view(-1, units, pixels).double().numpy()
    ranks = [_rank(one) for one in steep]
    if max(ranks) > size or not any(ranks):
        return None
    images = torch.zeros(len(labels), size, pixels)
    found = torch.zeros(len(labels), size, dtype=torch.bool)
    for trial, gradient in enumerate(steep):
        random = seeds.generator(seed, attack="peeling", trial=trial)
        batch = _Batch(gradient, networks.of(trial), labels[trial], unit)
        batch.search(random, programmes)
        for place, image in batch.images.items():
            images[trial, place], found[trial, place] = image, True
    return Peeled(images, found)


def unit_of(images: Tensor) -> float | None:
    """The unit of pixels in [0, 1]: their least positive value, if all are multiples of it, else None."""
    positive = images[images > 0].double()
    if not len(positive):
        return None
    unit = float(positive.min())
    multiples = positive / unit
    return unit if bool(((multiples - multiples.round()).abs() < WHOLE).all()) else None


def _rank(gradient: Matrix) -> int:
    values = np.linalg.svd(gradient, compute_uv=False)
    return int((values > EXACT * values[0]).sum())


class _Batch:
    """The gradient of a batch, less the parts of the images found so far."""

    def __init__(self, gradient: Matrix, network: DenseNetworks, labels: Tensor, unit: float) -> None:
        self.images: dict[int, Tensor] = {}  # by place
        self._left, self._scale = gradient.copy(), np.linalg.norm(gradient, 2)
        self._network, self._labels, self._unit = network, labels, unit

    def search(self, random: np.random.Generator, programmes: int) -> None:
        """Solve linear programmes until all images are found, or `programmes` in a row give none."""
        basis, tries = self._basis(), 0
        while len(basis) and tries < programmes and len(self.images) < len(self._labels):
            tries += 1
            ray = _extreme_ray(basis, random)
            for image in [] if ray is None else self._candidates(ray):
                if self._subtract(image):
                    basis, tries = self._basis(), 0
                    break

    def _basis(self) -> Matrix:
        """An orthonormal basis of the rows that are left, (rank, pixels)."""
        _, values, rows = np.linalg.svd(self._left, full_matrices=False)
        return np.asarray(rows[values > EXACT * self._scale])

    def _candidates(self, ray: Matrix) -> list[Matrix]:
        """The multiples of a ray whose pixels are multiples of the unit up to rounding, and at most 1; the least
        first."""
        levels = round(1 / self._unit)
        scaled = ray / ray.max() * np.arange(1, levels + 1)[:, None]
        whole = scaled.round()
        fitting = (np.abs(scaled - whole) < WHOLE).all(axis=1)
        return [one * self._unit for one in whole[fitting]]

    def _subtract(self, image: Matrix) -> bool:
        """Take an image's part off the gradient, if with one of the labels that are left the rank falls by one."""
        seen = torch.tensor(image, dtype=torch.float32)
        left = [place for place in range(len(self._labels)) if place not in self.images]
        rank = len(self._basis())
        for label in sorted({int(self._labels[place]) for place in left}):
            truth = torch.tensor([[[label]]])
            part = self._network.gradients(seen[None, None, None], truth)[0, 0, : self._left.size]
            rest = self._left - part.view(self._left.shape).double().numpy() / len(self._labels)
            values = np.linalg.svd(rest, compute_uv=False)
            if (values > EXACT * self._scale).sum() < rank:
                self._left = rest
                self.images[next(place for place in left if self._labels[place] == label)] = seen
                return True
        return False


def _extreme_ray(basis: Matrix, random: np.random.Generator) -> Matrix | None:
    """An extreme ray of the cone of nonnegative vectors in the span of a basis (rank, pixels): the maximum of a random
    functional, mostly of single pixels, over vectors of sum 1. None if the programme has no solution."""
    used = np.abs(basis).max(axis=0) > EXACT
    seen = basis[:, used]
    objective = np.zeros(seen.shape[1])
    some = random.choice(seen.shape[1], random.integers(1, 4), replace=False)
    objective[some] = random.standard_normal(len(some))
    result = linprog(
        -seen @ objective,
        A_ub=-seen.T,
        b_ub=np.zeros(seen.shape[1]),
        A_eq=seen.sum(axis=1)[None],
        b_eq=[1.0],
        bounds=(None, None),
        method="highs",
    )
    if result.x is None:
        return None
    ray = result.x @ basis
    return np.where(ray > FAINT * ray.max(), ray, 0.0)
