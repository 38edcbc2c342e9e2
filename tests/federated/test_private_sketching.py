"""Algorithm 2 of song2023, against a transcription; what it says of itself."""

from typing import Any

import numpy as np
import pytest

from sketchbench.base import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.kernels import load
from sketchbench.learning.objective.canary import Canary
from sketchbench.learning.objective.logistic import Logistic
from sketchbench.privacy.mechanism import steps
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch import CountSketch
from sketchbench.sketch.identity import Identity

KEY, SEED = 11, 3
FAMILY = CountSketch(650, 60)


@pytest.fixture(scope="module")
def objective() -> Logistic:
    return Logistic(load("numpy"), 3, 0)


def algorithm(kind: Any = "poisson", sigma: float = 0.2, bound: float = 0.5) -> PrivateSketching:
    batch = 599 if kind == "full" else 50
    steps_of_two = IterativeSketching(FAMILY, 0.1, 2)
    return PrivateSketching(steps_of_two, Sampling(kind, batch, 599), sigma, bound)


@pytest.mark.parametrize("kind", ["full", "poisson", "without_replacement", "with_replacement"])
def test_equals_the_transcription(objective: Logistic, kind: Any) -> None:
    """Record by record, with dense matrices: batch, clipped mean, noise at each local step."""
    private = algorithm(kind)
    *_, last = private.run(objective, SEED, KEY, trials=1, rounds=2)
    batches = seeds.generator(SEED, part="batches")
    noise = seeds.generator(SEED, part="noise")
    w = objective.start.copy()
    for t in range(2):
        R = FAMILY.draw(KEY, first=t, kernels="numpy").materialize()
        u = np.repeat(w[None], 3, axis=0)
        for _ in range(2):
            counts = private.sampling.draw(batches, (1, 3))[0]
            total = np.zeros_like(u)
            for record in np.flatnonzero(counts.any(axis=0)):
                one = np.zeros((3, 599))
                one[:, record] = 1.0
                own = objective.batch_gradients(u, one) - 0.01 * u
                norm = np.linalg.norm(own, axis=-1, keepdims=True)
                total += counts[:, record, None] * own * np.minimum(1, 0.5 / norm)
            step = total / private.sampling.batch + 0.01 * u
            u = u - 0.1 * (step + 0.2 * noise.standard_normal((1, 3, 650))[0])
        w = w + R.T @ (R @ (u - w).T).mean(axis=1)
    np.testing.assert_allclose(last.w[0], w, rtol=1e-9, atol=1e-12)


def test_the_noise_that_is_sent_has_its_variance() -> None:
    """Of K steps of length η: K η² σ² in each coordinate, independent across clients."""
    objective = Canary(load("numpy"), np.zeros(8), clients=2, records=4)
    sketching = IterativeSketching(Identity(8, 8), 0.5, 3)
    private = PrivateSketching(sketching, Sampling("full", 4, 4), 2.0, 1.0)
    *_, last = private.run(objective, SEED, KEY, trials=4000, rounds=1)
    assert last.messages is not None
    expected, count = 3 * 0.25 * 4.0, 4000 * 8
    for client in range(2):
        squares = (last.messages[:, client] ** 2).mean()
        assert squares == pytest.approx(expected, rel=5 * (2 / count) ** 0.5)
    products = (last.messages[:, 0] * last.messages[:, 1]).mean()
    assert abs(products) < 5 * expected / count**0.5


def test_messages_and_operators_are_those_of_the_round(objective: Logistic) -> None:
    first, second = algorithm().run(objective, SEED, KEY, trials=2, rounds=1)
    assert first.messages is None
    assert first.operators is None
    assert second.messages is not None
    assert second.operators is not None
    assert second.messages.shape == (2, 3, 60)
    answer = second.messages.mean(axis=1)
    np.testing.assert_allclose(second.w - first.w, second.operators.desketch(answer), atol=1e-15)


def test_its_mechanism_is_what_it_does(objective: Logistic) -> None:
    for kind, neighbours, factor in (("poisson", "add_remove", 1), ("full", "replace_one", 2)):
        private = algorithm(kind)
        (own,) = steps(private.mechanism(objective, 7, neighbours))  # type: ignore[arg-type]
        assert own.times == (7, 2)
        assert own.gaussian.sigma == 0.2
        assert own.gaussian.sensitivity == factor * 0.5 / private.sampling.batch
        assert (own.sampled is None) == (kind == "full")
        assert own.sampled is None or own.sampled.sampling is private.sampling


def test_refusals(objective: Logistic) -> None:
    sketching = IterativeSketching(FAMILY, 0.1)
    with pytest.raises(ValueError, match=r"sampling\.records=60 must be 599"):
        PrivateSketching(sketching, Sampling("poisson", 5, 60), 1.0, 1.0).run(objective, SEED, KEY, trials=1, rounds=1)
    with pytest.raises(ValueError, match="known for neighbours=add_remove"):
        algorithm("poisson").mechanism(objective, 1, "replace_one")
    with pytest.raises(ValueError, match=r"sigma=0.0 must be > 0"):
        algorithm(sigma=0.0).mechanism(objective, 1, "add_remove")


def test_clients_that_share_records(monkeypatch: pytest.MonkeyPatch, objective: Logistic) -> None:
    shared = objective.records.copy()
    shared[2, 5] = shared[0, 9]
    monkeypatch.setattr(objective, "records", shared)
    with pytest.raises(ValueError, match="clients 0 and 2 share record"):
        algorithm().mechanism(objective, 1, "add_remove")
