"""A small copy of the project to run, edit and kill."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from all_claims import entry
from started import Started

from sketchbench.report import seal
from sketchbench.report.seal import LOCK, Seal

ROOT = Path(__file__).parents[2]
STUDY = """\
task: moments
sketch: all
axes: {d: [12], b: [4]}
set: {task.trials: 40, task.pairs: [random, flat]}
"""
LONG = """\
task: compressed_training
with: {dataset: digits, partition: iid, model: small_mlp}
axes: {d: [12]}
set:
  task.partition.clients: 5
  task.rounds: 4
  task.judging.points: 2
  task.tuning.rates: [0.3]
  task.compression.arms: {fiht: [2], count_sketch: [1]}
scales: {smoke: {trials: runs, set: {task.trials: 2}}}
"""
SETTINGS = ["--config", "scale=smoke", "kernels=numpy"]
LONGEST = 300  # seconds that a run may take
STARTED = Started()


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    STARTED.stop()


@dataclass(frozen=True)
class Project:
    """A copy of the project with one study `tiny` over two sketches, and its claims S1 and S2x."""

    path: Path
    packages: tuple[Path, ...] = ()  # where Python looks besides

    def start(self, *options: str, wrapper: bool = False) -> "subprocess.Popen[str]":
        """A process of its own, by the wrapper or without it."""
        command = ["sh", "workflow/run"] if wrapper else ["snakemake", "--cores", "2"]
        return subprocess.Popen(
            [*command, *SETTINGS, *options],
            cwd=self.path,
            env=self.environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def environment(self) -> dict[str, str]:
        search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        packages = os.pathsep.join(map(str, [self.path, *self.packages]))
        environment = {**os.environ, "PYTHONPATH": packages, "PATH": search}
        environment.pop("PYTEST_XDIST_WORKER", None)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return environment

    def run(self, *options: str, wrapper: bool = False) -> tuple[int, str]:
        """The exit code and all that is said; without the wrapper by a fork, see `started.py`."""
        if not wrapper:
            return STARTED.run(["--cores", "2", *SETTINGS, *options], self.path, self.environment(), LONGEST)
        process = self.start(*options, wrapper=True)
        output, _ = process.communicate(timeout=LONGEST)
        return process.returncode, output

    def succeed(self, *options: str, wrapper: bool = False) -> str:
        code, output = self.run(*options, wrapper=wrapper)
        assert code == 0, output
        return output

    def edit(self, name: str, change: Callable[[str], str]) -> None:
        path = self.path / name
        before = path.read_text()
        after = change(before)
        assert after != before, f"the edit of {name} changed nothing"
        path.write_text(after)

    def records(self) -> dict[str, int]:
        """When each record was written, by run."""
        folder = self.path / "results" / "smoke" / "tiny"
        return {
            str(path.relative_to(folder).with_suffix("")): path.stat().st_mtime_ns
            for path in sorted(folder.rglob("*.parquet"))
        }

    def rerun(self, *options: str) -> set[str]:
        """Run again; the runs whose records were written anew."""
        before = self.records()
        self.succeed(*options)
        return {name for name, when in self.records().items() if before.get(name) != when}

    def reports(self) -> dict[str, bytes]:
        """Every report and manifest, byte for byte, without origins, which differ between runs, and rejected files."""
        folder = self.path / "reports" / "smoke"
        left_out = (".rejected", "/origin/", LOCK)
        paths = (path for path in sorted(folder.rglob("*")) if not any(part in str(path) for part in left_out))
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.is_file()}

    def sealed(self, name: str) -> Seal:
        """The seal of a report by its path without the ending."""
        return seal.read(self.path / "reports" / "smoke" / name)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy that all others are copied from. The sketches are CountSketch and uniform sampling; there is no figure
    to draw."""
    path = tmp_path_factory.mktemp("small") / "project"
    ignored = shutil.ignore_patterns("*.nbc", "*.nbi")  # what Numba compiled; what Python did is kept
    for name in ("conf", "workflow", "sketchbench"):
        shutil.copytree(ROOT / name, path / name, ignore=ignored)
    shutil.copy(ROOT / "environment.yml", path)
    for folder in ("study", "claim", "erratum", "printed"):
        shutil.rmtree(path / "conf" / folder)
        (path / "conf" / folder).mkdir()
    for file in (path / "conf" / "sketch").glob("*.yaml"):
        if file.stem not in ("count_sketch", "uniform_sampling"):
            file.unlink()
    (path / "conf" / "study" / "tiny.yaml").write_text(STUDY)
    settings = path / "conf" / "workflow.yaml"  # a process for each study and table, as at the other scales
    settings.write_text(settings.read_text().replace("smoke: all", "smoke: 16"))
    for claim in ("S1", "S2x"):
        file = path / "conf" / "claim" / f"{claim}.yaml"
        content = {**entry("claim", claim), "studies": ["tiny"]}
        for name in (
            "negative_control",
            "near_miss",
            "reason",
            "scales",
        ):  # of studies that are not there
            content.pop(name, None)
        checks = [check for check in content["checks"] if check.get("studies") != ["moments"]]
        content["checks"] = [{name: check[name] for name in check if name != "studies"} for check in checks]
        file.write_text(yaml.safe_dump(content, sort_keys=False, width=1000))
    return path


Change = Callable[["Project"], object]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # a locale that knows no other letters


def made_once(
    factory: pytest.TempPathFactory, small: Path, name: str, change: Change = lambda _: None, *, wrapper: bool = False
) -> Path:
    """The small project, changed, after a run from nothing. One worker makes it, and the others wait for it.

    Arguments:
        factory: of temporary folders; where there are workers, each has one inside a folder of all of them.
        small: the project that has not run.
        name: what it is called, as is a folder of its path; of the same name there is one.
        change: is made before the run.
        wrapper: whether it is run by the wrapper.
    """
    root = factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / f"once-{name}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            shutil.rmtree(folder / "project", ignore_errors=True)  # of a worker whose run failed
            project = copied(small, folder)
            change(project)
            project.succeed(wrapper=wrapper)
            (folder / "whole").touch()
    return folder / "project"


@pytest.fixture(scope="session")
def small_and_run(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same after a run from nothing, at a path with umlauts and spaces, in a locale that knows ASCII only: see
    `test_locale.py`. What others do to its copies, elsewhere and in the locale of the tests, shows that this changed
    nothing."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in ASCII.items():
            patched.setenv(name, value)
        return made_once(tmp_path_factory, small, "Prüfung, 2. (mit Leerzeichen)", wrapper=True)


def copied(path: Path, folder: Path) -> Project:
    return Project(shutil.copytree(path, folder / "project", symlinks=True))


@pytest.fixture
def project(small: Path, tmp_path: Path) -> Project:
    """A small project in which nothing was run yet."""
    return copied(small, tmp_path)


@pytest.fixture
def finished(small_and_run: Path, tmp_path: Path) -> Project:
    """A small project in which everything was run."""
    return copied(small_and_run, tmp_path)
