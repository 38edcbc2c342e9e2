"""Broken error feedback is rejected by the claims that pass the sound one: T20."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from judging import verdict

from sketchbench.kernels import Array, load
from sketchbench.learning.dataset.digits import load as digits
from sketchbench.learning.model.networks import mlp
from sketchbench.task.error_feedback.feedback_memory import Arms, FeedbackMemory

TASK = FeedbackMemory(
    kernels=load("numba"),
    seed=1,
    dataset=digits,
    model=partial(mlp, hidden=[12]),
    batch=50,
    rate=0.3,
    rounds=40,
    trials=24,
    arms=Arms(k=41, few=9, rows=5, other_rows=[1, 9], tables=[], linear=[], fiht=[], few_tables=[1.25], few_fiht=[]),
    points=2,
)
CLAIMS = ("T20-top-k", "T20-few", "T20-rows")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda kept: kept, ("holds", "holds", "holds")),
        (lambda kept: 0 * kept, ("holds", "holds", "fails")),  # nothing is carried over
        (lambda kept: 1.2 * kept, ("fails", "fails", "fails")),  # more than was held back
    ],
    ids=["sound", "forgets", "amplifies"],
)
def test_memory_is_carried_over_as_it_is(
    change: Callable[[Array], Array], found: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = FeedbackMemory._compressor

    def broken(self: FeedbackMemory, *rest: Any) -> Any:
        compressor = sound(self, *rest)
        return compressor._replace(keep=lambda z: change(compressor.keep(z)))

    monkeypatch.setattr(FeedbackMemory, "_compressor", broken)
    rows = TASK.run()
    assert tuple(verdict(claim, rows) for claim in CLAIMS) == found
