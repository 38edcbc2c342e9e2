"""Paths of any letters: of a checkout, in make; of a folder of one's own. What can't be is refused by its name."""

import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from sketchbench.base.errors import ConfigError
from sketchbench.base.project import CONF
from sketchbench.command.main import main
from sketchbench.plan.selection import places_of
from sketchbench.run import record
from sketchbench.run.config import commands
from sketchbench.run.config.composition import compose, frozen, user_folder

ROOT = Path(__file__).parents[2]
ODD = ["'", '"', "\\", "\n", " ", "-", "$", "$HOME", "${", "}", "{", "%", "%20", "#", "=", ",", "*", "?", "[", "]", "~"]
ODD += ["&", ";", "|", "<", ">", "`", "!", "(", ")", ":", "é", "\u2028", "\udcff", "\t", "\r", "null", "???", "x"]
NAMES = st.lists(st.sampled_from(ODD), min_size=1, max_size=12).map("".join)


@given(NAMES)
@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_folder_of_ones_own(tmp_path: Path, name: str) -> None:
    """Its methods are there, whatever its name; what Hydra or Snakemake can't take is refused by the folder's name."""
    folder = (tmp_path / name).absolute()
    if not (folder / "sketch").exists():
        (folder / "sketch").mkdir(parents=True)
        shutil.copy(CONF / "sketch" / "srht.yaml", folder / "sketch" / "mine.yaml")
    assert user_folder(str(folder)) == folder
    sys.path.remove(str(folder))
    if "${" in name:
        with pytest.raises(ConfigError, match="as Hydra reads it as a reference; rename it"):
            compose(["sketch=mine", "sketch.name=mine"], folder=folder)
    else:
        text = (folder / "sketch" / "mine.yaml").read_text()
        (folder / "sketch" / "mine.yaml").write_text(text.replace("name: srht", "name: mine"))
        assert frozen(compose(["sketch=mine"], folder=folder)).config["sketch"]["name"] == "mine"
    if any(letter in name for letter in "{}\n\udcff"):
        with pytest.raises(ConfigError, match="Snakemake takes no path with"):
            places_of("smoke", folder, apart=True)
    else:
        assert places_of("smoke", folder, apart=True).results == f"{folder}/results/smoke"
    assert shlex.split(commands.own(folder)) == ["--folder", str(folder), "--only", "mine"]


STUB = '#!/bin/sh\nprintf "%s\\n" "$*" >> "$LOG"\n'
TARGETS = {
    "results": "-m sketchbench results -n",
    "paper": "-m sketchbench results --scale paper -n",
    "site": "-m sketchbench site -n",
    "test-site": "-m pytest -p no:xdist -m browser tests/site/browser -n",
    "browser": "tests/site/browser/launch.py",
    "check": "-m sketchbench check reports/claims.csv -n",
    "tests": "-m pytest -n auto --dist worksteal -m not cuda and not weekly -n",
    "style": "-m ruff check .",
    "types": "-m mypy",
    "layers": "--no-cache",
    "workflow": "-m snakefmt --check Snakefile workflow",
    "test-cuda": "-m pytest -n auto --dist worksteal -m (gpu or cuda) and not long_emulated tests -n",
    "test-flower": "-m pytest -p no:xdist tests/integrations/test_flower.py -n",
    "test-slurm": "-m pytest -p no:xdist -m slurm tests/slurm -n",
    "test-storage": "-m pytest -p no:xdist -m storage tests/storage -n",
}


def checkout(folder: Path) -> Path:
    """What `make` needs, with a Python that only notes what it was called with."""
    (folder / "workflow").mkdir(parents=True)
    locks = (path.name for path in ROOT.glob("requirements*.lock"))
    for name in ("Makefile", "workflow/run", "pyproject.toml", *locks):
        shutil.copy(ROOT / name, folder / name)
    return folder


def made(folder: Path, *arguments: str) -> tuple[int, str, list[str]]:
    log = folder / "calls"
    log.touch()
    # as if it were the first make, also where the tests were started by one: no flags, no lines on folders
    environment = {**os.environ, "LOG": str(log), "MAKEFLAGS": "", "MAKELEVEL": "0"}
    done = subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, check=False)
    output = (done.stdout + done.stderr).decode(errors="surrogateescape")  # as paths that are no text are decoded
    return done.returncode, output, log.read_text(encoding="utf-8").splitlines()


def test_make_in_any_folder(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "-a  b'c\"d$e%f#g=h,i{j}*k é~[1]!&;|<>?`(l)\\")
    (folder / ".venv" / "bin").mkdir(parents=True)
    python = folder / ".venv" / "bin" / "python"
    python.write_text(STUB)
    python.chmod(0o755)
    shutil.copy(python, python.with_name("g++"))
    for ready in ("ready", "site", "slurm", "storage", "cuda"):
        (folder / ".venv" / ready).touch()
    code, output, calls = made(folder, *TARGETS, "ARGS=-n")
    assert code == 0, output
    for target, call in TARGETS.items():
        assert any(line.endswith(call) for line in calls), (target, calls)
    assert {path.name for path in tmp_path.iterdir()} == {folder.name}


