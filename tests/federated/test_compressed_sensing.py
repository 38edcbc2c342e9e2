"""Algorithm 1 of tang2021, against a direct transcription."""

from typing import Any

import numpy as np
import pytest

from sketchbench.base import seeds
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, ServerState, track
from sketchbench.kernels import Kernels, load
from sketchbench.learning.objective.sparse_gradients import SparseGradients
from sketchbench.sketch import BlockSparseEmbedding, Identity, SubsampledHadamard
from sketchbench.sketch.recovery import FIHT, CountSketchMedian, Desketch

SEED, D, B, RATE = 7, 64, 40, 0.05
HADAMARD = SubsampledHadamard(D, B, signs=False)
TABLE = BlockSparseEmbedding(D, B, s=4)


@pytest.fixture(scope="module")
def objective() -> SparseGradients:
    return SparseGradients(load("numpy"), D, 5, 0, decay=4.0, spike_rate=0.05)


def run(objective: Any, algorithm: CompressedSensingSGD, family: Any, **more: int) -> list[ServerState]:
    sketch = family.draw(3, kernels=objective.kernels)
    return list(algorithm.run(objective, sketch, SEED, **{"trials": 3, "rounds": 6, **more}))


def transcribed(objective: Any, family: Any, recovery: Any, W: float, rounds: int) -> np.ndarray:
    """The weights of three trials, with a dense matrix, and every client on its own."""
    sketch = family.draw(3, kernels="numpy")
    Phi = sketch.materialize()
    x, error = np.zeros((3, D)), np.zeros((3, B))
    for t in range(rounds):
        drawn = objective.noise(seeds.generator(SEED, noise="gradients", round=t), 3)
        channel = seeds.generator(SEED, noise="channel", round=t).standard_normal((3, B))
        for trial in range(3):
            every = np.repeat(x[trial][None], objective.clients, axis=0)
            gradients = objective.gradients(every) + drawn[trial]
            received = np.mean([Phi @ g for g in gradients], axis=0) + W * channel[trial]
            z = RATE * received + error[trial]
            step = recovery.recover(sketch, z).x
            x[trial] -= step
            error[trial] = z - Phi @ step
    return x


@pytest.mark.parametrize("W", [0.0, 0.3])
@pytest.mark.parametrize(("family", "recovery"), [(HADAMARD, FIHT(6)), (TABLE, CountSketchMedian(6))], ids=str)
def test_equals_the_transcription(objective: Any, family: Any, recovery: Any, W: float) -> None:
    states = run(objective, CompressedSensingSGD(recovery, RATE, W), family)
    expected = transcribed(objective, family, recovery, W, 6)
    np.testing.assert_allclose(states[-1].w, expected, rtol=1e-8, atol=1e-10)


def test_one_sketch_of_the_mean_is_the_mean_of_all_sketches(monkeypatch: Any) -> None:
    """Without noise in the gradients; with it, the two draw other numbers of the same distribution."""
    problem = SparseGradients(load("numpy"), D, 5, 0, decay=4.0, smooth=0.0, spikes=0.0)
    each, mean = (
        run(problem, CompressedSensingSGD(FIHT(6), RATE, 0.1, clients=clients), HADAMARD)[-1]
        for clients in ("each", "mean")
    )
    np.testing.assert_allclose(each.w, mean.w, rtol=1e-9, atol=1e-12)
    assert (each.bytes_up, each.bytes_down) == (mean.bytes_up, mean.bytes_down)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_it_goes_on_from_any_state(objective: Any, momentum: float) -> None:
    algorithm = CompressedSensingSGD(FIHT(6), RATE, 0.3, momentum=momentum)
    whole = run(objective, algorithm, HADAMARD)
    for t in (0, 3, 6):
        sketch = HADAMARD.draw(3, kernels=objective.kernels)
        rest = algorithm.run(objective, sketch, SEED, trials=3, rounds=6, after=whole[t])
        for own, other in zip(rest, whole[t:], strict=True):
            assert own.t == other.t
            np.testing.assert_array_equal(own.w, other.w)
            np.testing.assert_array_equal(own.error, other.error)
            assert (own.bytes_up, own.bytes_down) == (other.bytes_up, other.bytes_down)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
@pytest.mark.parametrize("W", [0.0, 0.3])
def test_the_memory_is_a_sketch(objective: Any, W: float, momentum: float) -> None:
    """tang2021 Lemma 1; with momentum, for gradients and noise that are added up."""
    algorithm = CompressedSensingSGD(FIHT(6), RATE, W, momentum=momentum)
    sketch = HADAMARD.draw(3, kernels="numpy")
    exact = []
    states = algorithm.run(objective, sketch, SEED, trials=2, rounds=6)
    for at, vectors in track(states, algorithm, sketch):
        if at.t == 0:
            assert vectors is None
            assert at.sent is None
            continue
        assert vectors is not None
        assert at.sent is not None
        exact.append(np.allclose(at.error, sketch.sketch(vectors.e), atol=1e-12))
        target = sketch.sketch(vectors.p) + RATE * at.sent.noise
        exact.append(np.allclose(at.sent.z, target, atol=1e-12))
    assert len(exact) == 12
    assert all(exact)


def test_feedback(objective: Any) -> None:
    """Zeroing keeps z but for the cells of the recovered entries; none keeps nothing."""
    sketch = TABLE.draw(3, kernels="numpy")
    for feedback in ("zero", "none"):
        algorithm = CompressedSensingSGD(CountSketchMedian(6), RATE, feedback=feedback)
        for at in algorithm.run(objective, sketch, SEED, trials=2, rounds=4):
            if at.sent is None or feedback == "none":
                assert (at.error == 0).all()
                continue
            touched = sketch.sketch(at.sent.step) != 0
            assert 6 < touched.sum() <= 2 * 6 * 4
            np.testing.assert_array_equal(at.error, np.where(touched, 0, at.sent.z))
    with pytest.raises(TypeError, match="feedback=zero needs a sketch whose coordinates have"):
        run(objective, CompressedSensingSGD(FIHT(6), RATE, feedback="zero"), HADAMARD)


def test_momentum(objective: Any) -> None:
    plain = CompressedSensingSGD(Desketch(D), RATE)
    heavy = CompressedSensingSGD(Desketch(D), RATE, momentum=0.5)
    first, second = (run(objective, a, Identity(D, D), rounds=2) for a in (plain, heavy))
    np.testing.assert_allclose(first[1].w, second[1].w)
    more = 0.5 * (first[1].w - first[0].w)
    np.testing.assert_allclose(second[2].w, first[2].w + more, atol=1e-12)


def test_bytes_are_those_of_the_messages(objective: Any) -> None:
    states = run(objective, CompressedSensingSGD(FIHT(6), RATE), HADAMARD)
    assert [at.bytes_up for at in states] == [8 * B * t for t in range(7)]
    assert [at.bytes_down for at in states] == [6 * 12 * t for t in range(7)]
    states = run(objective, CompressedSensingSGD(Desketch(D), RATE), Identity(D, D))
    assert [at.bytes_down for at in states] == [8 * D * t for t in range(7)]


def test_the_backends_agree(kernels: Kernels) -> None:
    def last(backend: Kernels) -> Any:
        problem = SparseGradients(backend, D, 5, 0, decay=4.0)
        states = run(problem, CompressedSensingSGD(FIHT(6), RATE, 0.1), HADAMARD)
        return backend.to_numpy(states[-1].w)

    np.testing.assert_allclose(last(kernels), last(load("numpy")), rtol=1e-8, atol=1e-10)
