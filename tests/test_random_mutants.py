"""The changes of `make mutants`: which there are, and what they leave alone."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = '''"""A text of 3 words."""
@cached(size=2)
def f(x: int, *, much: bool = True) -> "Literal[1]":
    if not x < 2:
        raise ValueError(f"{x + 1} is too large")
    check(x)
    return max(x, -1.5) * 0
'''


@pytest.fixture
def random_mutants(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("random_mutants", ROOT / ".ci" / "mutants.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "random_mutants", module)
    spec.loader.exec_module(module)
    return module


def test_what_may_change(random_mutants: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither annotations, decorators, texts nor raised errors; each change gives Python."""
    monkeypatch.setattr(random_mutants, "ROOT", tmp_path)
    (tmp_path / "f.py").write_text(SOURCE)
    found = [(one.line, one.name().partition(" ")[2]) for one in random_mutants.mutants("f.py")]
    assert sorted(found) == [
        (3, "True -> (False)"),
        (4, "2 -> (1)"),
        (4, "2 -> (3)"),
        (4, "not x < 2 -> (x < 2)"),
        (4, "x < 2 -> (x <= 2)"),
        (6, "check(x) -> pass"),
        (7, "-1.5 -> (1.5)"),
        (7, "0 -> (-1)"),
        (7, "0 -> (1)"),
        (7, "1.5 -> (0.75)"),
        (7, "1.5 -> (3.0)"),
        (7, "max(x, -1.5) * 0 -> (max(x, -1.5) / 0)"),
        (7, "max(x, -1.5) -> (max(-1.5, x))"),
        (7, "max(x, -1.5) -> (min(x, -1.5))"),
        (7, "return max(x, -1.5) * 0 -> return None"),
    ]
    for one in random_mutants.mutants("f.py"):
        source = one.source()
        compile(source[: one.start] + one.new.encode() + source[one.end :], "f.py", "exec")


def test_the_nearest_tests_come_first(random_mutants: Any) -> None:
    """A file that imports the module, then files of its package, which may name it in a configuration only."""
    found = random_mutants.tests_of("sketchbench/attack/learnt_inversion.py")
    assert found[0] == "tests/attack/test_learnt_inversion.py"
    assert "tests/attack/test_membership.py" in found


def test_a_larger_draw_begins_with_a_smaller(random_mutants: Any) -> None:
    few, more = random_mutants.draw(5, 1), random_mutants.draw(20, 1)
    assert len(few) == 5
    assert set(few) < set(more)
