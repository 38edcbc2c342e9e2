"""A verdict that is not the expected one fails the run, after everything is written."""

import re

import pytest
from conftest import Project

pytestmark = pytest.mark.workflow
QUICK = ("scale=quick", "studies=tiny")


def test_a_surprise(finished: Project) -> None:
    """At the smoke scale it is listed; else it fails, again until it is none; and `surprises=list` lists it."""
    project = finished
    project.edit("conf/claim/S2x.yaml", lambda text: text.replace("expected: holds", "expected: fails"))
    said = project.succeed()
    assert "expected fails" in said
    code, said = project.run(*QUICK)
    assert code != 0
    assert "expected fails" in said
    reports = project.path / "reports"
    for name in ("claims.csv", "claims.seal", "tables/tiny.csv", "tables/tiny.seal"):
        assert (reports / name).is_file(), name
    assert project.run(*QUICK)[0] != 0
    assert "expected fails" in project.succeed(*QUICK, "surprises=list")
    for name in ("S1", "S2x"):  # which few trials leave open
        project.edit(f"conf/claim/{name}.yaml", lambda text: re.sub("expected: .*", "expected: inconclusive", text))
    assert "0 surprises" in project.succeed(*QUICK)
    assert "Nothing to be done" in project.succeed(*QUICK)
