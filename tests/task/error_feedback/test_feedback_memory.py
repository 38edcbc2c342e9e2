"""The memory of error feedback by itself: every row, computed again trial by trial; contractions stay within the limit;
what is beyond it is not followed."""

from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.base import seeds
from sketchbench.federated import compressors
from sketchbench.kernels import Kernels, load
from sketchbench.learning.dataset.digits import load as digits
from sketchbench.learning.model.networks import mlp
from sketchbench.learning.objective.stacked import initial_weights, perceptron
from sketchbench.measure.row import Row
from sketchbench.sketch import BlockSparseEmbedding
from sketchbench.sketch.recovery import CountSketchMedian
from sketchbench.sketch.recovery.recovery import best
from sketchbench.task.error_feedback.feedback_memory import ArmMemory, Arms, FeedbackMemory, MemoryCompressor
from sketchbench.theory.compressed_sensing import feedback_limit

D, K, TRIALS, ROUNDS = 64 * 2 + 2 + 2 * 10 + 10, 20, 3, 12


def task(kernels: Kernels, **other: Any) -> FeedbackMemory:
    arms: dict[str, Any] = {"k": K, "few": D, "rows": 3, "other_rows": [1], "tables": [1, 4], "linear": [2]}
    arms |= {"fiht": [2], "few_tables": [], "few_fiht": []}
    settings: dict[str, Any] = {"points": 100, "batch": 5, "rate": 0.5, "rounds": ROUNDS, "trials": TRIALS}
    settings |= {"dataset": digits, "model": partial(mlp, hidden=[2])}
    settings |= {name: value for name, value in other.items() if name not in arms}
    chosen = Arms(**{name: other.get(name, value) for name, value in arms.items()})
    return FeedbackMemory(kernels=kernels, seed=4, arms=chosen, **settings)


def one(rows: list[Row], **wanted: Any) -> Row:
    (row,) = (row for row in rows if wanted.items() <= row.items())
    return row


@cache
def measured(kernels: Kernels) -> tuple[list[Row], list[np.ndarray]]:
    """The rows of the task, and ηg(t) of all rounds."""
    return task(kernels).run(), gradients(task(kernels))


def gradients(made: FeedbackMemory) -> list[np.ndarray]:
    """ηg(t) of all rounds, each (T, d)."""
    kernels, data = made.kernels, made.dataset()
    network = perceptron(kernels, made.model, data.shape, data.classes)
    start = initial_weights(lambda: made.model(shape=data.shape, classes=data.classes), made._seeds())
    inputs = data.features(data.train).astype(np.float32)
    return [kernels.to_numpy(g).copy() for _, g in made._gradients(network, start, inputs, data.train.labels)]


def follow(kernels: Kernels, recovery: Any, sketch: Any, messages: list[np.ndarray], limit: float) -> list[float]:
    """The memories of one trial over its largest message, until one exceeds the limit."""
    kept, most, ratios = np.zeros(sketch.b), 0.0, []
    for g in messages:
        message = kernels.to_numpy(sketch.sketch(kernels.asarray(g)))
        z, most = message + kept, max(most, float(np.linalg.norm(message)))
        kept = z - kernels.to_numpy(sketch.sketch(recovery.recover(sketch, kernels.asarray(z)).x))
        ratios.append(float(np.linalg.norm(kept)) / most)
        if ratios[-1] > limit:
            break
    return ratios


@pytest.mark.parametrize(
    ("case", "compression", "rows"),
    [("count_sketch", 1, 3), ("count_sketch", 4, 3), ("count_sketch", 1, 1), ("count_sketch_linear", 2, 3)],
)
def test_memory_is_that_of_each_trial_alone(kernels: Kernels, case: str, compression: float, rows: int) -> None:
    found, messages = measured(kernels)
    hashing: Any = "rows" if case == "count_sketch_linear" else "full"
    family = BlockSparseEmbedding(D, rows * round(D / (rows * compression)), s=rows, hashing=hashing)
    key = seeds.key(4, task="feedback memory", family=repr(family))
    limit = feedback_limit(K / D)
    trials = [
        follow(
            kernels,
            CountSketchMedian(K),
            family.draw(key, first=i, kernels=kernels),
            [g[i] for g in messages],
            limit,
        )
        for i in range(TRIALS)
    ]
    over = [len(ratios) for ratios in trials if ratios[-1] > limit]
    where = {"case": case, "compression": compression, "s": rows, "k": K}
    for t in range(1, min([ROUNDS + 1, *over])):
        row = one(found, quantity="memory", round=t, **where)
        assert row["mean"] == pytest.approx(np.mean([ratios[t - 1] for ratios in trials]), rel=1e-9)
    largest = one(found, quantity="largest", **where)
    assert largest["maximum"] == pytest.approx(max(max(ratios) for ratios in trials), rel=1e-9)
    assert (
        one(found, quantity="beyond", **where)["count"]
        == len(over)
        == TRIALS - one(found, quantity="within", **where)["count"]
    )
    ends = [row["mean"] for row in found if {"quantity": "over", **where}.items() <= row.items()]
    assert ends == ([np.mean(over)] if len(over) == TRIALS else [])


def test_fiht_is_that_of_the_compressor(kernels: Kernels) -> None:
    found, messages = measured(kernels)
    recovery, family = compressors.fiht(D, K, 2)
    sketch = family.draw(seeds.key(4, task="feedback memory", family=repr(family)), kernels=kernels)
    trials = [follow(kernels, recovery, sketch, [g[i] for g in messages], feedback_limit(K / D)) for i in range(TRIALS)]
    row = one(found, quantity="memory", round=ROUNDS, case="fiht", k=K)
    assert row["mean"] == pytest.approx(np.mean([ratios[-1] for ratios in trials]), rel=1e-9)


def test_all_entries_leave_no_memory_and_an_absurd_compression_does_not_stay(kernels: Kernels) -> None:
    rows = task(kernels, tables=[40], fiht=[], other_rows=[], linear=[], rounds=40).run()
    assert one(rows, quantity="largest", case="top_k", k=D)["maximum"] == 0
    assert one(rows, quantity="largest", case="top_k", k=K)["count"] == 0
    assert one(rows, quantity="within", case="count_sketch")["count"] == 0


@examples(30)
@given(d=st.integers(1, 30), k=st.integers(1, 30), seed=st.integers(0, 2**32 - 1), rounds=st.integers(1, 40))
def test_contractions_stay_within_the_limit(d: int, k: int, seed: int, rounds: int) -> None:
    kernels, k = load("numpy"), min(k, d)
    memory = ArmMemory(MemoryCompressor(lambda g: g, lambda z: z - best(kernels, z, k)), feedback_limit(k / d), 2)
    random = np.random.default_rng(seed)
    heaviest = np.ones((2, d)) if seed % 2 else random.standard_cauchy((2, d))
    for t in range(1, rounds + 1):
        memory.add(t, heaviest * random.choice([-1.0, 1.0]), kernels)
    assert (memory.largest <= memory.limit * (1 + 1e-12)).all()


def test_what_is_beyond_the_limit_is_not_followed() -> None:
    """A compressor that puts back twice what it is given: over in the first round in which 2 + 4 + ... exceeds 10."""
    memory = ArmMemory(MemoryCompressor(lambda g: g, lambda z: 2 * z), limit=10.0, trials=1)
    ratios = [memory.add(t, np.ones((1, 4)), load("numpy"))[0] for t in range(1, 6)]
    assert ratios == pytest.approx([2, 6, 14, 2, 2])
    assert (memory.over[0], memory.largest[0]) == (3, pytest.approx(14))
