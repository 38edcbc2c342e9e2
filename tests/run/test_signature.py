"""An edit reruns what uses the edited code, and nothing else."""

import ast
import functools
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest
from whole_plan import whole_plan

from sketchbench.run import digest, signature

Changed = Callable[[str], set[str]]
Edit = Callable[[str, Callable[[str], str]], set[str]]
PACKAGE = digest.PROJECT / "sketchbench"
FACADES = ("sketchbench.sketch", "sketchbench.sketch.recovery")  # for users: whoever imports them imports every family


@functools.cache
def configs() -> dict[str, dict[str, Any]]:
    """Of every run of the quick scale, by study and name."""
    plan = whole_plan("quick")
    return {f"{name} {run.name}": run.config for name, runs in plan.runs.items() for run in runs.values()}


def signatures() -> dict[str, str]:
    code = digest.CodeDigest()
    return {name: signature.signature(config, digest=code) for name, config in configs().items()}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the package to edit, by which signatures are made."""
    folder = tmp_path_factory.mktemp("edited")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "sketchbench", ignore=ignored)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(digest, "PROJECT", folder)
        yield folder / "sketchbench"


@pytest.fixture(scope="module")
def before(package: Path) -> dict[str, str]:
    """The signatures by the copy."""
    return signatures()


@pytest.fixture
def edit(package: Path, before: dict[str, str]) -> Iterator[Edit]:
    """Changes the text of a file of the copy, and gives the runs whose signatures change by that; undone at the end."""
    texts: dict[Path, str] = {}

    def editing(name: str, change: Callable[[str], str]) -> set[str]:
        path = package / name
        texts.setdefault(path, path.read_text(encoding="utf-8"))
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
        after = signatures()
        return {run for run in before if after[run] != before[run]}

    yield editing
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def changed(edit: Edit) -> Changed:
    """The runs whose signatures change with a line at the end of a file."""
    return lambda name: edit(name, lambda text: text + "\nEDITED = 1\n")


@pytest.mark.parametrize(
    "name", ["run/record.py", "run/job.py", "__main__.py", "plan/plan.py", "base/moved.py", "sketch/__init__.py"]
)
def test_what_no_task_uses_reruns_nothing(changed: Changed, name: str) -> None:
    """Nor do records and the command line; a task that writes checkpoints uses files, though."""
    words = ("compressed", "federated", "inversion", "frontier", "leak", "message_error", "double_blind")
    writing = {name for name in configs() if any(word in name for word in words)}
    assert changed(name) - writing == set()


def test_a_family_reruns_what_uses_it(changed: Changed) -> None:
    """AMS: the runs of its configs, of controls, which one module makes of several families, and no other family's."""
    ams = {name for name, config in configs().items() if "sketchbench.sketch.ams.AMS" in signature.targets(config)}
    rerun = changed("sketch/ams.py")
    assert ams
    assert ams <= rerun
    assert all("control/" in name for name in rerun - ams)


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


def test_words_rerun_nothing(edit: Edit, package: Path) -> None:
    """Not the meaning, unit and order of columns, nor a local name in a docstring, an error's text or a log line."""

    def reworded(text: str) -> str:
        head, members = text.split("    METHOD = ", 1)
        lines = re.sub(r', "[^"]*"$', ', "other words", "other unit"', members, flags=re.MULTILINE)
        return f"{head}    METHOD = {lines}".replace("    D = ", "    DD = ").replace("    CASE = ", "    DD = ")

    assert edit("measure/column.py", reworded) == set()
    assert "other words" in (package / "measure" / "column.py").read_text()
    assert edit("theory/second_moment.py", lambda text: text.replace('"""', '"""Another first word: ', 1)) == set()
    assert edit("sketch/family.py", lambda text: re.sub(r'(raise \w+\(f?")', r"\1Said otherwise: ", text)) == set()
    assert edit("task/trials.py", lambda text: text.replace('log.info("', 'log.info("so far: ')) == set()


def test_a_place_reruns_nothing(package: Path, before: dict[str, str]) -> None:
    """A module that tasks import moves into another package and gets another name; so does the family of a config."""
    moves = {"measure/summary.py": "theory/summing_up.py", "sketch/ams.py": "sketch/recovery/tug_of_war.py"}
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    try:
        for old, new in moves.items():
            (package / old).rename(package / new)
        for path, text in texts.items():
            changed = functools.reduce(lambda text, move: text.replace(*map(_dotted, move)), moves.items(), text)
            if path.exists() and changed != text:
                path.write_text(changed, encoding="utf-8")
        code = digest.CodeDigest()
        old, new = (_dotted(name) for name in list(moves.items())[1])
        moved = {name: json.loads(json.dumps(config).replace(old, new)) for name, config in configs().items()}
        assert any(config != moved[name] for name, config in configs().items())
        assert {name: signature.signature(config, digest=code) for name, config in moved.items()} == before
    finally:
        for new in moves.values():
            (package / new).unlink(missing_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")


def _dotted(name: str) -> str:
    return f"sketchbench.{name.removesuffix('.py').replace('/', '.')}"


@functools.cache
def graph() -> Any:
    """Of the imports of all modules; it takes some seconds."""
    return grimp.build_graph("sketchbench")


@pytest.mark.parametrize("name", ["sketch/draws.py", "measure/sparsity.py", "privacy/gaussian.py"])
def test_a_constant_three_imports_down_reruns_what_uses_it(changed: Changed, name: str) -> None:
    """Exactly the runs that do, by the graph of imports that import-linter goes by, which is none of ours."""
    using = graph().find_downstream_modules(_dotted(name)) | {_dotted(name)}
    expected = {
        run
        for run, config in configs().items()
        if using & {target.rpartition(".")[0] for target in signature.targets(config)}
    }
    assert changed(name) == expected
    assert 0 < len(expected) < len(configs())


def test_another_import_reruns_what_imports(edit: Edit) -> None:
    """Also of a name that is in two modules which both are imported already."""
    rerun = edit("task/moments.py", lambda text: text.replace("import seeds", "import parameters as seeds"))
    assert {name.partition(" ")[0] for name in rerun} == {
        name.partition(" ")[0] for name, config in configs().items() if "Moments" in str(config["task"]["_target_"])
    }
