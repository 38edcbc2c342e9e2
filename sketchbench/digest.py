"""A digest of the code that a run depends on: it changes when behaviour can, and not otherwise.

It covers the modules named and everything of ours that they import, each as its syntax tree
without docstrings: editing a comment or a docstring changes nothing, editing a kernel changes
every run that uses it. Package `__init__` files count only where something is imported from them.
"""

import ast
import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


def code_digest(modules: Iterable[str], folders: tuple[Path, ...] = ()) -> str:
    """16 hex digits over the import closure of these modules.

    Only modules that lie in the project or in one of `folders` (a user's own code) are followed.
    """
    places = (PROJECT, *folders)
    closure: set[Path] = set()
    waiting = [path for name in modules if (path := _locate(name, places))]
    while waiting:
        path = waiting.pop()
        if path not in closure:
            closure.add(path)
            names = _parsed(path, path.stat().st_mtime_ns)[1]
            waiting += [found for name in names if (found := _import(name, path, places))]
    trees = sorted((path.name, _parsed(path, path.stat().st_mtime_ns)[0]) for path in closure)
    return hashlib.sha256(repr(trees).encode()).hexdigest()[:16]


def _import(name: str, importer: Path, places: tuple[Path, ...]) -> Path | None:
    """The file of an imported name; leading dots count from the importer's package."""
    dots = len(name) - len(name.lstrip("."))
    return _locate(name[dots:], (importer.parents[dots - 1],) if dots else places)


def _locate(name: str, places: tuple[Path, ...]) -> Path | None:
    """The file of a module; for `module.attribute`, that of the module."""
    for place in places:
        path = place.joinpath(*name.split("."))
        candidates = [path.with_suffix(".py"), path / "__init__.py"]
        if path.parent != place:
            candidates += [path.parent.with_suffix(".py"), path.parent / "__init__.py"]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
    return None


@functools.cache
def _parsed(path: Path, _changed: int) -> tuple[str, tuple[str, ...]]:
    """The dump of a file's tree without docstrings, and the modules that it imports."""
    try:
        tree = ast.parse(path.read_text(), filename=str(path))
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from None
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = f"{'.' * node.level}{node.module or ''}"
            dot = "." if node.module else ""
            names += [f"{module}{dot}{alias.name}" for alias in node.names]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree), tuple(names)
