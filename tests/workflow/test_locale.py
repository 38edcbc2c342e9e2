"""A path with umlauts and spaces, in a locale that knows ASCII only."""

from pathlib import Path

import pytest
from conftest import Project

pytestmark = pytest.mark.workflow


def test_a_path_with_umlauts_in_an_ascii_locale(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read or written in the encoding of the locale."""
    named = Project(tmp_path / "Prüfung, 2. (mit Leerzeichen)")
    project.path.rename(named.path)
    for name, value in (("LC_ALL", "C"), ("PYTHONUTF8", "0"), ("PYTHONCOERCECLOCALE", "0")):
        monkeypatch.setenv(name, value)
    named.succeed(wrapper=True)
    assert "tables/tiny.csv" in named.reports()
    page = named.reports()["claims.md"].decode("utf-8")
    assert "✓" in page
    assert "Prüfung" not in page
