"""Property inference: does a batch contain images with a property unrelated to the training? (Melis et al. 2019)

A classifier learns from gradients of the attacker's own batches. It classifies the gradients that the attacker computes
from the victim's messages (`attack.watched_training`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Checked, Count, Positive, checked
from sketchbench.measure.numbers import check_matrix

Features = NDArray[np.float32]  # (n, features)


def _check_both(name: str, value: Any) -> None:
    """Raise unless a value is a vector of booleans with both values, which a ROC curve needs."""
    if not isinstance(value, np.ndarray) or value.dtype != bool or value.ndim != 1:
        raise TypeError(f"{name} must be a NumPy vector of booleans")
    if len(np.unique(value)) < 2:
        raise ValueError(f"{name} must have batches with the property and without")


class Classifier(Checked, ABC):
    """An attacker's classifier."""

    @checked
    def area_under_roc(
        self,
        own: Annotated[Features, check_matrix],
        labels: Annotated[NDArray[np.bool_], _check_both],
        seen: Sequence[Annotated[Features, check_matrix]],
        truth: Annotated[NDArray[np.bool_], _check_both],
        seed: int,
    ) -> list[float]:
        """The area under the ROC curve on each of several sets of features. Raises ValueError for features or labels of
        other shapes, with entries that are not finite, or of one kind only.

        Arguments:
            own: features of n batches for training, (n, features).
            labels: whether each of the n batches has the property, (n,).
            seen: sets of features of m batches to classify, each (m, features).
            truth: whether each of the m batches has the property, (m,), the same for every set.
            seed: of the training.
        """
        shapes = [own.shape, *(x.shape for x in seen)]
        if shapes != [(len(labels), own.shape[1]), *[(len(truth), own.shape[1])] * len(seen)]:
            raise ValueError(
                f"features of shapes {shapes} must have a row for each of {len(labels)} labels, or {len(truth)} truths"
            )
        from sklearn.metrics import roc_auc_score  # takes 1.4 s, which only this attack needs

        scores = self.learn(own, labels, seed)
        return [float(roc_auc_score(truth, scores(x))) for x in seen]

    @abstractmethod
    def learn(self, own: Features, labels: NDArray[np.bool_], seed: int) -> Callable[[Features], NDArray[np.float64]]:
        """Learn from features, and return the scores (m,) of features (m, features), larger with the property."""


@dataclass(frozen=True)
class RandomForest(Classifier):
    """scikit-learn's random forest with `trees` trees. O(trees √features n log n) to learn."""

    trees: Count = 50

    def learn(self, own: Features, labels: NDArray[np.bool_], seed: int) -> Callable[[Features], NDArray[np.float64]]:
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(self.trees, random_state=seed % 2**32)
        forest.fit(own, labels)
        return lambda x: np.asarray(forest.predict_proba(x)[:, 1])


@dataclass(frozen=True)
class Ridge(Classifier):
    """Ridge regression of the labels, for few batches with many features. O(n² features) to learn."""

    penalty: Positive = 1.0  # over the mean squared norm of a batch's features

    def learn(self, own: Features, labels: NDArray[np.bool_], seed: int) -> Callable[[Features], NDArray[np.float64]]:
        mean = own.mean(axis=0, dtype=np.float64)
        x, y = own - mean, labels - labels.mean()
        kernel = x @ x.T
        weights = x.T @ np.linalg.solve(kernel + self.penalty * kernel.diagonal().mean() * np.eye(len(y)), y)
        return lambda seen: np.asarray((seen - mean) @ weights)
