"""Runs on a SLURM cluster of one node (cluster.sh): the results of a local run, byte for byte, whatever fails.

`make test-slurm` runs these on a quiet machine; most of the time they wait for jobs to start, and for limits.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_cluster import (
    PLUGIN,
    Cluster,
    changed,
    differences,
    end_snakemake,
    finish,
    modules,
    on_slurm,
    projects,
    shortened,
    slowed,
    whole,
)

CLUSTER = Path(__file__).with_name("cluster.sh")
ALONE = ("--group-components", "none=1")  # in place of the profile's: every batch is a job of its own
MISSING = [name for name in ("slurmctld", "slurmd", "munged", "srun") if not shutil.which(name)]
if PLUGIN is None:
    MISSING.append("snakemake-executor-plugin-slurm")
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a cluster"),
]

small, small_project = projects.small, projects.project  # fixtures


@pytest.fixture(scope="module", autouse=True)
def asked_for(request: pytest.FixtureRequest) -> None:
    if "slurm" not in request.config.getoption("markexpr"):
        pytest.skip("run it by `make test-slurm`")


@pytest.fixture
def project(small_project: projects.Project) -> projects.Project:
    """Two runs of half a second each, as if they had been measured, in a batch; a table; two verdicts."""
    small_project.edit("conf/costs.csv", lambda text: f"{text}smoke,tiny,2,0.5,0.5,100\n")
    return small_project


@pytest.fixture(scope="module")
def whole_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("slurm") / "cluster"
    for place in (folder.parent, *list(folder.parents)[1:3]):
        place.chmod(0o755)  # munge wants to be reached by others
    before = {path: path.stat().st_mtime_ns for path in Path("/etc").glob("*/*") if "slurm" in str(path)}
    subprocess.run(["sh", CLUSTER, "up", folder], check=True)
    yield Cluster(folder)
    subprocess.run(["sh", CLUSTER, "down", folder], check=True)
    assert not folder.exists()
    assert before == {path: path.stat().st_mtime_ns for path in Path("/etc").glob("*/*") if "slurm" in str(path)}


@pytest.fixture
def cluster(whole_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Free of jobs before and after; its commands are those found on the path."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(whole_cluster.folder / "bin"), os.environ["PATH"]]))
    whole_cluster.free()
    yield whole_cluster
    whole_cluster.free()


def test_short_runs_share_a_job(project: projects.Project, cluster: Cluster) -> None:
    """Two batches and their table are a job, the verdicts another one; a third run does nothing."""
    project.edit("conf/workflow.yaml", lambda text: text.replace("smoke: 16", "smoke: 1"))
    before = cluster.jobs()
    finish(on_slurm(project))
    part, last = [job for job in cluster.jobs() if job not in before]
    asked = [cluster.detail(part, key) for key in ("NumCPUs", "MinMemoryNode", "TimeLimit")]
    assert asked == ["1", "662M", "00:03:00"]  # done in turn: the most memory, and the sum of the times
    assert cluster.detail(last, "TimeLimit") == "00:03:00"
    assert "Nothing to be done" in finish(on_slurm(project))
    assert len(cluster.jobs()) == len(before) + 2
    assert differences(project) == set()


def test_one_run_that_fails_stops_no_other_of_its_job(project: projects.Project, cluster: Cluster) -> None:
    project.edit("conf/workflow.yaml", lambda text: text.replace("smoke: 16", "smoke: 1"))
    changed(project, "assert 'CountSketch' not in repr(self.family), 'broken'")
    finish(on_slurm(project, "--retries", "0"), fails=True)
    assert list(project.records()) == ["uniform_sampling/d12-b4"]


def test_killed_job(project: projects.Project, cluster: Cluster) -> None:
    slowed(project, 8)
    process = on_slurm(project, "--retries", "0")
    job = cluster.wait_for("running")
    time.sleep(6)
    cluster("scancel", "--signal=KILL", "--full", job)
    finish(process, fails=True)
    finish(on_slurm(project, "--retries", "0"))
    assert differences(project) == set()


def test_killed_snakemake(project: projects.Project, cluster: Cluster) -> None:
    """Its job works on beside the one that the same command sends again."""
    slowed(project, 8)
    process = on_slurm(project)
    cluster.wait_for("running")
    end_snakemake(project)
    process.wait()
    finish(on_slurm(project))
    assert differences(project) == set()


def test_killed_controller(project: projects.Project, cluster: Cluster) -> None:
    """SLURM's own scheduler is killed and started again: nothing fails."""
    slowed(project, 8)
    process = on_slurm(project)
    cluster.wait_for("running")
    time.sleep(6)  # it keeps its state every few seconds
    os.kill(int((cluster.folder / "slurmctld.pid").read_text()), signal.SIGKILL)
    time.sleep(3)
    subprocess.run(["slurmctld"], env={**os.environ, "SLURM_CONF": str(cluster.folder / "slurm.conf")}, check=True)
    finish(process)
    assert differences(project) == set()


