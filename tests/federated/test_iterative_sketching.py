"""Algorithm 1 of song2023, against a direct transcription and against its own mutants."""

from typing import Any

import numpy as np
import pytest

from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.kernels import Kernels, load
from sketchbench.learning.objective.objective import Objective
from sketchbench.learning.objective.quadratic import Quadratic
from sketchbench.sketch import CountSketch, Gaussian, Identity

KEY = 11


@pytest.fixture(scope="module")
def objective() -> Quadratic:
    return Quadratic(load("numpy"), 12, 3, 0)


def transcribed(objective: Objective, family: Any, trial: int, trials: int, rounds: int, K: int) -> Any:
    w = objective.start.copy()
    for t in range(rounds):
        R = family.draw(KEY, first=t * trials + trial, kernels="numpy").materialize()
        messages = []
        for c in range(objective.clients):
            u = w.copy()
            for _ in range(K):
                every = np.repeat(u[None], objective.clients, axis=0)
                u = u - 0.1 * objective.gradients(every)[c]
            messages.append(R @ (u - w))
        w = w + R.T @ (0.7 * np.mean(messages, axis=0))
    return w


@pytest.mark.parametrize("family", [CountSketch(12, 4), Gaussian(12, 5), Identity(12, 12)])
@pytest.mark.parametrize("K", [1, 3])
def test_equals_the_transcription(objective: Quadratic, family: Any, K: int) -> None:
    algorithm = IterativeSketching(family, 0.1, K, global_rate=0.7)
    *_, last = algorithm.run(objective, KEY, trials=2, rounds=4)
    for trial in range(2):
        expected = transcribed(objective, family, trial, 2, 4, K)
        np.testing.assert_allclose(last.w[trial], expected, rtol=1e-11, atol=1e-13)


def test_bytes_are_those_of_the_messages(objective: Quadratic) -> None:
    """Four or five float64 numbers in each direction, whatever the dimension."""
    for family in (CountSketch(12, 4), Gaussian(12, 5)):
        seen = list(IterativeSketching(family, 0.1, 2).run(objective, KEY, trials=3, rounds=4))
        assert [at.t for at in seen] == [0, 1, 2, 3, 4]
        assert [at.bytes_up for at in seen] == [8 * family.b * t for t in range(5)]
        assert [at.bytes_down for at in seen] == [8 * family.b * t for t in range(5)]


def test_the_mean_of_local_weights(objective: Quadratic) -> None:
    seen = list(IterativeSketching(Identity(12, 12), 0.1, 2).run(objective, KEY, trials=1, rounds=1))
    u = np.repeat(objective.start[None], 3, axis=0)
    after = u - 0.1 * objective.gradients(u)
    np.testing.assert_allclose(seen[1].local[0], (u.mean(0) + after.mean(0)) / 2, atol=1e-14)


def test_fresh_and_fixed_operators(objective: Quadratic) -> None:
    family = CountSketch(12, 4)
    R = family.draw(KEY, kernels="numpy").materialize()
    for fresh, inside in ((False, True), (True, False)):
        *_, last = IterativeSketching(family, 0.1, fresh=fresh).run(objective, KEY, trials=1, rounds=9)
        moved = last.w[0] - objective.start
        left = moved - R.T @ np.linalg.lstsq(R.T, moved, rcond=None)[0]
        assert (np.linalg.norm(left) < 1e-10 * np.linalg.norm(moved)) == inside


def test_line_9_as_printed_uses_the_next_operator(objective: Quadratic) -> None:
    family = CountSketch(12, 4)
    algorithm = IterativeSketching(family, 0.1, desketch="paper")
    *_, last = algorithm.run(objective, KEY, trials=1, rounds=1)
    first, second = (family.draw(KEY, first=t, kernels="numpy").materialize() for t in (0, 1))
    change = -0.1 * objective.gradient(objective.start)
    np.testing.assert_allclose(last.w[0] - objective.start, second.T @ (first @ change), atol=1e-14)


def test_the_backends_agree(kernels: Kernels) -> None:
    def run(backend: Kernels) -> Any:
        problem = Quadratic(backend, 12, 3, 0)
        algorithm = IterativeSketching(CountSketch(12, 4), 0.1, 2)
        *_, last = algorithm.run(problem, KEY, trials=3, rounds=6)
        return backend.to_numpy(last.w)

    np.testing.assert_allclose(run(kernels), run(load("numpy")), rtol=1e-11, atol=1e-13)
