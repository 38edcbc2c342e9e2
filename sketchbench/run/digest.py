"""The digest of the code that a run depends on: it changes when numbers can change, and not otherwise.

It covers the named modules and every module of the project that these import, each as its syntax tree. Words are no
part of it: comments, docstrings, the texts of errors and of log lines, the modules in `DESCRIPTIONS`. Nor are places:
an import counts by the imported name and the code of the module that defines it, so that a module may move or get
another name, and by its name alone where a stub says that it is another package's. A package's `__init__` counts where
something is imported that it defines itself.
"""

import ast
import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.base.moved import today
from sketchbench.base.project import PACKAGE, PROJECT

# Modules that describe results and change no number: rewording them makes no run again.
DESCRIPTIONS = ("sketchbench/measure/column.py",)
PARTED = re.compile(r"[./:\\]+")  # of a dotted name or a path
LOGGERS = ("log", "logger", "logging", "warnings")


class Import(NamedTuple):
    """An imported name: what it is called in the importing file, and the dotted name that it is imported from."""

    local: str
    name: str


class Source(NamedTuple):
    """A parsed file: the digest of its code without words and imports, its imports, and its strings that may be the
    names of modules."""

    code: str
    imports: tuple[Import, ...]
    strings: tuple[str, ...] = ()


def code_digest(modules: Iterable[str], folders: tuple[Path, ...] = ()) -> str:
    """16 hex digits over all code that modules use.

    The modules are dotted names, also of something in a module; the folders are places of a user's own, searched after
    the project. Imports of other packages count by name. Raises ValueError, in one line, for a file that is no Python.
    """
    return CodeDigest()(tuple(modules), folders)


class CodeDigest:
    """`code_digest` for many sets of modules, while no file changes: each file is looked up and parsed once.

    Arguments:
        descriptions: whether `DESCRIPTIONS` count, as for reports, which show what they say.
    """

    def __init__(self, *, descriptions: bool = False) -> None:
        self._uncounted = [] if descriptions else [PROJECT / description for description in DESCRIPTIONS]
        self._locate = functools.cache(locate)
        self._link = functools.cache(self._find_links)
        self._answers: dict[tuple[tuple[str, ...], tuple[Path, ...]], str] = {}

    def __call__(self, modules: tuple[str, ...], folders: tuple[Path, ...] = ()) -> str:
        question = (modules, folders)
        if question not in self._answers:
            self._answers[question] = _sha256(sorted(set(self.files(modules, folders).values())))[:16]
        return self._answers[question]

    def identify(self, target: str, folders: tuple[Path, ...] = ()) -> str:
        """A `_target_` as its own name and the code of the file that defines it, wherever that file is; a target in
        another package as it is."""
        found = self.find(target, folders)
        return f"{target.rpartition('.')[2]} {parse(found).code}" if found else target

    def find(self, target: str, folders: tuple[Path, ...] = ()) -> Path | None:
        """The file that defines what a dotted name means; None for code of another package."""
        found = self._follow(target, PROJECT, (PROJECT, *folders))
        return found if isinstance(found, Path) else None

    def files(self, modules: tuple[str, ...], folders: tuple[Path, ...] = ()) -> dict[Path, str]:
        """The files of all code that modules use, each with the digest that it has there."""
        places = (PROJECT, *folders)
        waiting = [path for name in modules if isinstance(path := self._follow(name, PROJECT, places), Path)]
        codes: dict[Path, str] = {}
        while waiting:
            path = waiting.pop()
            if path not in codes:
                codes[path], imported = self._link(path, places)
                waiting += imported
        return codes

    def _find_links(self, path: Path, places: tuple[Path, ...]) -> tuple[str, tuple[Path, ...]]:
        """The digest of a file's code and of what its imported names are bound to; and the imported files."""
        source = parse(path)
        links: set[tuple[str, ...]] = set()
        files = list(_loaded(path, source, places[1:]))
        for local, name in source.imports:
            file = self._follow(name, path, places)
            if isinstance(file, str):
                links.add((local, file))
            elif file not in self._uncounted:
                links.add((local, name.rpartition(".")[2] if _defines(file, name) else "", parse(file).code))
                files.append(file)
        return _sha256([source.code, sorted(links)]), tuple(files)

    def _follow(self, name: str, importer: Path, places: tuple[Path, ...]) -> Path | str:
        """The file that defines an imported name, through modules that pass it on; outside all places the name that it
        has there.

        Leading dots of a name count from the importer's package.
        """
        name = today(name)
        dots = len(name) - len(name.lstrip("."))
        file = self._locate(name[dots:], (importer.parents[dots - 1],) if dots else _places(name, places))
        if file is None:
            return name
        stub = file.with_suffix(".pyi")  # of a module that imports its names lazily, or not at all
        if (stub.is_file() or file.name == "__init__.py") and file != importer and _defines(file, name):
            for local, origin in parse(stub if stub.is_file() else file).imports:
                if local == name.rpartition(".")[2]:
                    found = self._follow(origin, file, places)
                    return found if isinstance(found, Path) or stub.is_file() else file
        return file


