"""Multinomial logistic regression."""

import numpy as np
from numpy.typing import NDArray


def gradient(
    weights: NDArray[np.float64], features: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Gradient of the mean cross-entropy loss, as a flat vector of length p * classes.

    weights: flat, (p * classes,); features: (samples, p); labels: (samples,) in 0..classes-1.
    O(samples p classes).
    """
    samples, p = features.shape
    scores = features @ weights.reshape(p, -1)
    scores -= scores.max(axis=1, keepdims=True)
    probabilities = np.exp(scores)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    probabilities[np.arange(samples), labels] -= 1.0
    return (features.T @ probabilities / samples).reshape(-1)
