"""Hostile machines and impatient users: whatever happens, the same command comes to the same bytes, or to a clear line.

They take a quarter of an hour and a quiet machine; `make scenarios` runs them, and nothing else does.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from conftest import Project, made_once
from test_crashes import slow_down, wait_for_jobs

pytestmark = pytest.mark.workflow
KILLS = 20
LATEST = 25  # seconds after the start of a run, at which it is killed
SEED = 20261128  # of the moments
TRACE = "Traceback (most recent call last)"


@pytest.fixture(scope="module")
def undisturbed(small: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The reports of the slow project, which nothing disturbed."""
    return Project(made_once(tmp_path_factory, small, "undisturbed", slow_down)).reports()


def kill(process: "subprocess.Popen[str]") -> None:
    """Kill a run with all of its processes at once, as a machine that loses power does."""
    family = psutil.Process(process.pid)
    everyone = [family, *family.children(recursive=True)]
    for one in everyone:
        one.suspend()
    for one in [*everyone, *family.children(recursive=True)]:
        one.kill()
    process.communicate(timeout=60)


def test_kills_at_random_moments(project: Project, undisturbed: dict[str, bytes]) -> None:
    slow_down(project)
    moments = random.Random(SEED)
    for number in range(KILLS):
        process, last = project.start(wrapper=True), moments.uniform(0, LATEST)
        try:
            process.communicate(timeout=last)
        except subprocess.TimeoutExpired:
            kill(process)
        else:  # it ended before: from the start once more
            assert process.returncode == 0
            assert project.reports() == undisturbed
            shutil.rmtree(project.path / ("results" if number % 2 else "reports"))
    project.succeed(wrapper=True)
    assert project.reports() == undisturbed


def in_the_future(project: Project) -> None:
    ahead = time.time() + 2 * 365 * 86400
    for folder in ("reports/smoke/tables", "results/smoke"):
        for path in (project.path / folder).rglob("*"):
            os.utime(path, (ahead, ahead), follow_symlinks=False)


def in_the_past(project: Project) -> None:
    for path in project.path.rglob("*"):
        os.utime(path, (0, 0), follow_symlinks=False)


@pytest.mark.parametrize("jump", [in_the_future, in_the_past])
def test_clocks_that_jump(finished: Project, jump: Callable[[Project], None]) -> None:
    before = finished.reports()
    jump(finished)
    finished.succeed(wrapper=True)
    assert finished.reports() == before
    finished.edit("conf/claim/S1.yaml", lambda text: text + "# edited\n")
    jump(finished)
    finished.succeed(wrapper=True)
    assert finished.reports()["claims.csv"] == before["claims.csv"]


def test_a_moved_checkout(finished: Project, tmp_path: Path) -> None:
    before, elsewhere = finished.records(), tmp_path / "else where" / "ü"
    elsewhere.parent.mkdir()
    shutil.move(finished.path, elsewhere)
    moved = Project(elsewhere)
    moved.succeed(wrapper=True)
    assert moved.records() == before


@pytest.mark.parametrize("home", [None, "/dev/null/nowhere"])
def test_nobody_is_at_home(project: Project, home: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container with the number of another user."""
    for name in ("HOME", "XDG_CACHE_HOME", "USER", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    if home:
        monkeypatch.setenv("HOME", home)
    said = project.succeed(wrapper=True)
    assert TRACE not in said


def limited(project: Project, limit: int, value: int) -> tuple[int, str]:
    """A run of processes under a limit of the system."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sketchbench", "results", "--scale", "smoke", "--kernels", "numpy"],
        cwd=project.path,
        env=project.environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: resource.setrlimit(limit, (value, value)),  # noqa: PLW1509 (no thread is there)
    )
    output, _ = process.communicate(timeout=300)
    return process.returncode, output


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (resource.RLIMIT_FSIZE, 4096),
        (resource.RLIMIT_NOFILE, 24),
        (resource.RLIMIT_CPU, 3),
    ],
    ids=["sizes of files", "open files", "seconds"],
)
def test_limits_of_the_system(project: Project, undisturbed: dict[str, bytes], limit: int, value: int) -> None:
    """Whether it fails or not, the same command without the limit comes to the same reports. Memory is not limited:
    Snakemake spins where it can make no thread."""
    slow_down(project)
    code, output = limited(project, limit, value)
    assert code == 0 or "error" in output.lower() or "Snakemake was killed" in output, output
    project.succeed(wrapper=True)
    assert project.reports() == undisturbed


def test_a_mask_that_lets_nobody_read(project: Project, undisturbed: dict[str, bytes]) -> None:
    slow_down(project)
    before = os.umask(0o077)
    try:
        project.succeed(wrapper=True)
    finally:
        os.umask(before)
    assert project.reports() == undisturbed


OWN = """\
import os, signal, sys
from dataclasses import dataclass
from sketchbench.sketch.count_sketch import CountSketch

@dataclass(frozen=True)
class Odd(CountSketch):
    def _draw(self, draws):
        if "step" in sys.argv:  # not in the check of the folder
            {body}
        return super()._draw(draws)
"""


def own(project: Project, body: str) -> Path:
    """A user's folder with a family whose `_draw` does this first."""
    folder = project.path / "mine"
    (folder / "sketch").mkdir(parents=True)
    (folder / "sketch" / "odd.yaml").write_text("label: Odd\nfamily: {_target_: odd.Odd}\n")
    (folder / "odd.py").write_text(OWN.format(body=body))
    return folder


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL", id="a signal"),
        pytest.param("os._exit(0)", "its process ended before its work did", id="an exit"),
        pytest.param("os.chdir('/')", "", id="another folder"),
    ],
)
def test_own_code_that_ends_its_process(project: Project, body: str, words: str) -> None:
    own(project, body)
    code, output = project.run("--config", "folder=mine", wrapper=True)
    assert TRACE not in output
    assert words in output
    assert (code == 0) == (not words), output


def test_edits_during_a_run(project: Project, undisturbed: dict[str, bytes]) -> None:
    """A run that began before an edit tells nothing of it, or stops; the next run is as if it had been there before."""
    process = slow_down(project).start(wrapper=True)
    wait_for_jobs(psutil.Process(process.pid))
    project.edit("conf/study/tiny.yaml", lambda text: text.replace("60000", "60001"))
    project.edit("conf/study/tiny.yaml", lambda text: text.replace("60001", "60000"))
    project.edit("sketchbench/report/claim/judge.py", lambda text: text + "\nEDITED = 1\n")
    process.communicate(timeout=300)
    project.succeed(wrapper=True)
    found = project.reports()
    assert {name: found[name] for name in ("claims.csv", "tables/tiny.csv")} == {
        name: undisturbed[name] for name in ("claims.csv", "tables/tiny.csv")
    }


def test_a_stop_by_the_user(project: Project, undisturbed: dict[str, bytes]) -> None:
    """A terminal sends the signal to all of its foreground processes."""
    process = slow_down(project).start(wrapper=True)
    family = psutil.Process(process.pid)
    wait_for_jobs(family)
    for one in [family, *family.children(recursive=True)]:
        one.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0, output
    assert TRACE not in output
    project.succeed(wrapper=True)
    assert project.reports() == undisturbed
