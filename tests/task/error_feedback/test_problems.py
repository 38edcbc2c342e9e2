"""Trials of SGD with compressed sensing that are problems: each is the run of its seed, until one diverges."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from sketchbench.base import seeds
from sketchbench.federated.compressed_sensing import CompressedSensingSGD
from sketchbench.federated.peers import Table
from sketchbench.kernels import load
from sketchbench.learning.objective.sparse_gradients import SparseGradients
from sketchbench.measure.row import Row
from sketchbench.sketch import SubsampledHadamard
from sketchbench.sketch.recovery import FIHT
from sketchbench.task.error_feedback.compressed_sensing import CompressedSensingTask, ShownRound, _joined

TRIALS = 3


def task(problem: Any) -> CompressedSensingTask:
    return CompressedSensingTask(
        family=SubsampledHadamard(64, 32, signs=False),
        recovery=FIHT,
        kernels=load("numba"),
        seed=2,
        objective=partial(SparseGradients, d=64, clients=3, decay=8.0),
        problem=problem,
        trials=TRIALS,
        rounds=6,
        k=4,
        algorithm=partial(CompressedSensingSGD, channel_noise=0.3, clients="mean"),
        peers=["uncompressed", "count_sketch", "noiseless"],
        table=Table(3, 8),
        points=6,
    )


def means(rows: list[Row], **wanted: Any) -> list[Any]:
    return [row["mean"] for row in rows if wanted.items() <= row.items()]


@pytest.mark.parametrize("case", ["recovery", "uncompressed", "count_sketch", "noiseless"])
def test_each_trial_is_the_run_of_its_seed(case: str) -> None:
    whole = task("each")
    alone = [whole._courses(seeds.key(2, task="compressed sensing", problem=i), 1)[case] for i in range(TRIALS)]
    assert means(whole.run(), quantity="loss", case=case) == [
        pytest.approx(np.mean([shown.loss for shown in rounds])) for rounds in zip(*alone, strict=True)
    ]
    assert len({float(one[0].loss[0]) for one in alone if one[0].loss is not None}) == TRIALS


def test_starts_differ_and_nothing_else() -> None:
    (first, *_), (shared, *_) = (task(problem)._courses(2, TRIALS)["recovery"] for problem in ("start", "one"))
    assert first.loss is not None
    assert shared.loss is not None
    assert (len(set(first.loss)), len(set(shared.loss))) == (TRIALS, 1)


def test_joined_problems_end_with_the_first_that_diverges() -> None:
    def course(*losses: float | None) -> list[ShownRound]:
        rounds = (0, 2, 5)
        ended = [t if loss is not None else 4 for t, loss in zip(rounds, losses, strict=False)]
        return [
            ShownRound(t, t, t, None if loss is None else np.array([loss]))
            for t, loss in zip(ended, losses, strict=True)
        ]

    joined = list(_joined([course(1.0, 2.0, 3.0), course(5.0, 6.0, None)]))
    assert [shown.t for shown in joined] == [0, 2, 4]
    assert joined[1].loss is not None
    assert joined[1].loss.tolist() == [2.0, 6.0]
    assert joined[2].loss is None
