"""A path with umlauts and spaces, in a locale that knows ASCII only."""

from pathlib import Path

import pytest
from conftest import Project

pytestmark = pytest.mark.workflow


def test_a_path_with_umlauts_in_an_ascii_locale(small_and_run: Path) -> None:
    """Nothing is read or written in the encoding of the locale. The fixture has run there, from nothing."""
    assert "Prüfung, 2. (mit Leerzeichen)" in str(small_and_run)
    reports = Project(small_and_run).reports()
    assert "tables/tiny.csv" in reports
    page = reports["claims.md"].decode("utf-8")
    assert "✓" in page
    assert "Prüfung" not in page
