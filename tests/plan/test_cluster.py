"""Which batches share a job of a cluster, and what a job asks for."""

from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from sketchbench.plan import cluster
from sketchbench.plan.batch import Batch, Run
from sketchbench.plan.cost import Cost

PROFILES = Path(__file__).parents[2] / "workflow" / "profiles"


def batch(seconds: float | None, mebibytes: int = 100) -> Batch:
    cost = None if seconds is None else Cost(seconds, seconds, mebibytes, 1)
    return Batch("1.done", [Run("study", "1", {}, "", {}, "1.parquet", cost)])


@given(st.lists(st.none() | st.floats(0, 1e3), min_size=1, max_size=20))
def test_a_table_is_with_all_of_its_batches_or_after_them(seconds: list[float | None]) -> None:
    batches = [batch(value) for value in seconds]
    groups = {cluster.group_of_batch(one) for one in batches}
    assert cluster.group_of_table(batches) == cluster.TABLES or groups == {cluster.SHORT}
    long = any((value or 0) > cluster.LIMIT for value in seconds)
    assert (None in groups) >= long


def test_a_job_asks_for_what_was_measured_and_then_for_twice_as_much() -> None:
    measured = batch(56.0, 1000)
    assert [cluster.minutes(measured, attempt) for attempt in (1, 2, 3)] == [3, 6, 12]
    assert [cluster.megabytes(measured, attempt) for attempt in (1, 2)] == [2012, 4024]
    assert cluster.minutes(batch(None), 1) > 5
    assert cluster.megabytes(batch(None), 1) > 2000


def test_the_profile_has_the_groups_and_kernels_that_nodes_share() -> None:
    """Groups that a profile does not list would be a job for each study."""
    slurm = PROFILES / "slurm"
    listed = [
        text.partition("=")[0] for text in yaml.safe_load((slurm / "config.yaml").read_text())["group-components"]
    ]
    assert listed == [cluster.SHORT, cluster.TABLES, cluster.LAST]
    assert yaml.safe_load((slurm / "settings.yaml").read_text()) == {"kernels": "numba", "device": "elsewhere"}
