"""Priors: an attacker's knowledge of images before it sees a message."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.door import check_axes
from sketchbench.measure.numbers import check_finite

FLOOR = 0.02  # least standard deviation of a learnt prior in any direction, for pixels in [0, 1]


class Prior(NamedTuple):
    """A normal distribution of images: mean (channels, height, width) + root z with z standard normal. `root`, (pixels,
    pixels), is the symmetric square root of the covariance matrix."""

    mean: Tensor
    root: Tensor

    def images(self, z: Tensor) -> Tensor:
        """The images (n, channels, height, width) of standard normal coordinates (n, pixels)."""
        check_axes("z", z, "n", len(self.root))
        return self.mean + (z @ self.root).view(-1, *self.mean.shape)


def uniform_prior(shape: tuple[int, ...], like: Tensor) -> Prior:
    """The prior without known images: independent pixels with mean 1/2 and variance 1/12, as uniform noise has, on the
    device and in the precision of `like`."""
    pixels = math.prod(shape)
    if len(shape) != 3 or pixels < 1:
        raise ValueError(f"shape={shape} must be the channels, height and width of an image")
    return Prior(torch.full(shape, 0.5).to(like), torch.eye(pixels).to(like) / 12**0.5)


def learn_prior(images: NDArray[np.float64], like: Tensor) -> Prior:
    """The prior with the mean and covariance of images (n, channels, height, width), n >= 2. O(pixels³). It has the
    device and precision of `like`. Directions of small variance get the deviation `FLOOR`, so that no image is
    excluded."""
    if images.ndim != 4 or len(images) < 2 or not images.size:
        raise ValueError(f"images of shape {images.shape} must be two or more of (channels, height, width)")
    check_finite("images", images)
    flattened = images.reshape(len(images), -1)
    values, vectors = np.linalg.eigh(np.cov(flattened, rowvar=False))
    root = vectors * np.sqrt(np.maximum(values, FLOOR**2)) @ vectors.T
    mean = images.mean(axis=0)
    return Prior(torch.as_tensor(mean).to(like), torch.as_tensor(root).to(like))


class ClassPriors(NamedTuple):
    """A normal distribution of the images of each of K classes: mean + root z with z standard normal. `means` are (K,
    pixels); `roots`, (K, pixels, pixels), are the symmetric square roots of the covariance matrices."""

    means: Tensor
    roots: Tensor

    def of(self, labels: Tensor) -> Callable[[Tensor], Tensor]:
        """Map standard normal coordinates (..., pixels) to images (..., pixels) of the classes (...)."""
        flat = labels.flatten()
        order = flat.argsort()
        back, counts = order.argsort(), torch.bincount(flat, minlength=len(self.means))
        ends, means = counts.cumsum(0)[:-1].tolist(), self.means[labels]

        def images(z: Tensor) -> Tensor:
            by_class = z.reshape(len(flat), -1)[order].tensor_split(ends)
            moved = torch.cat([part @ root for part, root in zip(by_class, self.roots, strict=True)])
            return means + moved[back].view(z.shape)

        return images


def learn_class_priors(images: NDArray[np.float64], labels: NDArray[np.int64], like: Tensor) -> ClassPriors:
    """The prior of the images (n, channels, height, width) of each class 0, 1, ... of `labels` (n,); see `learn_prior`.
    Each class needs two images."""
    several = [learn_prior(images[labels == label], like) for label in range(int(labels.max()) + 1)]
    return ClassPriors(torch.stack([one.mean.flatten() for one in several]), torch.stack([one.root for one in several]))
