"""Killed runs resume, damaged records are noticed: the tables come out the same, byte for byte."""

import signal
import time
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Project

from sketchbench import record

pytestmark = pytest.mark.workflow
RECORD = Path("results/smoke/tiny/count_sketch/d12-b4.parquet")


def slow_down(project: Project) -> None:
    """Give every run enough trials to be killed in the middle of."""
    study = "conf/study/tiny.yaml"
    project.edit(study, lambda text: text.replace("trials: 40", "trials: 60000"))


def wait_for_jobs(parent: psutil.Process) -> list[psutil.Process]:
    """The jobs' processes, once one is at work."""
    for _ in range(600):
        jobs = [p for p in parent.children(recursive=True) if _is_job(p)]
        if jobs:
            time.sleep(0.5)
            return jobs
        time.sleep(0.05)
    raise AssertionError("no job started")


def _is_job(process: psutil.Process) -> bool:
    try:
        return process.name().startswith("python") and "sketchbench.job" in process.cmdline()
    except psutil.Error:  # it ended in the meantime
        return False


def test_killed_job(project: Project) -> None:
    slow_down(project)
    process = project.start()
    for job in wait_for_jobs(psutil.Process(process.pid)):
        job.kill()
    output, _ = process.communicate(timeout=300)
    assert process.returncode != 0, output
    assert not (project.path / "reports" / "smoke" / "tables" / "tiny.csv").exists()
    project.succeed()
    _same_as_undisturbed(project)


def test_killed_snakemake(project: Project) -> None:
    """With SIGKILL Snakemake leaves a lock and orphans behind; the wrapper copes with both."""
    slow_down(project)
    process = project.start()
    jobs = wait_for_jobs(psutil.Process(process.pid))
    process.send_signal(signal.SIGKILL)
    process.wait()
    project.succeed(wrapper=True)
    psutil.wait_procs(jobs, timeout=60)
    project.succeed(wrapper=True)
    _same_as_undisturbed(project)
    leftovers = [path for path in (project.path / "results").rglob(".*") if path.is_file()]
    assert all(path.name == ".snakemake_timestamp" for path in leftovers), leftovers


def _same_as_undisturbed(project: Project) -> None:
    """The reports equal those of a run from scratch."""
    disturbed = project.reports()
    for path in (project.path / "results").rglob("*.parquet"):
        path.unlink()
    project.succeed()
    assert project.reports() == disturbed


@pytest.mark.parametrize("damage", ["truncated", "edited", "edited by a tool", "empty"])
def test_damaged_record(project: Project, damage: str) -> None:
    project.succeed()
    before = project.reports()
    path = project.path / RECORD
    whole = record.read(path).rows
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "edited":
        content = bytearray(path.read_bytes())
        content[60] ^= 1
        path.write_bytes(bytes(content))
    elif damage == "edited by a tool":
        table = pq.read_table(path)
        column = pa.array([9.0] * table.num_rows)
        index = table.schema.get_field_index("mean")
        pq.write_table(table.set_column(index, "mean", column), path)
    else:
        path.write_bytes(b"")
    output = project.succeed()
    assert "set aside, to be computed again" in output
    assert str(RECORD) in output
    assert record.read(path).rows == whole
    assert project.reports() == before
