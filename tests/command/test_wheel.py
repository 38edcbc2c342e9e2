"""What is installed from a wheel works in any folder, without a checkout, in the folder of all that it depends on."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEPT = {"study/*": ("norms", "contract"), "sketch": ("count_sketch", "srht")}
NEEDED = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "environment.yml")
NEEDED += ("sketchbench", "conf", "workflow")
REPORTS = shutil.ignore_patterns("records", "figures", "site", "smoke")  # which no wheel has


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site-packages of an environment with a wheel of a few studies and sketches, and links to all else here."""
    source, environment = (tmp_path_factory.mktemp(name) for name in ("source", "environment"))
    for name in (*NEEDED, "reports"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        ignore = REPORTS if name == "reports" else shutil.ignore_patterns("__pycache__")
        ignored = {"ignore": ignore} if (ROOT / name).is_dir() else {}
        copy(ROOT / name, source / name, **ignored)
    for group, names in KEPT.items():
        for file in (source / "conf").glob(f"{group}/*.yaml"):
            if file.stem not in names:
                file.unlink()
    venv.create(environment, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "sketchbench" not in path.name and path.name != "__pycache__":
            (packages / path.name).symlink_to(path)
    pip = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--no-compile", "--no-cache-dir", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *options, source], check=True)  # which builds a wheel first
    return packages


def python(installed: Path, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [installed.parents[2] / "bin" / "python", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def program(installed: Path, folder: Path, *arguments: str) -> str:
    done = python(installed, folder, "-m", "sketchbench", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_task(installed: Path, tmp_path: Path) -> None:
    small = ["kernels=numpy", "d=64", "b=32", "task.trials=3", "task.pairs=[flat]"]
    done = python(installed, tmp_path, "-m", "sketchbench", "run", "task=moments", "sketch=srht", *small)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("srht, d=64, b=32, numpy kernels\n")
    assert list(tmp_path.iterdir()) == []


def test_a_plan(installed: Path, tmp_path: Path) -> None:
    """Which reads configs, schemas and costs; what it remembers is in the current folder."""
    done = python(installed, tmp_path, "-m", "sketchbench", "plan", "--scale", "smoke", "--studies", "norms")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^norms +\d+ runs", done.stdout)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert not (installed / "sketchbench" / "results").exists()


def test_the_five_lines_of_the_readme(installed: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (code,) = (block for block in blocks if "x_hat" in block)
    code += "\nimport sketchbench; print(sketchbench.__file__, x_hat.shape)"
    done = python(installed, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    assert str(installed) in done.stdout


def test_a_signature_is_that_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    """Though packages lie beside ours, of which torch alone has thousands of modules."""
    code = """
from sketchbench.run.digest import CodeDigest
modules = ("sketchbench.task.sketches.moments", "sketchbench.task.double_blind.training",
           "sketchbench.kernels.numba_kernels")
files = CodeDigest().files(modules)
print(CodeDigest()(modules), len(files), {path.parts[path.parts.index("sketchbench")] for path in files})
"""
    there = python(installed, tmp_path, "-c", code)
    assert there.returncode == 0, there.stderr
    assert (installed / "torch").is_dir()
    assert there.stdout == python(Path(sysconfig.get_path("purelib")), ROOT, "-c", code).stdout


def test_the_published_verdicts(installed: Path, tmp_path: Path) -> None:
    shown = program(installed, tmp_path, "show", "S2", "srht", "--all")
    assert re.search(r"^quick +SRHT +\w+; predicted", shown, re.MULTILINE)
    assert re.search(r"^paper +SRHT +\w+[\w, ]*; predicted", shown, re.MULTILINE)
    assert "with: moments: kernels numba" in shown
    assert "Nearest measurement: digits" in program(installed, tmp_path, "advise", "--bytes=2500", "--parameters=3760")
    published = python(installed, tmp_path, "-m", "sketchbench", "check", "--list")
    assert published.returncode == 0, published.stderr
    assert re.search(r"\d+ verdicts", published.stdout)
    assert list(tmp_path.iterdir()) == []


def test_a_method_of_ones_own(installed: Path, tmp_path: Path) -> None:
    assert "a working sketch" in program(installed, tmp_path, "new", "sketch", "half")
    small = ["kernels=numpy", "d=64", "b=32", "task.trials=3", "task.pairs=[flat]"]
    assert "half, d=64" in program(
        installed, tmp_path, "run", "--folder", "mine", "task=moments", "sketch=half", *small
    )


@pytest.mark.git
def test_a_record_names_no_commit_of_another_project(installed: Path, tmp_path: Path) -> None:
    """The environment may be a folder in a repository of the user's, whose commits are none of ours."""
    top = installed.parents[2]
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "theirs"]):
        subprocess.run(["git", "-C", top, *who, *command], check=True)
    (top / "theirs").write_text("theirs")
    subprocess.run(["git", "-C", top, "add", "theirs"], check=True)
    subprocess.run(["git", "-C", top, *who, "commit", "-qm", "theirs"], check=True)
    code = "from sketchbench.run import job; print(job._commit())"
    assert python(installed, tmp_path, "-c", code).stdout == "None\n"
    shutil.rmtree(top / ".git")


@pytest.mark.parametrize("arguments", [["results"], ["site"], ["new", "task", "mine"]])
def test_what_needs_a_checkout(installed: Path, tmp_path: Path, arguments: list[str]) -> None:
    done = python(installed, tmp_path, "-m", "sketchbench", *arguments)
    assert done.returncode == 1
    assert "needs a checkout of the project, and this package is in none: `git clone` the project" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_script(installed: Path, tmp_path: Path) -> None:
    done = python(installed, tmp_path, str(installed.parents[2] / "bin" / "sketchbench"), "--help")
    assert done.returncode == 0, done.stderr
    assert "sketchbench [OPTIONS]" in done.stdout
