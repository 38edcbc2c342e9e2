"""scikit-learn's handwritten digits: shipped with the library, so always there."""

import numpy as np

from sketchbench.dataset.dataset import Dataset, Split

TEST = 360  # the last fifth, in the library's order: mostly by other writers


def load() -> Dataset:
    """1,797 images of 8 × 8 pixels from 0 to 16, in 10 classes."""
    from sklearn.datasets import load_digits  # takes a second to import

    images, labels = load_digits(return_X_y=True)
    images = images.astype(np.uint8).reshape(-1, 1, 8, 8)
    labels = labels.astype(np.int64)
    train, test = Split(images[:-TEST], labels[:-TEST]), Split(images[-TEST:], labels[-TEST:])
    return Dataset("digits", 10, 16, train, test)