def _loaded(path: Path, source: Source, folders: tuple[Path, ...]) -> Iterator[Path]:
    """The files that a file in a user's folder may load by a name in a string, and the packages around it, whose
    `__init__` runs first; none for a file of the project."""
    for folder in folders:
        if path.is_relative_to(folder):
            packages = (".".join(parent.parts) for parent in path.relative_to(folder).parents if parent.parts)
            pairs = ((name, place) for name in (*source.strings, *packages) for place in (folder, path.parent))
            yield from filter(None, (locate(name, (place,)) for name, place in pairs))


def _places(name: str, places: tuple[Path, ...]) -> tuple[Path, ...]:
    """Where to look for a name: beside the package only for the package, as that may be the folder of all packages."""
    return places if name.partition(".")[0] == PACKAGE.name else tuple(place for place in places if place != PROJECT)


def locate(name: str, places: tuple[Path, ...]) -> Path | None:
    """The file of a module, in the first of the places that has it; of `module.attribute` the file of the module."""
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


def parse(path: Path) -> Source:
    """A file of Python; errors as of `code_digest`."""
    return _parse(path, path.stat().st_mtime_ns)


@functools.cache
def _parse(path: Path, _changed: int) -> Source:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from None
    imports = dict.fromkeys(_imports(tree))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    strings = dict.fromkeys(name for text in texts for name in module_names(text))
    return Source(_sha256(_dump(_Wordless().visit(tree))), tuple(imports), tuple(strings))


def module_names(text: str) -> Iterator[str]:
    """The dotted names that a string may end with, as do `pkg.mod`, `pkg.mod:f`, `.mod` and a path to `mod.py`; none
    for other strings."""
    parts = PARTED.split(text.strip("./").removesuffix(".py"))
    for first in reversed(range(len(parts))):
        if not parts[first].isidentifier():
            return
        yield ".".join(parts[first:])


def _imports(tree: ast.AST) -> Iterator[Import]:
    """All imports of a file; of a module that is imported as a whole also each attribute that is used."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = f"{'.' * node.level}{node.module or ''}"
            dot = "." if node.module else ""
            for alias in node.names:
                yield Import(alias.asname or alias.name, f"{module}{dot}{alias.name}")
    for local, name in modules.items():
        yield Import(local, name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            local = node.value.id
            yield Import(f"{local}.{node.attr}", f"{modules[local]}.{node.attr}")


class _Wordless(ast.NodeTransformer):
    """Removes docstrings and imports, and empties the texts of errors and log lines."""

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Raise(self, node: ast.Raise) -> Any:
        return _Textless().visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        if isinstance(call, ast.Constant):
            return None  # a docstring, or as idle as one
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            owner = call.func.value
            if isinstance(owner, ast.Name) and owner.id in LOGGERS:
                return _Textless().visit(node)
        return self.generic_visit(node)


class _Textless(ast.NodeTransformer):
    """Empties every text, with what is formatted in it."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")


def _dump(node: Any) -> str:
    """A syntax tree as text. Unlike `ast.dump`, without fields that are empty, which differ between Pythons."""
    if isinstance(node, ast.AST):
        fields = [
            f"{name}={_dump(value)}" for name, value in ast.iter_fields(node) if value is not None and value != []
        ]
        return f"{type(node).__name__}({','.join(fields)})"
    return f"[{','.join(map(_dump, node))}]" if isinstance(node, list) else repr(node)


def _defines(file: Path, name: str) -> bool:
    """Whether an imported name is that of something in a file, and not of the file's module as a whole."""
    own = file.parent.name if file.name == "__init__.py" else file.stem
    return name.rpartition(".")[2] != own


def _sha256(content: Any) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()
