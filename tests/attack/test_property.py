"""Property inference: the forest."""

import numpy as np

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
