"""An edit reruns what uses the edited code, and nothing else."""

import ast
import functools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sketchbench.plan import making as planning
from sketchbench.run import digest, signature

Changed = Callable[[str], set[str]]
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


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the package to edit, which digests are made of."""
    folder = tmp_path_factory.mktemp("edited")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "sketchbench", ignore=ignored)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(digest, "PROJECT", folder)
        yield folder / "sketchbench"


@pytest.fixture(scope="module")
def before(package: Path) -> dict[str, str]:
    """The digests of the copy."""
    return digests()


@pytest.fixture
def changed(package: Path, before: dict[str, str]) -> Iterator[Changed]:
    """The runs whose digest changes with a line at the end of a file, which is taken away again."""
    texts: dict[Path, str] = {}

    def edited(name: str) -> set[str]:
        path = package / name
        texts[path] = path.read_text(encoding="utf-8")
        path.write_text(texts[path] + "\nEDITED = 1\n", encoding="utf-8")
        after = digests()
        return {run for run in before if after[run] != before[run]}

    yield edited
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["run/record.py", "run/job.py", "__main__.py", "plan/plan.py", "files.py", "sketch/__init__.py"]
)
def test_what_no_task_uses_reruns_nothing(changed: Changed, name: str) -> None:
    """Nor do records and the command line; a task that writes checkpoints uses files, though."""
    writing = {name for name in configs() if "compressed" in name or "federated" in name or "inversion" in name}
    assert changed(name) - writing == set()


def test_a_family_reruns_what_uses_it(changed: Changed) -> None:
    """AMS: the runs of its configs, of controls that are made of it, and no other family's."""
    ams = {name for name, config in configs().items() if "sketchbench.sketch.ams.AMS" in signature.targets(config)}
    rerun = changed("sketch/ams.py")
    assert ams
    assert ams <= rerun
    assert all("control/broken/" in name for name in rerun - ams)


def test_an_accountant_reruns_what_accounts(changed: Changed) -> None:
    rerun = {name.partition(" ")[0] for name in changed("privacy/accountant.py")}
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
