"""Property inference: does a batch contain images of a kind that the training is not about? (Melis et al. 2019)

A random forest learns it from gradients of the attacker's own batches, and is then shown what the attacker can make of
the victim's (`attack.messages`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32]  # (n, features)


@dataclass(frozen=True)
class RandomForest:
    """The classifier: scikit-learn's, with so many trees."""

    trees: int = 50

    def area_under_roc(
        self,
        own: Features,
        labels: NDArray[np.bool_],
        seen: Sequence[Features],
        truth: NDArray[np.bool_],
        seed: int,
    ) -> list[float]:
        """Of a forest that learns from `own` features with `labels`: the area under its ROC curve on each of the
        `seen` features, whose labels are `truth`. O(trees √features n log n) for n features to learn from."""
        from sklearn.ensemble import RandomForestClassifier  # 1.4 s that only this attack needs
        from sklearn.metrics import roc_auc_score

        forest = RandomForestClassifier(self.trees, random_state=seed % 2**32)
        forest.fit(own, labels)
        return [float(roc_auc_score(truth, forest.predict_proba(x)[:, 1])) for x in seen]
