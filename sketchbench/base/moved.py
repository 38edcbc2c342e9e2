"""Earlier names of modules. They still import, and still work as `_target_` in a user's files."""

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

MOVED = {
    "sketchbench.arithmetic": "sketchbench.base.arithmetic",
    "sketchbench.config": "sketchbench.run.config",
    "sketchbench.dataset": "sketchbench.learning.dataset",
    "sketchbench.errors": "sketchbench.base.errors",
    "sketchbench.files": "sketchbench.base.files",
    "sketchbench.inspection": "sketchbench.plan.inspection",
    "sketchbench.model": "sketchbench.learning.model",
    "sketchbench.objective": "sketchbench.learning.objective",
    "sketchbench.parameters": "sketchbench.base.parameters",
    "sketchbench.project": "sketchbench.base.project",
    "sketchbench.recovery": "sketchbench.sketch.recovery",
    "sketchbench.seeds": "sketchbench.base.seeds",
    "sketchbench.site": "sketchbench.report.site",
}


def today(name: str) -> str:
    """Today's dotted name of a dotted name from an earlier release; other names as they are."""
    parts = name.split(".")
    head = ".".join(parts[:2])
    return ".".join([MOVED.get(head, head), *parts[2:]])


class _Today(Loader):
    """Loads a module under its earlier name: the same module object, so that its classes are the same."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = today(spec.name)
        warnings.warn(f"{spec.name} is now {new}; import that", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None and spec.loader is self:
            module.__spec__ = spec.loader_state

    def get_code(self, name: str) -> CodeType | None:
        """The code, for `python -m`."""
        spec = importlib.util.find_spec(today(name))
        loader: Any = spec.loader if spec else None
        return loader.get_code(spec.name) if spec and loader else None


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if (new := today(name)) == name or (spec := importlib.util.find_spec(new)) is None:
            return None
        return ModuleSpec(name, _Today(), is_package=spec.submodule_search_locations is not None)


def keep_names() -> None:
    """Let earlier names import, once in a process."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # before the finder that would load a second copy under the earlier name
