"""What is installed from a wheel works in any folder, without a checkout."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEPT = {"study": ("norms", "contract"), "sketch": ("count_sketch", "srht")}
NEEDED = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "sketchbench", "conf", "workflow")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installed wheel, which was built of a copy: a build leaves files behind. It has studies and
    sketches that are planned here, and no others, of which Hydra would compose a thousand runs."""
    source, target = (tmp_path_factory.mktemp(name) for name in ("source", "target"))
    for name in NEEDED:
        ignored = shutil.ignore_patterns("__pycache__")
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name, **({"ignore": ignored} if (ROOT / name).is_dir() else {}))
    for group, names in KEPT.items():
        for file in (source / "conf" / group).glob("*.yaml"):
            if file.stem not in names:
                file.unlink()
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-compile", "--no-cache-dir"]
    subprocess.run([*pip, "install", *options, "--target", target, source], check=True)  # which builds a wheel first
    return target


def python(installed: Path, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


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


def test_the_workflow_needs_a_checkout(installed: Path, tmp_path: Path) -> None:
    done = python(installed, tmp_path, "-m", "sketchbench", "results")
    assert done.returncode == 1
    assert done.stderr.startswith("sketchbench: error: no workflow here: it is in a checkout")
    assert "git clone" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_script(installed: Path, tmp_path: Path) -> None:
    done = python(installed, tmp_path, str(installed / "bin" / "sketchbench"), "--help")
    assert done.returncode == 0, done.stderr
    assert "sketchbench [OPTIONS]" in done.stdout
