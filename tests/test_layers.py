"""The contracts of import-linter see an import that points up, from each layer, and a module that is in no layer."""

import ast
import importlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest
import yaml

import sketchbench
from sketchbench.base.moved import MOVED, today
from sketchbench.base.project import CONF, PROJECT
from sketchbench.run import digest
from sketchbench.run.digest import CodeDigest

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
    """An upward import from each layer, and a module in none: all in one graph, each reported by its name."""
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


# Names of earlier releases: they import the same objects, run as programs, and count the same in a signature


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_earlier_name_is_the_same_module(old: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert importlib.import_module(old) is importlib.import_module(MOVED[old])


def test_an_earlier_name_in_a_fresh_process() -> None:
    """Whichever name comes first; with a word on the new name, and with the module's own name kept."""
    code = (
        "from sketchbench.dataset.own import arrays; from sketchbench.learning.dataset import own;"
        "assert own.arrays is arrays and own.__spec__.name == 'sketchbench.learning.dataset.own'"
    )
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    assert "sketchbench.dataset.own is now sketchbench.learning.dataset.own" in done.stderr
    program = [sys.executable, "-m", "sketchbench.dataset", "--help"]
    assert "Download data sets" in subprocess.run(program, capture_output=True, text=True, check=True).stdout


def test_no_module_where_none_was() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        importlib.import_module("sketchbench.dataset.no_such_module")
    assert today("sketchbench.datasets.own") == "sketchbench.datasets.own"


def test_an_earlier_name_counts_as_todays() -> None:
    digest = CodeDigest()
    old, new = "sketchbench.dataset.own.arrays", "sketchbench.learning.dataset.own.arrays"
    assert digest.identify(old) == digest.identify(new)
    assert digest((old,)) == digest((new,))


# `import sketchbench as sb` is enough for a user, costs nothing, and is followed by signatures


STUB = Path(str(sketchbench.__file__)).with_suffix(".pyi")
METHODS = {"sketch": "family", "recovery": "algorithm", "compressor": "algorithm"}


def names() -> dict[str, str]:
    """The modules of all names that the package offers."""
    nodes = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in nodes for alias in node.names}


@pytest.mark.parametrize("name", names())
def test_a_name_is_what_its_module_has(name: str) -> None:
    value = getattr(sketchbench, name)
    assert value.__doc__
    assert name in dir(sketchbench)
    if hasattr(value, "__module__"):
        assert value.__module__ == f"sketchbench.{names()[name]}"


@pytest.mark.parametrize("kind", METHODS)
def test_every_method_of_a_config_is_offered(kind: str) -> None:
    contents = [yaml.safe_load(path.read_text()) for path in sorted((CONF / kind).glob("*.yaml"))]
    targets = {content.get(METHODS[kind], {}).get("_target_") for content in contents} - {
        None
    }  # some only add to others
    assert len(targets) > 3
    for target in targets:
        module, _, name = target.rpartition(".")
        assert f"sketchbench.{names()[name]}" == module


def test_importing_the_package_imports_nothing_else() -> None:
    heavy = "'numpy', 'numba', 'torch', 'scipy', 'sketchbench.integrations'"
    code = f"import sys, sketchbench; print(*(m for m in ({heavy}) if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.parametrize(
    "text",
    [
        "import sketchbench as sb\n\nclass Own(sb.{name}): pass\n",
        "import sketchbench\n\nclass Own(sketchbench.{name}): pass\n",
        "from sketchbench import {name}\n\nclass Own({name}): pass\n",
        "from sketchbench.sketch import {name}\n\nclass Own({name}): pass\n",
        "from sketchbench.sketch.ams import {name}\n\nclass Own({name}): pass\n",
    ],
)
def test_a_signature_follows_a_name_to_its_module_and_to_no_other(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text.format(name="AMS"))
    files = {path.name for path in digest.CodeDigest().files(("mine.Own",), (tmp_path,))}
    assert {"mine.py", "ams.py", "family.py"} <= files
    assert not files & {"gaussian.py", "sketched_layers.py", "fiht.py"}
