"""Property inference: does a batch contain images with a property that the training is not about? (Melis et al. 2019)

A random forest learns from gradients of the attacker's own batches, and classifies the gradients that the attacker
computes from the victim's messages (`attack.watched_training`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.parameters import Checked, Count

Features = NDArray[np.float32]  # (n, features)


@dataclass(frozen=True)
class RandomForest(Checked):
    """The attacker's classifier: scikit-learn's random forest with `trees` trees."""

    trees: Count = 50

    def area_under_roc(
        self,
        own: Features,
        labels: NDArray[np.bool_],
        seen: Sequence[Features],
        truth: NDArray[np.bool_],
        seed: int,
    ) -> list[float]:
        """The area under the ROC curve of a forest, on each of several sets of features.

        Arguments:
            own: features of n batches to learn from, (n, features).
            labels: whether each of these batches has the property, (n,).
            seen: sets of features of m batches to classify, each (m, features).
            truth: whether each of the m batches has the property, (m,), the same for every set.
            seed: of the forest.

        O(trees √features n log n) to learn.
        """
        from sklearn.ensemble import RandomForestClassifier  # 1.4 s that only this attack needs
        from sklearn.metrics import roc_auc_score

        forest = RandomForestClassifier(self.trees, random_state=seed % 2**32)
        forest.fit(own, labels)
        return [float(roc_auc_score(truth, forest.predict_proba(x)[:, 1])) for x in seen]
