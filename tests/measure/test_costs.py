"""Times measured in turns, exponents of growth, and losses that diverge."""

import functools

import numpy as np
import pytest

from sketchbench.measure import cost
from sketchbench.measure.divergence import has_diverged


def test_times_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that the work itself puts forward; the first round does not count."""
    now = 0.0
    takes = {"a": iter([900.0, 1.0, 3.0]), "b": iter([900.0, 2.0, 4.0])}

    def work(name: str) -> None:
        nonlocal now
        now += next(takes[name])

    monkeypatch.setattr(cost.time, "perf_counter", lambda: now)
    seconds = cost.time_in_turns({name: functools.partial(work, name) for name in takes}, 2)
    assert {name: own.tolist() for name, own in seconds.items()} == {"a": [1, 3], "b": [2, 4]}


def test_exponents_from_a_size_of_one_on() -> None:
    np.testing.assert_allclose(cost.exponents([1, 2, 8], np.array([[3, 6, 24], [1, 4, 64]])), [1, 2])
    with pytest.raises(ValueError, match="of two sizes >= 1 or more"):
        cost.exponents([0, 1], np.array([1.0, 2.0]))


@pytest.mark.parametrize(("start", "limit"), [(0.1, 1e6), (1.0, 1e6), (20.0, 2e7)])
def test_a_loss_diverges_beyond_a_million_times_its_start_or_one(start: float, limit: float) -> None:
    assert not has_diverged(np.array([start, limit, start]), start)
    assert has_diverged(np.array([start, limit * (1 + 1e-12), start]), start)
    assert has_diverged(np.array([np.nan]), start)
