"""The quantities that theorems bound, along a run, and the constants that they are given."""

import numpy as np
import pytest

from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.theorems import assumptions, find_theorem, measure
from sketchbench.kernels import load
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.learning.objective.saturating import Saturating
from sketchbench.sketch.identity import Identity
from sketchbench.theory.known import Known

FAMILY = Identity(6, 6)
OBJECTIVE = Quadratic(load("numpy"), 6, 3, 0)
EXACT = Known(embedding_constant=0.0)


def test_quantities_of_gradient_descent() -> None:
    """Against plain loops."""
    weights, w = [], OBJECTIVE.start
    for _ in range(4):
        weights.append(w)
        w = w - 0.1 * OBJECTIVE.gradient(w)
    losses = [OBJECTIVE.loss(w) - OBJECTIVE.minimum for w in weights]
    squares = [float((OBJECTIVE.gradient(w) ** 2).sum()) for w in weights]
    expected = {
        "E.1": losses,
        "E.2": [OBJECTIVE.loss(np.mean(weights[:t], axis=0)) - OBJECTIVE.minimum for t in (1, 2, 3)],
        "E.3": [np.mean(squares[1 : t + 1]) for t in (1, 2, 3)],
    }
    for place, values in expected.items():
        rounds = IterativeSketching(FAMILY, 0.1).run(OBJECTIVE, 0, trials=1, rounds=3)
        seen = list(measure(find_theorem(place), OBJECTIVE, rounds))
        np.testing.assert_allclose([float(one.values()[0]) for one in seen], values, rtol=1e-12)
        assert all(one.most[0] >= one.values()[0] for one in seen)


def test_requirements() -> None:
    p = assumptions(OBJECTIVE, find_theorem("F.9"), FAMILY, EXACT, local_steps=4)
    assert (p.local_steps, p.alpha, p.smoothness) == (4, 0.0, OBJECTIVE.smoothness)
    bumpy = Saturating(load("numpy"), 6, 3, 0)
    with pytest.raises(ValueError, match=r"Theorem E\.1 needs a strongly convex objective, μ > 0, and the"):
        assumptions(bumpy, find_theorem("E.1"), FAMILY, EXACT)
    assert assumptions(bumpy, find_theorem("E.3"), FAMILY, EXACT).convexity == bumpy.convexity
    with pytest.raises(ValueError, match=r"theorem=E\.4 is unknown; choose one of E\.1"):
        find_theorem("E.4")
