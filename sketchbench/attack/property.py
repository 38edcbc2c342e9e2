"""Property inference: does a batch contain images with a property unrelated to the training? (Melis et al. 2019)

A random forest learns from gradients of the attacker's own batches. It classifies the gradients that the attacker
computes from the victim's messages (`attack.watched_training`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Checked, Count, checked
from sketchbench.measure.numbers import check_matrix

Features = NDArray[np.float32]  # (n, features)


def _check_both(name: str, value: Any) -> None:
    """Raise unless a value is a vector of booleans with both values, which a ROC curve needs."""
    if not isinstance(value, np.ndarray) or value.dtype != bool or value.ndim != 1:
        raise TypeError(f"{name} must be a NumPy vector of booleans")
    if len(np.unique(value)) < 2:
        raise ValueError(f"{name} must have batches with the property and without")


@dataclass(frozen=True)
class RandomForest(Checked):
    """The attacker's classifier: scikit-learn's random forest with `trees` trees."""

    trees: Count = 50

    @checked
    def area_under_roc(
        self,
        own: Annotated[Features, check_matrix],
        labels: Annotated[NDArray[np.bool_], _check_both],
        seen: Sequence[Annotated[Features, check_matrix]],
        truth: Annotated[NDArray[np.bool_], _check_both],
        seed: int,
    ) -> list[float]:
        """The area under the ROC curve of a forest, on each of several sets of features. O(trees √features n log n) to
        learn. Raises ValueError for features or labels of other shapes, with entries that are not finite, or of one
        kind only.

        Arguments:
            own: features of n batches for training, (n, features).
            labels: whether each of the n batches has the property, (n,).
            seen: sets of features of m batches to classify, each (m, features).
            truth: whether each of the m batches has the property, (m,), the same for every set.
            seed: of the forest.
        """
        shapes = [own.shape, *(x.shape for x in seen)]
        if shapes != [(len(labels), own.shape[1]), *[(len(truth), own.shape[1])] * len(seen)]:
            raise ValueError(
                f"features of shapes {shapes} must have a row for each of {len(labels)} labels, or {len(truth)} truths"
            )
        from sklearn.ensemble import RandomForestClassifier  # takes 1.4 s, which only this attack needs
        from sklearn.metrics import roc_auc_score

        forest = RandomForestClassifier(self.trees, random_state=seed % 2**32)
        forest.fit(own, labels)
        return [float(roc_auc_score(truth, forest.predict_proba(x)[:, 1])) for x in seen]
