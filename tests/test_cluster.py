"""Which runs share a job of a cluster, and what a job asks for."""

from collections import defaultdict
from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.plan import cluster
from sketchbench.plan.batch import Batch, Run
from sketchbench.plan.cost import Cost

PROFILE = Path(__file__).parents[1] / "workflow" / "profiles" / "slurm" / "config.yaml"


def batch(seconds: float | None, mebibytes: int = 100) -> Batch:
    cost = None if seconds is None else Cost(seconds, seconds, mebibytes, 1)
    return Batch("1.done", [Run("study", "1", {}, "", {}, "1.parquet", cost)])


def studies(seconds: list[list[float | None]]) -> dict[str, dict[str, Batch]]:
    return {
        f"study{number}": {str(place): batch(value) for place, value in enumerate(values, 1)}
        for number, values in enumerate(seconds, 1)
    }


durations = st.none() | st.floats(0, 1e4)


@given(st.lists(st.lists(durations, min_size=1, max_size=20), min_size=1, max_size=20), st.integers(1, 30))
def test_every_batch_and_table_has_its_job(seconds: list[list[float | None]], most: int) -> None:
    """Jobs are few, what is alone is long, and a table is with its batches or after all of them."""
    planned = studies(seconds)
    found = cluster.jobs(planned, most)
    every = {(study, name) for study, batches in planned.items() for name in batches}
    assert found.runs.keys() <= every
    alone = {(study, name): planned[study][name] for study, name in every - found.runs.keys()}
    short = [one for one in alone.values() if (one.seconds or cluster.UNKNOWN[0]) + cluster.START <= cluster.LONG]
    names = {*found.runs.values(), *found.tables.values()}
    parts = names - {cluster.TABLES}
    assert parts <= {f"part{number}" for number in range(1, most + 1)}
    assert len(parts) + len(short) <= most
    assert found.tables.keys() == planned.keys()
    for study, name in found.tables.items():
        homes = {found.runs.get((study, one)) for one in planned[study]}
        assert name == cluster.TABLES or homes == {name}


@given(st.lists(st.floats(0, 100), min_size=40, max_size=200), st.integers(2, 20))
def test_jobs_are_about_equally_long(seconds: list[float], most: int) -> None:
    """None is longer than the mean by more than its longest part, as by any greedy schedule."""
    planned = studies([[value] for value in seconds])
    found = cluster.jobs(planned, most)
    taken: dict[str, float] = defaultdict(float)
    for (study, name), part in found.runs.items():
        taken[part] += planned[study][name].seconds + 2 * cluster.START  # of the batch and of its table
    assert len(found.runs) == len(seconds)
    assert max(taken.values()) <= sum(taken.values()) / len(taken) + max(seconds) + 2 * cluster.START


def test_without_parts_nothing_is_shared() -> None:
    found = cluster.jobs(studies([[1.0, 2.0]]), 0)
    assert (found.runs, found.tables, found.last) == ({}, {}, None)


def test_a_job_asks_for_what_was_measured_and_then_for_twice_as_much() -> None:
    measured = batch(56.0, 1000)
    assert [cluster.minutes(measured, attempt) for attempt in (1, 2, 3)] == [3, 6, 12]
    assert [cluster.megabytes(measured, attempt) for attempt in (1, 2)] == [2012, 4024]
    assert cluster.minutes(batch(None), 1) > 5
    assert cluster.megabytes(batch(None), 1) > 2000


def test_the_profile_lists_the_groups_in_order() -> None:
    """A part that is missing in the middle would not be one job but as many as it has studies."""
    listed = [text.partition("=")[0] for text in yaml.safe_load(PROFILE.read_text())["group-components"]]
    assert listed == [*(f"part{number}" for number in range(1, len(listed) - 1)), cluster.TABLES, cluster.LAST]
