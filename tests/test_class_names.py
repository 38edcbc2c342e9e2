"""Each public class of the package has its own name, so that a reader finds one class by it."""

import ast
from collections import defaultdict

from sketchbench.base.project import PROJECT

SHARED = {"SparseMatrix"}  # one interface of two backends


def test_each_public_class_has_its_own_name() -> None:
    places = defaultdict(list)
    for path in sorted((PROJECT / "sketchbench").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PROJECT)))
    assert len(places) > 300
    assert {name: several for name, several in places.items() if len(several) > 1 and name not in SHARED} == {}
