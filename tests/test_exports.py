"""`import sketchbench as sb` is enough for a user, costs nothing, and is followed by signatures."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import sketchbench
from sketchbench.base.project import CONF
from sketchbench.run import digest

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
    contents = [yaml.safe_load(path.read_text()) for path in sorted((CONF / kind).rglob("*.yaml"))]
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
