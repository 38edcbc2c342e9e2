"""What an attacker knows of images before it sees anything: public images of the same kind."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

FLOOR = 0.02  # standard deviation that is left to every direction, of pixels in [0, 1]


class Prior(NamedTuple):
    """A normal distribution of images: mean + root z with z standard normal.

    Attributes:
        mean: (channels, height, width).
        root: the symmetric square root of the covariance matrix, (pixels, pixels).
    """

    mean: Tensor
    root: Tensor

    def images(self, z: Tensor) -> Tensor:
        """The images (n, channels, height, width) of standard normal coordinates (n, pixels)."""
        return self.mean + (z @ self.root).view(-1, *self.mean.shape)


def uniform_prior(shape: tuple[int, ...], like: Tensor) -> Prior:
    """Of who knows no images: independent pixels with the mean 1/2 and the variance 1/12 of uniform noise."""
    pixels = int(np.prod(shape))
    return Prior(torch.full(shape, 0.5).to(like), torch.eye(pixels).to(like) / 12**0.5)


def learn_prior(images: NDArray[np.float64], like: Tensor) -> Prior:
    """The mean and covariance of images (n, channels, height, width), n >= 2, in the precision of `like`.

    Directions that hardly vary get the standard deviation `FLOOR`, so that no image is impossible. O(pixels³).
    """
    flattened = images.reshape(len(images), -1)
    values, vectors = np.linalg.eigh(np.cov(flattened, rowvar=False))
    root = vectors * np.sqrt(np.maximum(values, FLOOR**2)) @ vectors.T
    mean = images.mean(axis=0)
    return Prior(torch.as_tensor(mean).to(like), torch.as_tensor(root).to(like))
