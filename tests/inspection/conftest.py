"""A folder of one's own, whose modules don't outlive a test."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder `mine` in the current one and on the module path."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine"
    path.mkdir()
    monkeypatch.syspath_prepend(str(path))
    known = set(sys.modules)
    yield path
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(path)):
            del sys.modules[name]
