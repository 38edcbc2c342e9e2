"""The small project of the workflow's tests, on a cluster that a test started (cluster.sh)."""

import atexit
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import times
from small_project import projects

from sketchbench.run import record

ROOT = Path(__file__).parents[2]
FAST = ("--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5")  # on one machine
NUMPY = ("kernels=numpy",)
SLOWER = "self.next_seconds_between_status_checks + 10,"
PLUGIN = importlib.util.find_spec("snakemake_executor_plugin_slurm")


@dataclass(frozen=True)
class Cluster:
    folder: Path

    def __call__(self, command: str, *arguments: str) -> str:
        path = self.folder / "bin" / command
        return subprocess.run([path, *arguments], capture_output=True, text=True, check=True).stdout

    def jobs(self, *states: str) -> list[str]:
        """The numbers of all jobs of this cluster, or of those in some states."""
        chosen = ("--states", ",".join(states) or "all")
        return sorted(self("squeue", "--noheader", "--format=%i", *chosen).split(), key=int)

    def wait_for(self, *states: str) -> str:
        """The number of a job once there is one in one of these states."""
        for _ in range(400):
            if found := self.jobs(*states):
                return found[0]
            time.sleep(0.25)
        raise AssertionError(f"no job became {states}")

    def detail(self, job: str, key: str) -> str:
        """What SLURM says of a job, such as its `TimeLimit`."""
        match = re.search(rf"\b{key}=(\S+)", self("scontrol", "show", "job", job))
        assert match, key
        return match[1]

    def free(self) -> None:
        """End all jobs, and wait for it."""
        self("scancel", "--user", "root")
        while self.jobs("running", "completing", "pending"):
            time.sleep(0.2)


def on_slurm(project: projects.Project, *options: str, settings: Sequence[str] = NUMPY) -> "subprocess.Popen[str]":
    """The command that runs the project on the cluster, and goes on with it whatever happened before."""
    environment = {**os.environ, "PYTHONPATH": modules(project)}
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["sh", "workflow/run", "--workflow-profile", "workflow/profiles/slurm", *FAST, *options]
    return subprocess.Popen(
        [*command, "--config", "scale=smoke", *settings],
        cwd=project.path,
        env={**environment, "PATH": search},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def modules(project: projects.Project) -> str:
    """The path of modules of the project, and of the plugin, which is not where others are (it slows every start)."""
    return os.pathsep.join([str(project.path), str(plugin())])


@functools.cache
def plugin() -> Path:
    """A copy of the plugin that asks SLURM each second, and does not wait ten seconds longer each time."""
    assert PLUGIN is not None
    assert PLUGIN.origin is not None
    place = Path(tempfile.mkdtemp(prefix="slurm-plugin"))
    atexit.register(shutil.rmtree, place)
    place.chmod(0o755)
    for folder in Path(PLUGIN.origin).parents[1].glob("snakemake_executor_plugin_slurm*"):
        shutil.copytree(folder, place / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    source = place / PLUGIN.name / "__init__.py"
    text = source.read_text()
    assert text.count(SLOWER) == 1, "another release of the plugin waits in another way"
    source.write_text(text.replace(SLOWER, SLOWER.replace("10", "0")))
    return place


def finish(process: "subprocess.Popen[str]", fails: bool = False) -> str:
    output, _ = process.communicate(timeout=1200)
    assert (process.returncode != 0) is fails, output
    return output


def changed(project: projects.Project, line: str) -> None:
    """Every run does this first, and then comes to what it always comes to."""
    head = "def run(self) -> list[Row]:\n"
    project.edit("sketchbench/task/sketches/moments.py", lambda text: text.replace(head, f"{head}        {line}\n", 1))


def slowed(project: projects.Project, seconds: float) -> None:
    changed(project, f"__import__('time').sleep({seconds})")


def outcome(project: projects.Project) -> dict[str, object]:
    """Every report byte for byte, and of every record its rows and signature, not its times, commit and machine."""
    found: dict[str, object] = dict(project.reports())
    for path in sorted((project.path / "results").rglob("*.parquet")):
        stored = record.read(path)
        found[str(path.relative_to(project.path))] = (stored.rows, stored.provenance["signature"])
    return found


def differences(project: projects.Project, timed: bool = False) -> set[str]:
    """The reports and records that a local run does not make byte for byte; where some are `timed`, but for times."""
    found = outcome(project)
    assert any(name.endswith(".parquet") for name in found)
    assert "claims.csv" in found
    assert not list(project.path.rglob("*.rejected")), "a job set aside what another one was writing"
    for name in ("results", "reports", ".snakemake"):
        shutil.rmtree(project.path / name)
    finish(project.start())
    local = outcome(project)
    if timed:
        found, local = (times.without(one) for one in (found, local))
    return {name for name in found.keys() | local.keys() if found.get(name) != local.get(name)}


def end_snakemake(project: projects.Project) -> None:
    """Kill it and the script around it; the jobs of the cluster are no children of it."""
    for one in psutil.process_iter(["cwd", "cmdline"]):
        if one.info["cwd"] == str(project.path) and "--workflow-profile" in (one.info["cmdline"] or []):
            with suppress(psutil.NoSuchProcess):
                one.kill()


def whole(path: Path) -> projects.Project:
    """A copy of the project as it is."""
    for name in ("conf", "workflow", "sketchbench"):
        shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "environment.yml", path)
    if (ROOT / "results" / "composed.txt").is_file():
        (path / "results").mkdir()
        shutil.copy(ROOT / "results" / "composed.txt", path / "results")
    return projects.Project(path)


def shortened(output: str, places: list[Path]) -> str:
    """A log without the verdicts at its end, and without the names of folders, programs and hosts."""
    for place in places:
        output = output.replace(str(place), "")
    left_out = re.compile(r"(?i)^host|/(tmp|work|root|home)/|, expected |^\s*$")
    return "\n".join(line.rstrip()[:118] for line in output.splitlines() if not left_out.search(line)) + "\n"