@pytest.mark.parametrize("name", ["a:b", "a$b", "a{b", "a\udcff"])
def test_make_where_nothing_can_be_installed(tmp_path: Path, name: str) -> None:
    """Is refused by the path before anything is written; an environment elsewhere will do where the path is text."""
    folder = checkout(tmp_path / name)
    before = {path.name for path in folder.iterdir()}
    code, output, _ = made(folder, "results", f"PYTHON={sys.executable}")
    assert code != 0
    assert f"as {str(folder / '.venv')!a}; rename it, or add VENV=FOLDER" in output
    assert {path.name for path in folder.iterdir()} == before | {"calls"}
    if name.isprintable():
        assert "-m venv /elsewhere" in made(folder, "-n", "results", "VENV=/elsewhere")[1]


def recorded(path: Path, seconds: float) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    record.write(path, record.Record([{"quantity": "made"}], {"cpu_seconds": seconds, "peak_mebibytes": 9}))
    return path.read_bytes()


def test_what_keep_keeps(tmp_path: Path) -> None:
    """The records of at least a minute, of whatever study, beside those that are kept; the same bytes each time."""
    folder = checkout(tmp_path / "a 'b' $c")
    results, records = folder / "results" / "paper", folder / "reports" / "paper" / "records"
    place, other = results / "a study" / "trial0.parquet", results / "moments" / "srht" / "d8.parquet"
    recorded(place.with_name("short.parquet"), 59.9)
    recorded(other, 4000.0)
    kept, contents, others = records / "a study.tar", [], []
    for again in (place, place.with_name("trial1.parquet"), place):  # others stay, also if their record is gone
        bytes_of_one = recorded(again, 60.0)
        code, output, _ = made(folder, "keep")
        assert code == 0, output
        contents.append(kept.read_bytes())
        others.append((records / "moments.tar").read_bytes())
        again.unlink()
        other.unlink(missing_ok=True)
    with tarfile.open(kept) as tar:
        assert tar.getnames() == ["a study", "a study/trial0.parquet", "a study/trial1.parquet"]
        assert tar.extractfile("a study/trial0.parquet").read() == bytes_of_one
    assert contents[0] != contents[1] == contents[2]
    with tarfile.open(records / "moments.tar") as tar:
        assert [name for name in tar.getnames() if name.endswith(".parquet")] == ["moments/srht/d8.parquet"]
    shutil.rmtree(results)
    recorded(results / "tails" / "srht" / "d8.parquet", 61.0)
    code, output, _ = made(folder, "keep")
    assert code == 0, output
    assert {path.name for path in records.iterdir()} == {"a study.tar", "moments.tar", "tails.tar"}
    assert kept.read_bytes() == contents[-1]
    assert {*others, (records / "moments.tar").read_bytes()} == {others[0]}
    with tarfile.open(records / "tails.tar") as tar:
        assert [name for name in tar.getnames() if name.endswith(".parquet")] == ["tails/srht/d8.parquet"]


# By hand: one task, its table, and one clear line for whatever is wrong


SMALL = ["kernels=numpy", "d=12", "b=4", "task.trials=20", "task.pairs=[random,flat]"]


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "sketchbench", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_record(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    main(["run", "--result", str(path), *SMALL])
    found = record.read(path)
    assert found.provenance["kernels"] == "numpy"
    assert found.provenance["config"]["sketch"]["name"] == "count_sketch"
    assert set(found.provenance) >= {"commit", "machine", "signature", "versions", "wall_seconds"}
    assert len(found.rows) == 6


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "--help"])
    said = capsys.readouterr().out
    for expected in ("GROUP=OPTION", "count_sketch", "smoke", "numba", "trials:", "--folder"):
        assert expected in said


def test_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    done = command("run", "--result", str(path), *SMALL, "b=0")
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("sketchbench: error: ")
    assert "sketch size b=0 must satisfy 1 <= b (d=12)" in lines[0]
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_the_plan_lists_runs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "--runs", "--studies", "tails", "--scale", "smoke", "--seed", "5"])  # of no run that is there
    *lines, summary = capsys.readouterr().out.splitlines()
    studies = [line.split()[0] for line in lines if not line.startswith("skipped: ")]
    assert studies.count("tails") == 16
    assert studies.count("contract") >= 20  # which is measured with whatever is chosen, and of tables that stay
    assert summary.startswith(f"{len(studies)} runs in 2 jobs, {len(lines) - len(studies)} skipped: ")
