"""An edit reruns what uses the edited code, and nothing else."""

import ast
import functools
import shutil
from pathlib import Path
from typing import Any

import pytest

from sketchbench import digest, signature
from sketchbench import plan as planning

PACKAGE = digest.PROJECT / "sketchbench"
FACADES = ("sketchbench.sketch", "sketchbench.recovery")  # for users: whoever imports them imports every family


@functools.cache
def configs() -> dict[str, dict[str, Any]]:
    """Of every run of the quick scale, by study and name."""
    plan = planning.expand("quick", "numba")
    return {f"{name} {run.name}": run.config for name, runs in plan.runs.items() for run in runs.values()}


def digests() -> dict[str, str]:
    code = digest.CodeDigest()
    return {name: signature.code_of(config, digest=code) for name, config in configs().items()}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package to edit, which digests are made of."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "sketchbench", ignore=ignored)
    monkeypatch.setattr(digest, "PROJECT", tmp_path)
    return tmp_path / "sketchbench"


def changed(path: Path) -> set[str]:
    """The runs whose digest changes with a line at the end of a file."""
    before = digests()
    path.write_text(path.read_text() + "\nEDITED = 1\n")
    after = digests()
    return {name for name in before if after[name] != before[name]}


@pytest.mark.parametrize("name", ["record.py", "job.py", "__main__.py", "plan.py", "files.py", "sketch/__init__.py"])
def test_what_no_task_uses_reruns_nothing(package: Path, name: str) -> None:
    """Nor do records and the command line; a task that writes checkpoints uses files, though."""
    writing = {name for name in configs() if "compressed" in name or "federated" in name or "inversion" in name}
    assert changed(package / name) - writing == set()


def test_a_family_reruns_what_uses_it(package: Path) -> None:
    """AMS: the runs of its configs, of controls that are made of it, and no other family's."""
    ams = {name for name, config in configs().items() if "sketchbench.sketch.ams.AMS" in signature.targets(config)}
    rerun = changed(package / "sketch" / "ams.py")
    assert ams
    assert ams <= rerun
    assert all("control/broken/" in name for name in rerun - ams)


def test_an_accountant_reruns_what_accounts(package: Path) -> None:
    rerun = {name.partition(" ")[0] for name in changed(package / "privacy" / "accountant.py")}
    assert {"privacy_accounting", "privacy_audit", "private_training"} <= rerun
    assert not rerun & {"moments", "convergence", "reconstruction", "federated_mlp", "attack_convergence"}


def test_no_module_imports_through_a_facade() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}: from {node.module} import {alias.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module in FACADES
        for alias in node.names
        if not (PACKAGE.parent / node.module.replace(".", "/") / f"{alias.name}.py").is_file()
    ]
    assert [line for line in found if "__init__" not in line] == []
