"""The signature of a run of one's own method changes with all code of the folder that a name leads to."""

from pathlib import Path
from typing import Any

import pytest

from sketchbench.run.signature import signature

FILES = {
    "comp.py": "class Shrunk:\n    pass\n",
    "soft.py": "def half(x):\n    return 0.5 * x\n",
    "apart.py": "x = 1\n",
    "pkg/__init__.py": "",
    "pkg/soft.py": "def half(x):\n    return 0.5 * x\n",
}
EDIT = "\n\nEDITED = 1\n"


def signed(folder: Path, **parameters: Any) -> str:
    algorithm = {"_target_": "comp.Shrunk", **parameters}
    config = {"task": {}, "kernels": "numpy", "seed": 0, "compressor": {"name": "x", "algorithm": algorithm}}
    return signature(config, folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def edited(folder: Path, name: str, **parameters: Any) -> bool:
    """Whether an edit of a file changes the signature."""
    before = signed(folder, **parameters)
    path = folder / name
    path.write_text(path.read_text() + EDIT)
    return signed(folder, **parameters) != before


LOOKUP = "hydra.utils.get_"
NAMES: dict[str, Any] = {
    "a target": {"_target_": "soft.half", "_partial_": True},
    "a target in lists": [[{"_target_": "soft.half"}]],
    "a target among _args_": {"_target_": "torch.nn.Sequential", "_args_": [{"_target_": "soft.half"}]},
    **{f"get_{kind}": {"_target_": f"{LOOKUP}{kind}", "path": "soft.half"} for kind in ("class", "method", "object")},
    "get_static_method": {"_target_": f"{LOOKUP}static_method", "_args_": ["soft.half"]},
    "a string": "soft.half",
    "an entry point": "soft:half",
    "a module": {"name": ["soft"]},
    "a file": "mine/soft.py",
    "a file that is here": "./soft.py",
    "a file of another place": "/a b/some-where/soft.py",
    "a file of Windows": r"C:\mine\soft.py",
}


@pytest.mark.parametrize("case", NAMES)
def test_names_in_a_config(folder: Path, case: str) -> None:
    assert edited(folder, "soft.py", shrink=NAMES[case])
    assert not edited(folder, "apart.py", shrink=NAMES[case])


LOADS = {
    "an import": ("import soft", "soft.py"),
    "a name at run time": ("import importlib\nsoft = importlib.import_module('soft')", "soft.py"),
    "a name that is relative": ("import pkg.late", "pkg/soft.py"),
    "a file at run time": ("import runpy\nhalf = runpy.run_path('mine/soft.py')['half']", "soft.py"),
    "the package around a module": ("from pkg.soft import half", "pkg/__init__.py"),
}


@pytest.mark.parametrize("case", LOADS)
def test_what_a_module_loads(folder: Path, case: str) -> None:
    code, name = LOADS[case]
    (folder / "comp.py").write_text(f"{code}\n{FILES['comp.py']}")
    (folder / "pkg" / "late.py").write_text("import importlib\nhalf = importlib.import_module('.soft', 'pkg')\n")
    assert edited(folder, name)
    assert not edited(folder, "apart.py")


def test_the_project_s_runs_depend_on_no_folder(folder: Path) -> None:
    """Though a module of the folder has the name of a setting."""
    config = {"task": {"pairs": ["soft"]}, "kernels": "numpy", "seed": 0}
    config["compressor"] = {"name": "soft", "algorithm": {"_target_": "sketchbench.compressor.plain.Plain"}}
    assert signature(config, folder) == signature(config)
