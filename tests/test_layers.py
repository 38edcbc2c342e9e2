"""The contracts of import-linter see an import that points up, from each layer, and a module that is in no layer."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sketchbench.base.project import PROJECT

SETTINGS = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
LAYERED = {
    contract["containers"][0]: [layer.split(" | ") for layer in contract["layers"]]
    for contract in SETTINGS["contracts"]
    if contract["type"] == "layers"
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PROJECT / "sketchbench", tmp_path / "sketchbench", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder: Path) -> str:
    """The report of import-linter on a folder, whose contracts must be broken."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


def upward(container: str, lower: list[str], upper: list[str]) -> list[tuple[str, str]]:
    """The imports from each module of a layer to each one of the layer above."""
    return [(f"{container}.{one}", f"{container}.{other}") for one in lower for other in upper]


def test_what_breaks_the_layers_is_caught(copy: Path) -> None:
    """An upward import from each layer, and a module in no layer of each container: all at once, since building the
    graph of imports takes seconds; each is reported by its name."""
    imports = [
        pair
        for container, layers in LAYERED.items()
        for upper, lower in itertools.pairwise(layers)
        for pair in upward(container, lower, upper)
    ]
    assert len(imports) > 30
    for importer, imported in imports:
        place = copy / importer.replace(".", "/")
        file = place / "upward.py" if place.is_dir() else place.with_suffix(".py")
        with file.open("a", encoding="utf-8") as text:
            text.write(f"\nimport {imported}\n")
    for container in LAYERED:
        (copy / container.replace(".", "/") / "elsewhere.py").write_text('"""In no layer."""\n', encoding="utf-8")
    report = lint(copy)
    for importer, imported in imports:
        assert f"{importer} is not allowed to import {imported}:" in report
    unlisted = re.findall(r"The following modules are not listed as layers: (.*?) \(Since", report)
    assert {f"{container}.elsewhere" for container in LAYERED} <= set(" ".join(unlisted).split())
