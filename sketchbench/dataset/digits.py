"""scikit-learn's handwritten digits: shipped with the library, so always there."""

import numpy as np
from numpy.typing import NDArray


def load() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features (1797, 64) in [0, 1] and labels (1797,) in 0..9."""
    from sklearn.datasets import load_digits  # takes a second to import

    features, labels = load_digits(return_X_y=True)
    return features / 16.0, labels.astype(np.int64)
