"""Killed runs resume, damaged records are noticed: the tables come out the same, byte for byte."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Project, made_once

from sketchbench.run import record

pytestmark = pytest.mark.workflow
RECORD = Path("results/smoke/tiny/count_sketch/d12-b4.parquet")


def slow_down(project: Project) -> Project:
    """Give every run enough trials to be killed in the middle of."""
    study = "conf/study/tiny.yaml"
    project.edit(study, lambda text: text.replace("trials: 40", "trials: 60000"))
    return project


@pytest.fixture(scope="module")
def undisturbed(small: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The reports of the slow project, which nothing disturbed."""
    return Project(made_once(tmp_path_factory, small, "undisturbed", slow_down)).reports()


def wait_for_jobs(parent: psutil.Process) -> list[psutil.Process]:
    """The jobs' processes, once one is at work."""
    for _ in range(2400):
        jobs = [p for p in parent.children(recursive=True) if _is_job(p)]
        if jobs:
            time.sleep(0.5)
            return jobs
        time.sleep(0.05)
    raise AssertionError("no job started")


def _is_job(process: psutil.Process) -> bool:
    try:
        return process.name().startswith("python") and process.cmdline()[3:5] == ["step", "job"]
    except psutil.Error:  # it ended in the meantime
        return False


@pytest.mark.weekly
def test_who_stops_results_stops_snakemake(project: Project) -> None:
    """With `kill` of the one process. What runs is done, nothing else begins, and the next run has the folder."""
    slow_down(project)
    process = subprocess.Popen(
        [sys.executable, "-m", "sketchbench", "results", "--scale", "smoke", "--kernels", "numpy", "--cores", "1"],
        cwd=project.path,
        env=project.environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    wait_for_jobs(psutil.Process(process.pid))
    children = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 1, output
    assert not psutil.wait_procs(children, timeout=10)[1]
    assert not (project.path / "reports" / "smoke" / "tables").exists()
    project.succeed(wrapper=True)


@pytest.mark.weekly
def test_kills(project: Project, undisturbed: dict[str, bytes]) -> None:
    """Of the job, and then of Snakemake while the job is done again, which shows that it is. With SIGKILL Snakemake
    leaves a lock and orphans behind; the wrapper copes with both."""
    process = slow_down(project).start()
    for job in wait_for_jobs(psutil.Process(process.pid)):
        job.kill()
    output, _ = process.communicate(timeout=300)
    assert process.returncode != 0, output
    assert not (project.path / "reports" / "smoke" / "tables" / "tiny.csv").exists()

    process = project.start()
    jobs = wait_for_jobs(psutil.Process(process.pid))
    process.send_signal(signal.SIGKILL)
    process.wait()
    project.succeed(wrapper=True)
    psutil.wait_procs(jobs, timeout=60)
    project.succeed(wrapper=True)
    assert project.reports() == undisturbed
    leftovers = [path for path in (project.path / "results").rglob(".*") if path.is_file()]
    assert all(path.name == ".snakemake_timestamp" for path in leftovers), leftovers


def test_whatever_is_damaged_is_made_again(finished: Project) -> None:
    """Records, receipts, tables, claims and their seals, of which a line each is said; two rounds of damage."""
    project = finished
    before, reports = project.reports(), Path("reports/smoke")
    path = project.path / RECORD
    whole = record.read(path).rows

    def edit_by_a_tool() -> None:
        table = pq.read_table(path)
        column = pa.array([9.0] * table.num_rows)
        index = table.schema.get_field_index("mean")
        pq.write_table(table.set_column(index, "mean", column), path)

    def flip(name: Path) -> None:
        content = bytearray((project.path / name).read_bytes())
        content[60] ^= 1
        (project.path / name).write_bytes(bytes(content))

    def replace_by_a_link(name: Path) -> None:
        (project.path / name).unlink()
        (project.path / name).symlink_to("nowhere")

    def replace_by_a_folder(name: Path) -> None:
        (project.path / name).unlink()
        (project.path / name / "inner").mkdir(parents=True)

    receipt, other = Path("results/smoke/tiny/1.done"), RECORD.parents[1] / "uniform_sampling" / "d12-b4.parquet"
    rounds: list[dict[Path, Callable[[Path], object]]] = [
        {
            RECORD: lambda name: path.write_bytes(path.read_bytes()[:-40]),
            other: replace_by_a_folder,
            receipt: replace_by_a_folder,
            reports / "tables" / "tiny.csv": flip,
            reports / "seals.jsonl": flip,
            Path("results/smoke/sealed/claims"): replace_by_a_folder,
        },
        {
            RECORD: lambda name: edit_by_a_tool(),
            other: lambda name: (project.path / name).write_bytes(b""),
            receipt: replace_by_a_link,
            reports / "claims.md": lambda name: (project.path / name).write_bytes(b""),
            reports / "tables" / "seals.jsonl": replace_by_a_link,
            Path("results/smoke/sealed/tables/tiny"): replace_by_a_link,
            reports / "claims.csv": lambda name: shutil.copy(project.path / RECORD, project.path / name),
        },
    ]
    for damages in rounds:
        for name, damage in damages.items():
            damage(name)
        output = project.succeed()
        for name in damages:
            (line,) = (line for line in output.splitlines() if line.startswith(f"{name}: "))
            assert "; set aside, to be " in line
        assert record.read(path).rows == whole
        assert project.reports() == before
