"""Property inference: the forest."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from sketchbench.attack.property import RandomForest


def test_the_forest() -> None:
    """It finds what is there, nothing where nothing is, and is the same for the same seed."""
    random = np.random.default_rng(0)
    labels, truth = random.random(200) < 0.2, random.random(400) < 0.2
    own, noise = random.standard_normal((2, 200, 10)).astype(np.float32)
    seen = random.standard_normal((400, 10)).astype(np.float32)
    own[:, 3] += 6 * labels
    told = seen.copy()
    told[:, 3] += 6 * truth
    forest = RandomForest(30)
    high, low = forest.area_under_roc(own, labels, [told, seen], truth, seed=1)
    assert high > 0.97
    assert abs(low - 0.5) < 0.15
    assert forest.area_under_roc(own, labels, [told], truth, seed=1) == [high]
    assert abs(forest.area_under_roc(noise, labels, [told], truth, seed=1)[0] - 0.5) < 0.15


def test_the_forest_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(1)
    labels, truth = random.random(60) < 0.3, random.random(80) < 0.3
    own, seen = (
        (random.standard_normal((len(kind), 9)) + kind[:, None]).astype(np.float32) for kind in (labels, truth)
    )
    forest = RandomForestClassifier(12, random_state=5).fit(own, labels)
    expected = roc_auc_score(truth, forest.predict_proba(seen)[:, 1])
    assert RandomForest(12).area_under_roc(own, labels, [seen], truth, 5) == [expected]
