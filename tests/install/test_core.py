"""What needs no extra works without any, and a command says which extra it needs."""

import ast
import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_project import EXTRAS as ASKED
from test_project import PROJECT, wanted

from sketchbench.command.extras import EXTRAS

ROOT = Path(__file__).parents[2]
REFUSED = sorted({module for extra, modules in EXTRAS.items() if extra != "gpu" for module in modules})
# As if the packages of all extras were missing.
WITHOUT = f"""
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {REFUSED}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
"""
EVERY_COMPRESSOR = """
import functools, inspect, json
import numpy as np
import sketchbench as sb

at = sb.At(sb.kernels.load("numpy"), seed=1, round=0, trials=1)
x = np.ones((1, 2, 630), dtype="float32")
absent, exchanged = [], []
for name in sb.__all__:
    try:
        kind = getattr(sb, name)
    except ModuleNotFoundError:
        absent.append(name)
        continue
    if not (inspect.isclass(kind) and issubclass(kind, sb.Compressor)) or inspect.isabstract(kind):
        continue
    needed = {"family": sb.CountSketch, "recovery": functools.partial(sb.FIHT, k=5)}
    taken = {one: value for one, value in needed.items() if one in inspect.signature(kind).parameters}
    compressor = kind(layout=sb.Layout(((30, 20), (30,))), limit=2600, **taken)
    try:
        compressor.exchange(x, compressor.begin(1, 2, at.kernels), at)
    except ModuleNotFoundError:
        absent.append(name)
        continue
    exchanged.append(name)
release = sb.GaussianRelease(sigma=2.0, sensitivity=1.0)
accounted = [sb.epsilon(one, release, 1e-5) > 0 for one in ("exact", "rdp", "pld")]
print(json.dumps([absent, exchanged, accounted, "torch" in sys.modules]))
"""


def without_extras(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", WITHOUT + code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_compressors_and_accountants_need_no_extra() -> None:
    """But for layers of torch, and Float16, whose cast is torch's."""
    done = without_extras(EVERY_COMPRESSOR)
    assert done.returncode == 0, done.stderr
    absent, exchanged, accounted, torch = json.loads(done.stdout)
    assert set(absent) == {"SketchedLinear", "SketchedConv2d", "BlindLinear", "BlindConv2d", "Float16"}
    assert {"TopK", "EDEN", "PowerSGD", "SketchedLayers", "CompressedSensing", "DiscreteSRHT"} <= set(exchanged)
    assert all(accounted)
    assert not torch


def test_the_example_of_the_readme_needs_no_extra() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    done = without_extras(code)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout)


@pytest.mark.parametrize("command", ["run task=moments", "show S2", "plan", "results", "check", "new sketch half"])
def test_a_command_says_which_extra_it_needs(command: str) -> None:
    done = without_extras("from sketchbench.command.main import main; main()", *command.split())
    assert done.returncode == 1
    assert re.fullmatch(
        r"sketchbench: error: this needs \w+, which is not installed: pip install 'sketchbench\[workflow\]'\n",
        done.stderr,
    )


def test_a_task_says_that_it_needs_torch() -> None:
    """Though the name of its class is what can't be imported."""
    only = WITHOUT.replace(str(REFUSED), "['torch']")
    code = only + "from sketchbench.command.main import main; main(['run', 'task=training'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("pip install 'sketchbench[torch]'")


def imported() -> set[str]:
    """All packages of others that any module of ours imports."""
    names: set[str] = set()
    for path in (ROOT / "sketchbench").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names - {"sketchbench"}


def test_every_import_is_of_the_core_or_of_an_extra() -> None:
    """An extra has what is imported of it, and each of its packages is imported, or run, by us."""
    core = {canonicalize_name(Requirement(one).name).replace("-", "_") for one in PROJECT["dependencies"]}
    indirect = {"cycler", "llvmlite"}  # of matplotlib and Numba, which need them
    assert imported() <= core | indirect | {*REFUSED, *EXTRAS["gpu"]}
    distributions = packages_distributions()
    for extra, modules in EXTRAS.items():
        for module in modules:
            names = {canonicalize_name(name) for name in distributions.get(module, ())}
            assert not names or names & (wanted(extra) | {"omegaconf"}), (extra, module)
    for one in map(Requirement, ASKED["workflow"]):
        own = {module for module, names in distributions.items() if one.name in map(canonicalize_name, names)}
        assert own & {*EXTRAS["workflow"]}, one
