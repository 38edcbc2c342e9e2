"""The code digest changes with behaviour, and with nothing else."""

from pathlib import Path

import pytest

from sketchbench.base.project import PACKAGE
from sketchbench.run import digest
from sketchbench.run.digest import code_digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "top.py").write_text('"""Top."""\nimport middle\n\ndef f():\n    """F."""\n    return 1\n')
    (tmp_path / "middle.py").write_text("from package import leaf\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("x = 1\n")
    (tmp_path / "package" / "leaf.py").write_text("y = 1\n")
    (tmp_path / "apart.py").write_text("z = 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "changes"),
    [
        ("top.py", '"""Other."""\nimport middle\n\ndef f():\n    return 1  # why\n', False),
        ("top.py", '"""Top."""\nimport middle\n\ndef f():\n    """F."""\n    return 2\n', True),
        ("package/leaf.py", "y = 2\n", True),
        ("package/leaf.py", '"""Leaf."""\n\n\ny = 1\n', False),
        ("package/__init__.py", "x = 2\n", False),
        ("apart.py", "z = 2\n", False),
        ("middle.py", "from package import leaf, x\n", True),
    ],
)
def test_what_counts(folder: Path, name: str, text: str, changes: bool) -> None:
    before = code_digest(["top"], (folder,))
    path = folder / name
    path.write_text(text)
    assert (code_digest(["top"], (folder,)) != before) is changes


def test_an_init_counts_where_it_is_imported_from(folder: Path) -> None:
    (folder / "middle.py").write_text("from package import x\n")
    before = code_digest(["top"], (folder,))
    (folder / "package" / "__init__.py").write_text("x = 22\n")
    assert code_digest(["top"], (folder,)) != before


def test_relative_imports_are_followed(folder: Path) -> None:
    (folder / "package" / "__init__.py").write_text("from .leaf import y\nfrom . import leaf\n")
    before = code_digest(["package"], (folder,))
    (folder / "package" / "leaf.py").write_text("y = 3\n")
    assert code_digest(["package"], (folder,)) != before


def test_a_name_that_a_stub_passes_on_counts_as_imported_from_there(folder: Path) -> None:
    """So that a module may do without a large package, of which it needs the name of a type alone."""
    (folder / "middle.py").write_text("from numbers import Number\n")
    before = code_digest(["top"], (folder,))
    (folder / "middle.py").write_text("from types_alone import Number\n")
    (folder / "types_alone.py").write_text("from typing import Any\n\nNumber = Any\n")
    assert code_digest(["top"], (folder,)) != before
    (folder / "types_alone.pyi").write_text("from numbers import Number as Number\n")
    assert code_digest(["top"], (folder,)) == before
    (folder / "types_alone.pyi").write_text("from decimal import Decimal as Number\n")
    assert code_digest(["top"], (folder,)) != before


def test_what_lies_beside_the_package_is_no_code_of_ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package is installed, all others are beside it."""
    (folder / PACKAGE.name).mkdir()
    (folder / PACKAGE.name / "__init__.py").write_text("")
    (folder / PACKAGE.name / "mine.py").write_text("import middle\n")
    monkeypatch.setattr(digest, "PROJECT", folder)
    assert list(digest.CodeDigest().files((f"{PACKAGE.name}.mine",))) == [folder / PACKAGE.name / "mine.py"]


def test_empty_and_broken_files(folder: Path) -> None:
    (folder / "apart.py").write_text("")
    assert code_digest(["apart"], (folder,))
    (folder / "apart.py").write_text("def f(:\n")
    with pytest.raises(ValueError, match=r"apart.py, line 1: invalid syntax"):
        code_digest(["apart"], (folder,))


def test_the_project_is_followed() -> None:
    """Each backend has a digest of its own; so has each family."""
    kernels = {code_digest([f"sketchbench.kernels.{name}_kernels"]) for name in ("numpy", "numba")}
    assert len(kernels) == 2
    assert code_digest(["sketchbench.sketch.ams"]) != code_digest(["sketchbench.sketch.uniform"])
