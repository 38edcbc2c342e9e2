"""Made-up images in the shapes of real ones: a smooth pattern per class, moved, dimmed and noisy."""

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.dataset.dataset import Dataset, Split

SHAPES = {"mnist": (1, 28, 28), "cifar10": (3, 32, 32), "lfw": (3, 64, 47)}


def load(
    like: str = "mnist",
    train: int = 1000,
    test: int = 500,
    classes: int = 10,
    noise: float = 0.1,
    minority: float | None = None,
    seed: int = 0,
) -> Dataset:
    """Images in the shape of the data set `like`; the same seed gives the same ones.

    noise: the standard deviation of each pixel, of a range of 1. minority: the share of the last class; None
    makes all classes equally likely. Raises ValueError for an unknown shape or impossible numbers.
    """
    if like not in SHAPES:
        raise ValueError(f"like={like} is unknown; choose one of {', '.join(SHAPES)}")
    if not (train >= 1 and test >= 1 and classes >= 2 and noise >= 0):
        raise ValueError(f"train={train} and test={test} must be >= 1, classes={classes} >= 2, noise={noise} >= 0")
    if minority is not None and not 0 < minority < 1:
        raise ValueError(f"minority={minority} must satisfy 0 < minority < 1")
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
    """The positive part of smoothed noise, up to 1: (classes, channels, height, width)."""
    from scipy.ndimage import gaussian_filter  # 0.2 s that only this data set needs

    width = shape[-1] / 10
    smooth = gaussian_filter(random.standard_normal((classes, *shape)), (0, 0, width, width))
    return np.asarray((smooth / smooth.max(axis=(2, 3), keepdims=True)).clip(0))


def _images(random: np.random.Generator, patterns: NDArray[np.float64], noise: float) -> NDArray[np.uint8]:
    """Patterns (n, channels, height, width), each moved by up to two pixels and dimmed by up to a half."""
    count = len(patterns)
    moved = np.empty_like(patterns)
    for i, shift in enumerate(random.integers(-2, 3, (count, 2))):
        moved[i] = np.roll(patterns[i], shift, axis=(1, 2))
    moved *= random.uniform(0.5, 1.0, (count, 1, 1, 1))
    moved += noise * random.standard_normal(patterns.shape)
    return (255 * moved.clip(0, 1)).round().astype(np.uint8)
