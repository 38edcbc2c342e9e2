"""A tiny real data set for runs of many rounds: handwritten digits 0, 1 and 2, shrunk to four pixels."""

import numpy as np

from sketchbench.learning.dataset import digits
from sketchbench.learning.dataset.dataset import Dataset, Split

EACH = 24  # images of a class: 20 to train with, 4 to test


def load() -> Dataset:
    """60 training and 12 test images of 2 × 2 pixels from 0 to 16, in 3 classes; each pixel is the mean of 4 × 4."""
    whole = digits.load().whole
    first = [np.flatnonzero(whole.labels == digit)[:EACH] for digit in range(3)]
    test = EACH // 6
    return Dataset(
        "thumbnails",
        3,
        16,
        _shrink(whole, np.concatenate([places[:-test] for places in first])),
        _shrink(whole, np.concatenate([places[-test:] for places in first])),
    )


def _shrink(whole: Split, places: np.ndarray) -> Split:
    """The images at these places, shrunk from (n, 1, 8, 8) to (n, 1, 2, 2)."""
    means = whole.images[places].reshape(-1, 1, 2, 4, 2, 4).mean(axis=(3, 5))
    return Split(means.round().astype(np.uint8), whole.labels[places])
