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

from sketchbench.project import PROJECT


def code_digest(modules: Iterable[str], folders: tuple[Path, ...] = ()) -> str:
    """16 hex digits over the import closure of these modules.

    Only modules that lie in the project or in one of `folders` (a user's own code) are followed.
    """
    return CodeDigest()(tuple(modules), folders)


class CodeDigest:
    """`code_digest` for many sets of modules, while no file changes: each file is looked up and read once."""

    def __init__(self) -> None:
        self._locate = functools.cache(_locate)
        self._read = functools.cache(self._read_now)
        self._answers: dict[tuple[tuple[str, ...], tuple[Path, ...]], str] = {}

    def __call__(self, modules: tuple[str, ...], folders: tuple[Path, ...] = ()) -> str:
        asked = (modules, folders)
        if asked not in self._answers:
            self._answers[asked] = self._digest(modules, (PROJECT, *folders))
        return self._answers[asked]

    def _digest(self, modules: tuple[str, ...], places: tuple[Path, ...]) -> str:
        closure: set[Path] = set()
        waiting = [path for name in modules if (path := self._locate(name, places))]
        while waiting:
            path = waiting.pop()
            if path not in closure:
                closure.add(path)
                waiting += self._read(path, places)[1]
        files = sorted((path.name, self._read(path, places)[0]) for path in closure)
        return hashlib.sha256(repr(files).encode()).hexdigest()[:16]

    def _read_now(self, path: Path, places: tuple[Path, ...]) -> tuple[str, tuple[Path, ...]]:
        """The digest of a file, and the files that it imports."""
        digest, names = _parsed(path, path.stat().st_mtime_ns)
        found = (self._imported(name, path, places) for name in names)
        return digest, tuple(dict.fromkeys(file for file in found if file))

    def _imported(self, name: str, importer: Path, places: tuple[Path, ...]) -> Path | None:
        """The file of an imported name; leading dots count from the importer's package."""
        dots = len(name) - len(name.lstrip("."))
        return self._locate(name[dots:], (importer.parents[dots - 1],) if dots else places)


def _locate(name: str, places: tuple[Path, ...]) -> Path | None:
    """The file of a module; for `module.attribute`, that of the module."""
    parts = name.split(".")
    for place in places:
        if not (place / parts[0]).is_dir() and not (place / f"{parts[0]}.py").is_file():
            continue  # most imports are of other packages
        path = place.joinpath(*parts)
        candidates = [path.with_suffix(".py"), path / "__init__.py"]
        if path.parent != place:
            candidates += [path.parent.with_suffix(".py"), path.parent / "__init__.py"]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
    return None


@functools.cache
def _parsed(path: Path, _changed: int) -> tuple[str, tuple[str, ...]]:
    """The digest of a file's tree without docstrings, and the names that it imports."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
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
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), tuple(names)
