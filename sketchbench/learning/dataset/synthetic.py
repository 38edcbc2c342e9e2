"""Synthetic images in the shapes of real ones: a smooth pattern for each class, shifted, dimmed and noisy."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Count, NonNegative, Probability, checked
from sketchbench.learning.dataset.dataset import Dataset, Split

SHAPES = {"mnist": (1, 28, 28), "cifar10": (3, 32, 32), "lfw": (3, 64, 47)}


@checked
def load(
    like: Literal["mnist", "cifar10", "lfw"] = "mnist",
    train: Count = 1000,
    test: Count = 500,
    classes: AtLeastTwo = 10,
    noise: NonNegative = 0.1,
    minority: Probability | None = None,
    seed: int = 0,
) -> Dataset:
    """Synthetic images, determined by the parameters. Raises ValueError for a parameter out of its range.

    Arguments:
        like: real data set whose image shape is used.
        train: number of training images.
        test: number of test images.
        classes: number of classes.
        noise: standard deviation of the noise in each pixel, for pixels from 0 to 1.
        minority: probability of the last class; None makes all classes equally likely.
        seed: root of patterns, labels and noise.
    """
    random = seeds.generator(seed, data="synthetic", like=like, classes=classes)
    patterns = _patterns(random, classes, SHAPES[like])
    last = 1 / classes if minority is None else minority
    shares = np.append(np.full(classes - 1, (1 - last) / (classes - 1)), last)
    parts = []
    for count in (train, test):
        labels = random.choice(classes, count, p=shares)
        parts.append(Split(_images(random, patterns[labels], noise), labels.astype(np.int64)))
    return Dataset(f"synthetic images in the shape of {like}", classes, 255, *parts)


def _patterns(random: np.random.Generator, classes: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """A pattern for each class, the positive part of smoothed noise, up to 1: (classes, channels, height, width)."""
    from scipy.ndimage import gaussian_filter  # an import of 0.2 s, for this data set only

    width = shape[-1] / 10
    smooth = gaussian_filter(random.standard_normal((classes, *shape)), (0, 0, width, width))
    return np.asarray((smooth / smooth.max(axis=(2, 3), keepdims=True)).clip(0))


def _images(random: np.random.Generator, patterns: NDArray[np.float64], noise: float) -> NDArray[np.uint8]:
    """Images of patterns (n, channels, height, width), shifted by up to 2 pixels, dimmed by up to 1/2, with noise."""
    count = len(patterns)
    images = np.empty_like(patterns)
    for i, shift in enumerate(random.integers(-2, 3, (count, 2))):
        images[i] = np.roll(patterns[i], shift, axis=(1, 2))
    images *= random.uniform(0.5, 1.0, (count, 1, 1, 1))
    images += noise * random.standard_normal(patterns.shape)
    return (255 * images.clip(0, 1)).round().astype(np.uint8)
