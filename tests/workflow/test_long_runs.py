"""Trials as runs, by Snakemake: those that are there make a table, and the same command goes on."""

import io

import pandas as pd
import pytest
from conftest import LONG, Project

pytestmark = pytest.mark.workflow


def table(project: Project) -> bytes:
    return (project.path / "reports" / "smoke" / "tables" / "long.csv").read_bytes()


def trials(project: Project, column: str) -> set[int]:
    """The numbers of trials in this column of the table."""
    return set(pd.read_csv(io.BytesIO(table(project)))[column].dropna())


@pytest.mark.weekly
def test_trials_add_up(project: Project) -> None:
    study = project.path / "conf" / "study" / "long.yaml"
    study.write_text(LONG)
    records = project.path / "results" / "smoke" / "long" / "any" / "d12"
    told = project.succeed("minutes=1.0e-9")  # each job makes a round
    assert "2 runs reached their time limit; rerun the same command to resume" in told
    assert b"no trial is there yet" in table(project)
    assert list(project.path.rglob("*.pt"))
    told = project.succeed()  # without a limit
    assert "time limit" not in told
    assert sorted(path.name for path in records.iterdir()) == ["trial0.parquet", "trial1.parquet"]
    assert not list(project.path.rglob("*.pt"))
    whole = table(project)
    assert trials(project, "trials") == {2}
    (records / "trial1.parquet").unlink()
    project.succeed("trials=there")
    assert not (records / "trial1.parquet").exists()  # which the record of the run was made of already
    assert table(project) == whole
    records.with_suffix(".parquet").unlink()
    project.succeed("trials=there")
    assert trials(project, "trials") == {1}
    assert trials(project, "planned") == {2}