def test_drained_node(project: projects.Project, cluster: Cluster) -> None:
    node = cluster("sinfo", "--noheader", "--format=%n").strip()
    cluster("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    try:
        process = on_slurm(project)
        job = cluster.wait_for("pending")
        time.sleep(5)
        assert cluster.detail(job, "JobState") == "PENDING"
    finally:
        cluster("scontrol", "update", f"NodeName={node}", "State=RESUME")
    finish(process)
    assert differences(project) == set()


def test_over_memory(project: projects.Project, cluster: Cluster) -> None:
    """The first attempt is ended at its limit; the second gets twice as much, and suffices."""
    changed(project, "hog = __import__('numpy').ones(90_000_000); __import__('time').sleep(4); del hog")
    before = cluster.jobs()
    finish(on_slurm(project, *ALONE))
    first, second, *_ = [job for job in cluster.jobs() if job not in before]
    assert cluster.detail(first, "JobState") in ("OUT_OF_MEMORY", "FAILED", "CANCELLED")
    memory = [cluster.detail(job, "MinMemoryNode") for job in (first, second)]
    assert memory == ["662M", "1324M"]
    assert cluster.detail(second, "JobState") == "COMPLETED"
    assert differences(project) == set()


def test_over_time(project: projects.Project, cluster: Cluster) -> None:
    """The first attempt ends at its limit of a minute, with one of two records; the second makes the other one."""
    slowed(project, 40)
    before = cluster.jobs()
    process = on_slurm(project, *ALONE)
    while process.poll() is None and not project.records():
        time.sleep(0.5)
    written = project.records()
    assert len(written) == 1
    finish(process)
    assert {name: project.records()[name] for name in written} == written
    first, second, *_ = [job for job in cluster.jobs() if job not in before]
    assert [cluster.detail(job, "TimeLimit") for job in (first, second)] == ["00:01:00", "00:02:00"]
    assert [cluster.detail(job, "JobState") for job in (first, second)] == ["TIMEOUT", "COMPLETED"]
    assert differences(project) == set()


def test_cupy_asks_for_a_gpu(project: projects.Project, cluster: Cluster) -> None:
    """The device is on the cluster, so nobody looks for one here; the job itself waits on the drained node."""
    project.edit("conf/workflow.yaml", lambda text: text.replace("smoke: 16", "smoke: 1"))
    node = cluster("sinfo", "--noheader", "--format=%n").strip()
    cluster("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    try:
        process = on_slurm(project, settings=("kernels=cupy", "device=elsewhere"))
        job = cluster.wait_for("pending")
        assert cluster.detail(job, "TresPerJob") == "gres:gpu:1"
    finally:
        end_snakemake(project)
        process.wait()
        cluster.free()
        cluster("scontrol", "update", f"NodeName={node}", "State=RESUME")


def _count_jobs(output: str) -> int:
    """Of a dry run: groups, and jobs outside of them (but for the rule `all`, which is none)."""
    groups = len(re.findall(r"^\[.*\] Group job \S+ ", output, re.M))
    return groups + len(re.findall(r"^Job \d+: (?!all results)", output, re.M))


def test_all_of_quick_is_few_jobs(tmp_path: Path) -> None:
    """In a folder without results. 32 steps, of which 20 compute; without groups each of them would be a job."""
    copy = whole(tmp_path)
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", "workflow/profiles/slurm", "--dry-run"]
    answer = subprocess.run(
        [*command, "--verbose", "--config", "scale=quick"],  # else the progress stands for the list of jobs
        cwd=copy.path,
        env={**os.environ, "PYTHONPATH": modules(copy)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 4 <= _count_jobs(answer.stdout + answer.stderr) <= 12


def test_all_of_the_smoke_scale(cluster: Cluster, tmp_path: Path) -> None:
    """Seven jobs, the results of a local run; the log of the last such run is kept in smoke.log."""
    copy = whole(tmp_path)
    before = len(cluster.jobs())
    output = finish(on_slurm(copy))
    (copy.path / "smoke.log").write_text(shortened(output, [copy.path, cluster.folder]))
    assert len(cluster.jobs()) - before <= 7
    if place := os.environ.get("SMOKE_LOG"):
        shutil.copy(copy.path / "smoke.log", place)
    assert differences(copy, timed=True) == set()
